"""Reads the current logs of a training job, pod by pod."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from edl import contract
from edl.errors import Invalid, NotFound, Unreachable
from edl.kube.cluster import ListOptions, LogRequest
from edl.model import TrainingJob
from edl.phases import phase
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.context import CliContext, ClusterConnection
from kubectl_edl.logs.log_targets import SIMULATED, LogSelection, LogTarget, sources
from kubectl_edl.model.training_job_view import why

_COLOURS: Final = (36, 32, 35, 33, 34)
"""ANSI: cyan, green, magenta, yellow, blue."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a line is printed; `colours` by role, empty for none."""

    prefix: bool = True
    timestamps: bool = False
    colours: Mapping[str, int] = field(default_factory=dict)


def colours(roles: Iterable[str]) -> Mapping[str, int]:
    """A colour per role in their order; colours repeat if there are too few."""
    return {role: _COLOURS[at % len(_COLOURS)] for at, role in enumerate(roles)}


def time_of(line: str) -> str:
    """The RFC 3339 time with which each line from the API starts."""
    return line.partition(" ")[0]


def shown(line: str, source: LogTarget, style: Style) -> str:
    """`[worker-3] step 1`, from a line that starts with its time."""
    text = line if style.timestamps else line.partition(" ")[2]
    if not style.prefix:
        return text
    mark = f"[{source.label}]"
    if source.role in style.colours:
        mark = f"\x1b[{style.colours[source.role]}m{mark}\x1b[0m"
    return f"{mark} {text}"


@dataclass(frozen=True, slots=True)
class LogPart:
    """The part of each log to read; `since` is the maximum age of lines, None for all."""

    tail: int | None = None
    since: timedelta | None = None
    previous: bool = False


def find(
    connection: ClusterConnection, job: TrainingJob, wanted: LogSelection
) -> tuple[LogTarget, ...]:
    """The log targets of a training job. Raises Refused for unknown names."""
    listed = connection.cluster.list(elastic_pods(job.key.namespace)).items
    return sources(job, map(json.loads, listed), wanted)


def elastic_pods(namespace: str) -> ListOptions:
    return ListOptions("Pod", namespace, contract.FRAMEWORK)


def no_pods(job: TrainingJob, wanted: LogSelection) -> str:
    """Why there are no logs; for one index, the job's phase would not explain it."""
    chosen = ", ".join(wanted.roles) + ("" if wanted.index is None else f" index {wanted.index}")
    whose = f" of {chosen.strip()}" if chosen else ""
    if wanted.index is not None:
        return f"{job.key.name} has no pods{whose}"
    reason = why(job).message
    said = f"{phase(job).value}{f': {reason}' if reason else ''}"
    return f"{job.key.name} has no pods{whose}: it is {said}"


def read(
    world: CliContext,
    connection: ClusterConnection,
    found: tuple[LogTarget, ...],
    part: LogPart,
    style: Style,
) -> None:
    """Print the log of each target. Raises Refused if none has a log."""
    missing = list[str]()
    for source in found:
        # One answer is enough: each other request would wait for a kubelet that is not there.
        known = SIMULATED if source.simulated and SIMULATED in missing else ""
        if why := known or _print(world, connection, source, part, style):
            missing.append(why)
    told = dict.fromkeys(missing)
    if missing and len(missing) == len(found):
        raise Refused("; ".join(told))
    for why in told:
        world.warn(f"hint: {why}")


def request(source: LogTarget, part: LogPart) -> LogRequest:
    return LogRequest(
        source.pod,
        source.container,
        previous=part.previous,
        tail=part.tail,
        since=None if part.since is None else max(round(part.since.total_seconds()), 1),
    )


def _print(
    world: CliContext, connection: ClusterConnection, source: LogTarget, part: LogPart, style: Style
) -> str:
    """Print one log; returns why there is none, or an empty text."""
    if source.waiting and not part.previous:
        return f"{source.label} has no log yet: {source.waiting}"
    try:
        for line in connection.cluster.log(request(source, part)):
            world.out.write(f"{shown(line, source, style)}\n")
    except (Invalid, NotFound) as error:
        return f"{source.label} has no log: {error}"
    except Unreachable:
        if source.simulated:
            return SIMULATED
        raise
    return ""
