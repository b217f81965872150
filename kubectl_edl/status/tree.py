"""Training jobs as a tree: training job → roles → pods, with sizes as bars and over time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import IntEnum
from math import ceil
from typing import Final

from edl.model import Pod, PodPhase, ResizePolicy
from kubectl_edl.job_views.job_reasons import why_of_role
from kubectl_edl.job_views.size_timeline import trend, window
from kubectl_edl.job_views.training_job_view import NO_REPLICAS, JobView, RoleView, pod_status
from kubectl_edl.output.age import age, duration
from kubectl_edl.output.cell_quantities import counted
from kubectl_edl.output.color import FAINT, meaning
from kubectl_edl.output.table import Column, Table


class Depth(IntEnum):
    """The level to which a tree is expanded, the deepest first."""

    PODS = 0
    TROUBLED = 1
    """Lists pods that are not ready; the others are counted."""
    ROLES = 2
    JOBS = 3


@dataclass(frozen=True, slots=True)
class Forest:
    """Training jobs to draw, at one time. `why` has the reasons of waiting pods, by pod name."""

    views: tuple[JobView, ...]
    now: datetime
    everywhere: bool = False
    why: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Row:
    """The cells of one row; `below` are its child rows."""

    name: str
    status: str = ""
    size: str = ""
    trend: str = ""
    node: str = ""
    age: str = ""
    reason: str = ""
    job: str = ""
    below: "tuple[_Row, ...]" = ()


def tree(forest: Forest, depth: Depth) -> Table:
    """One row per training job, role or pod."""
    length = window([view.job for view in forest.views], forest.now)
    rows = [_job(view, forest, depth, length) for view in forest.views]
    columns: tuple[Column[_Row], ...] = (
        Column("NAME", lambda row: row.name),
        Column("STATUS", lambda row: row.status, blank=True, colour=meaning),
        Column("SIZE", lambda row: row.size, blank=True),
        Column(
            f"LAST {duration(length)}",
            lambda row: row.trend,
            spare=2,
            blank=True,
            colour=lambda _: FAINT,
        ),
        Column("JOB", lambda row: row.job, wide=True, blank=True),
        Column("NODE", lambda row: row.node, blank=True, spare=3),
        Column("AGE", lambda row: row.age, blank=True, spare=4),
        Column("MESSAGE", lambda row: row.reason, shrinks=True, blank=True, spare=1),
    )
    return Table.of(columns, [line for row in rows for line in _lines(row, "", "")])


def lines(forest: Forest, depth: Depth) -> int:
    """The least number of lines, computed without drawing the tree."""
    roles = [role for view in forest.views for role in view.roles if depth < Depth.JOBS]
    pods = sum(len(role.role.status.pods) for role in roles) if depth is Depth.PODS else 0
    missing = sum(len(view.job.missing) for view in forest.views) if depth < Depth.JOBS else 0
    return len(forest.views) + len(roles) + missing + pods


def _lines(row: _Row, prefix: str, under: str) -> Iterator[_Row]:
    yield replace(row, name=prefix + row.name)
    for number, child in enumerate(row.below, 1):
        last = number == len(row.below)
        yield from _lines(
            child, under + ("└─ " if last else "├─ "), under + ("   " if last else "│  ")
        )


def _job(view: JobView, forest: Forest, depth: Depth, length: timedelta) -> _Row:
    roles = view.roles
    running, size = sum(role.running for role in roles), sum(role.size for role in roles)
    most = sum(role.role.spec.max for role in roles)
    name = str(view.job.key) if forest.everywhere else view.job.key.name
    missing = [_Row(name, "Missing", f"{'':{CELLS}} {NO_REPLICAS}") for name in view.job.missing]
    shown = [_role(view, role, forest, depth, length) for role in roles if depth < Depth.JOBS]
    sizes = trend(view.job, [role.role for role in roles], forest.now, length)
    return _Row(
        name,
        view.phase.value,
        f"{bar(running, size, most)} {size}/{'?' if missing else most}",
        sparkline(sizes, most),
        age=age(view.job.queued_at, forest.now),
        reason=view.why.message,
        below=() if depth is Depth.JOBS else (*shown, *missing),
    )


def _role(view: JobView, shown: RoleView, forest: Forest, depth: Depth, length: timedelta) -> _Row:
    role = shown.role
    resized = role.spec.resizing is not ResizePolicy.FIXED and len(view.roles) > 1
    sizes = trend(view.job, [role], forest.now, length) if resized else ()
    why = why_of_role(view.job, role)
    return _Row(
        role.name,
        _status(shown),
        f"{bar(shown.running, shown.size, role.spec.max)} {shown.size}/{shown.bounds}",
        sparkline(sizes, role.spec.max),
        reason="" if role.status.ending or why == view.why else why.message,
        job=role.job,
        below=() if depth is Depth.ROLES else _pods(shown, forest, depth),
    )


def _status(shown: RoleView) -> str:
    """`Running`, `2 Pending`, the result of an ended Job, or nothing while it is suspended."""
    if shown.role.status.ending:
        return shown.role.status.ending.value
    if shown.role.status.suspended:
        return ""
    return f"{shown.pending} Pending" if shown.pending else "Running"


def _pods(shown: RoleView, forest: Forest, depth: Depth) -> tuple[_Row, ...]:
    pods = sorted(shown.role.status.pods, key=lambda pod: (pod.index, pod.created_at, pod.name))
    if depth is Depth.PODS:
        return tuple(_pod(pod, forest) for pod in pods)
    well = [pod for pod in pods if _goes_well(pod)]
    statuses = dict.fromkeys(map(pod_status, well))
    counted = (_row_of_status([pod for pod in well if pod_status(pod) == one]) for one in statuses)
    return (*counted, *(_pod(pod, forest) for pod in pods if not _goes_well(pod)))


def _goes_well(pod: Pod) -> bool:
    return not pod.terminating and (pod.ready or pod.phase is PodPhase.SUCCEEDED)


def _row_of_status(pods: Sequence[Pod]) -> _Row:
    nodes = {pod.node for pod in pods if pod.node}
    return _Row(
        counted(len(pods), "pod"),
        pod_status(pods[0]),
        node=f"{len(nodes)} nodes" if len(nodes) > 1 else next(iter(nodes), ""),
    )


def _pod(pod: Pod, forest: Forest) -> _Row:
    return _Row(
        pod.name,
        pod_status(pod),
        node=pod.node,
        age=age(pod.created_at, forest.now),
        reason=forest.why.get(pod.name, ""),
    )


CELLS: Final = 12
"""Width of a bar; with a max of at most this many, one cell is one replica."""
_LEVELS: Final = "▁▂▃▄▅▆▇"


def bar(running: int, size: int, most: int) -> str:
    """`███░····`: running, pending, and up to max; a non-zero number shows at least one cell."""
    cells = min(most, CELLS)
    full = _share(running, most, cells)
    coming = max(_share(size, most, cells) - full, 0)
    return f"{'█' * full}{'░' * coming}".ljust(cells, "·").ljust(CELLS)


def _share(amount: int, most: int, cells: int) -> int:
    return min(ceil(amount * cells / most), cells) if amount > 0 and most else 0


def sparkline(values: Sequence[int | None], most: int) -> str:
    """One character per value: the lowest is 0, the highest `most`; a blank for None."""
    top = len(_LEVELS) - 1
    return "".join(" " if value is None else _LEVELS[_share(value, most, top)] for value in values)
