"""Warnings about variables that keep the number of GPUs with which a Job was created.

Resources of a suspended Job may change since Kubernetes 1.36 (docs/kubernetes.md 4), its env never.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from edl.contract.manifest_parts import pod_of
from edl.errors import Denied
from edl.frameworks import FRAMEWORKS
from edl.parsing.parser import parse
from edl.writes import Json


def warnings(new: Json, old: Json) -> Iterator[str]:
    """A warning for an update after which the pods would get other values than they keep."""
    try:
        before, after = parse(old), parse(new)
    except Denied:
        return
    describe = FRAMEWORKS[before.framework].describe
    wanted = describe(replace(before, resources=after.resources)).env
    stored = _variables(new)
    stale = [
        f"{env.name}={env.value}"
        for env in describe(before).env
        if env not in wanted and (env.name, env.value) in stored
    ]
    if stale:
        yield (
            f"env {', '.join(stale)}: the pods keep what was set for their GPUs or slots at "
            "creation, and the env of a Job is immutable: change these back, or recreate the Job"
        )


def _variables(job: Json) -> set[tuple[str, str]]:
    return {
        (entry["name"], entry.get("value") or "")
        for container in (pod_of(job).get("spec") or {}).get("containers") or ()
        for entry in container.get("env") or ()
        if "name" in entry
    }
