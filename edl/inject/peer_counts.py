"""Pods that wait for a number of peers, such as torchrun's agents, need a min that gives it."""

import re
from collections.abc import Sequence
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
_NNODES: Final = "--nnodes"
_OPTION: Final = re.compile(rf"{_NNODES}[=\s]+[\"']?{_RANGE}(?![^\s\"';&|)])")
"""Launchers have this option, as an argument of its own or within that of a shell."""


class PeerCounts(NamedTuple):
    """How many pods must come together, how many may, and the variable or option that says so."""

    least: int
    most: int
    source: str


def findings(job: Json, spec: JobSpec, fewer: str = _FEWER) -> list[Finding]:
    """A finding if the pods of `job` wait for more peers than the minimum of `spec` gives them.

    `fewer` says how they start with fewer, with {} for the variable.
    """
    return _too_many(told(job, FRAMEWORKS[spec.framework]), spec, fewer)


def option_findings(job: Json, spec: JobSpec) -> list[Finding]:
    """The same for an option, which refuses nothing: it may be that of the user's own program."""
    return _too_many(options(job, FRAMEWORKS[spec.framework]), spec, _FEWER)


def _too_many(counts: PeerCounts, spec: JobSpec, fewer: str) -> list[Finding]:
    low, _, source = counts
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
    """What the framework's variable tells the pods; 0 and no source if none does."""
    for container in _containers(job):
        for entry in container.get("env") or ():
            match = _VALUE.fullmatch(str(entry.get("value") or ""))
            if match and entry.get("name") == framework.min_peers_env:
                return PeerCounts(int(match[1]), int(match[2] or match[1]), entry["name"])
    return PeerCounts(0, 0, "")


def options(job: Json, framework: Framework) -> PeerCounts:
    """What command lines tell the framework's launchers: a script may have several calls."""
    lines = filter(framework.launches, map(command_line, _containers(job)))
    ranges = [(int(low), int(high or low)) for line in lines for low, high in _OPTION.findall(line)]
    if not ranges:
        return PeerCounts(0, 0, "")
    return PeerCounts(min(low for low, _ in ranges), max(high for _, high in ranges), _NNODES)


def _containers(job: Json) -> Sequence[Json]:
    return (template(job).get("spec") or {}).get("containers") or ()
