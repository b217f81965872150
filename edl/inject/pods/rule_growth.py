"""Keeps updates from giving pods more rules than plans follow.

A Job that an earlier release accepted with more stays as it is, and may have fewer.
"""

from collections.abc import Iterator

from edl.contract import pod_limits
from edl.contract.manifest_parts import labels, pod_of
from edl.contract.pod_limits import PodCount
from edl.errors import Finding
from edl.writes import Json


def findings(new: Json, old: Json) -> list[Finding]:
    """Each kind of which the pods would have more than before, and than the limit."""
    before = {(count.path, count.kind): count.number for count in _excess(old)}
    above = "" if new.get("kind") == "Pod" else "spec.template."
    return [
        Finding(f"{above}{count.path}", f"{count.number} {count.kind}", f"at most {count.most}")
        for count in _excess(new)
        if count.number > before.get((count.path, count.kind), 0)
    ]


def _excess(manifest: Json) -> Iterator[PodCount]:
    pod = pod_of(manifest)
    return pod_limits.excess(labels(pod), pod.get("spec"), pod_limits.ADDED)
