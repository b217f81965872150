"""The remaining work of a training job: from its progress and history, else as declared."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from edl.annotations.job_history import HistoryEntry, Operation, entries
from edl.model import Role, TrainingJob
from edl.simulator import LINEAR, Curve, Work, length
from edl.simulator.scenario import counted, items
from edl.spec.allowed_sizes import start_size, with_work

SPEED: Final[Curve] = LINEAR
"""The assumed speed-up by replicas; benchmarks/planner/estimates.py measures its error."""
_TOLD: Final = 0.02
"""From this progress on, the time so far is extrapolated to the rest."""
_LONGEST: Final = timedelta(days=3650)
_STOPS: Final = frozenset({Operation.SUSPENDED, Operation.ENDED})


class RemainingWork(msgspec.Struct, frozen=True):
    """`work` is None if unknown; for work items it is the work of each item."""

    work: Work | None
    overdue: bool = False
    """It has run longer than its user declared."""


class _Ran(msgspec.Struct, frozen=True):
    """How long the job's counted role has run: seconds, and replica-seconds."""

    seconds: float
    replicas: float


def left(job: TrainingJob, now: datetime) -> RemainingWork:
    """The remaining work of a training job; all of its work if it never started."""
    role, ran = counted(job), _ran(job, now)
    done = job.progress
    if done is not None and done >= _TOLD and ran.replicas > 0:
        if done < 1 and items(role) and not role.spec.is_queue:
            return _of_items(role, ran, done, _ages(job, role, now))
        return _from_progress(role, ran, min(done, 1.0))
    if job.duration is None:
        return RemainingWork(None)
    seconds = min(job.duration, _LONGEST).total_seconds() - ran.seconds
    if seconds <= 0:
        return RemainingWork(None, overdue=True)
    if items(role):
        size = start_size(role) if role.status.suspended else with_work(role, role.status.size)
        return RemainingWork(Work(seconds * size / items(role), SPEED))
    return RemainingWork(length(seconds))


def _from_progress(role: Role, ran: _Ran, done: float) -> RemainingWork:
    """Extrapolates the work per replica-second so far to the rest."""
    rest = max(ran.replicas * (1 - done) / done, 1.0)
    return RemainingWork(Work(rest / (items(role) or 1), SPEED))


def _of_items(role: Role, ran: _Ran, done: float, ages: Sequence[float]) -> RemainingWork:
    """Extrapolates the time of completed items to the others, of which some have begun.

    The time of items that run does not count for completed ones. Short items end first, so an item
    takes no less than those that run have taken so far, on average.
    """
    left, begun = items(role), sum(ages)
    completed = left * done / (1 - done)
    each = max((ran.replicas - begun) / completed, begun / max(len(ages), 1))
    return RemainingWork(Work(max(each * left - begun, 1.0) / left, SPEED))


def _ages(job: TrainingJob, role: Role, now: datetime) -> list[float]:
    """For how many seconds each work item of the role has run that runs now."""
    pods = [pod for pod in role.status.pods if pod.active and pod.node]
    since = [max(pod.created_at, job.started_at or pod.created_at) for pod in pods]
    return [max((now - moment).total_seconds(), 0.0) for moment in since]


def _ran(job: TrainingJob, now: datetime) -> _Ran:
    """Its run time, by its history; without one, since the start at the current size.

    The oldest entries of a long history are dropped: before the first known entry, the time since
    the start counts at the size before that entry.
    """
    role = counted(job)
    operations = [entry for entry in entries(role.record.history) if entry.at <= now]
    if not operations:
        runs = job.started_at if not role.status.suspended else None
        passed = max((now - runs).total_seconds(), 0.0) if runs else 0.0
        return _Ran(passed, passed * role.status.size)
    seconds = _before(job, operations[0])
    replicas = seconds * operations[0].before
    for entry, later in zip(operations, (*operations[1:], None), strict=True):
        size = 0 if entry.operation in _STOPS else entry.after
        until = later.at if later else now
        passed = (until - entry.at).total_seconds() if size else 0.0
        seconds, replicas = seconds + passed, replicas + passed * size
    return _Ran(seconds, replicas)


def _before(job: TrainingJob, first: HistoryEntry) -> float:
    """Seconds from the start to the first known entry."""
    return max((first.at - job.started_at).total_seconds(), 0.0) if job.started_at else 0.0
