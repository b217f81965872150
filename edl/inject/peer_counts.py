"""Pods that wait for a number of peers, such as torchrun's agents, need a min that gives it."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from edl import contract
from edl.contract.manifest_parts import annotations, command_line, template
from edl.errors import Finding
from edl.frameworks import FRAMEWORKS
from edl.frameworks.base import Framework
from edl.parsing.yaml_values import whole
from edl.spec.job_spec import JobSpec
from edl.writes import Json

_FEWER: Final = "remove {} from the pod template"
_RANGE: Final = r"([0-9]{1,9})(?::([0-9]{1,9}))?"
_VALUE: Final = re.compile(_RANGE)
_OPTION: Final = re.compile(rf"(--nnodes)[=\s]+[\"']?{_RANGE}(?![^\s\"';&|)])")
"""Launchers have these options, as arguments of their own or within that of a shell."""


class PeerCounts(NamedTuple):
    """How many pods must come together, how many may, and the variable or option that says so."""

    least: int
    most: int
    source: str


def findings(job: Json, spec: JobSpec, fewer: str = _FEWER) -> list[Finding]:
    """A finding if the pods of `job` wait for more peers than the minimum of `spec` gives them.

    `fewer` says how they start with fewer, with {} for the variable or option.
    """
    low, _, source = told(job, FRAMEWORKS[spec.framework])
    if spec.scaling.min >= low:
        return []
    peers = f"the number of peers that {source} makes each pod wait for"
    what = f"{spec.scaling.min} is below {low}, {peers}"
    allowed = f"set it to {low} or more, or {fewer.format(source)}"
    return [Finding(f"metadata.labels[{contract.MIN}]", what, allowed)]


def sizes(job: Json, framework: str) -> tuple[int, int | None]:
    """The fewest and the most pods for which the template of a Job was completed.

    Any number where pods have no ranks: they do not depend on each other.
    """
    most = whole(annotations(job).get(contract.INJECTED_MAX, ""))
    kind = FRAMEWORKS[framework]
    return told(job, kind).least, most if kind.ranked else None


def told(job: Json, framework: Framework) -> PeerCounts:
    """What the pod template tells the framework's launchers; 0 and no source if it does not."""
    containers = (template(job).get("spec") or {}).get("containers") or ()
    counts = (count for container in containers for count in _told(container, framework))
    return next(counts, PeerCounts(0, 0, ""))


def _told(container: Json, framework: Framework) -> Iterator[PeerCounts]:
    """Options precede the variable, which has their default. A script may have several calls."""
    words = command_line(container)
    options = _OPTION.findall(words) if framework.launches(words) else ()
    yield from sorted(_counts(low, high, option) for option, low, high in options)
    for entry in container.get("env") or ():
        match = _VALUE.fullmatch(str(entry.get("value") or ""))
        if match and entry.get("name") == framework.min_peers_env:
            yield _counts(match[1], match[2], framework.min_peers_env)


def _counts(low: str, high: str | None, source: str) -> PeerCounts:
    return PeerCounts(int(low), int(high or low), source)
