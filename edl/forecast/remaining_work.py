"""What is still to do of a training job: from its own history, else from what its user declared."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from edl.annotations.job_history import HistoryEntry, Operation, entries
from edl.model import Role, TrainingJob
from edl.simulator import LINEAR, Curve, Work, length
from edl.simulator.scenario import counted, items

SPEED: Final[Curve] = LINEAR
"""How much faster more replicas are taken to be: benchmarks/planner/estimates.py measures it."""
_TOLD: Final = 0.02
"""From this part of the work on, the time that it took says how long the rest takes."""
_LONGEST: Final = timedelta(days=3650)
_STOPS: Final = frozenset({Operation.SUSPENDED, Operation.ENDED})


class Basis(StrEnum):
    """How we know what is left."""

    PROGRESS = "progress"
    ITEMS = "work items"
    DECLARED = "declared"
    OVERDUE = "overdue"
    """It has run longer than its user declared."""
    UNKNOWN = "unknown"


class RemainingWork(msgspec.Struct, frozen=True):
    """`work` is None where it is unknown; for work items it is that of each one."""

    work: Work | None
    basis: Basis


class _Ran(msgspec.Struct, frozen=True):
    """How long its counted role has been at work: seconds, and seconds times replicas."""

    seconds: float
    replicas: float


def left(job: TrainingJob, now: datetime) -> RemainingWork:
    """What this training job has still to do; all of it for one that was never started."""
    role, ran = counted(job), _ran(job, now)
    done = job.progress
    if done is not None and done >= _TOLD and ran.replicas > 0:
        return _from_progress(role, ran, min(done, 1.0))
    if job.duration is None:
        return RemainingWork(None, Basis.UNKNOWN)
    seconds = min(job.duration, _LONGEST).total_seconds() - ran.seconds
    if seconds <= 0:
        return RemainingWork(None, Basis.OVERDUE)
    if items(role):
        size = role.spec.min if role.status.suspended else role.status.size
        return RemainingWork(Work(seconds * size / items(role), SPEED), Basis.DECLARED)
    return RemainingWork(length(seconds), Basis.DECLARED)


def _from_progress(role: Role, ran: _Ran, done: float) -> RemainingWork:
    """As much again as was done in the same time with as many replicas."""
    rest = max(ran.replicas * (1 - done) / done, 1.0)
    if pieces := items(role):
        return RemainingWork(Work(rest / pieces, SPEED), Basis.ITEMS)
    return RemainingWork(Work(rest, SPEED), Basis.PROGRESS)


def _ran(job: TrainingJob, now: datetime) -> _Ran:
    """From its history; without one since its start, at the size that it has now.

    The oldest entries of a long one are gone: then it counts from the start, at the size before.
    """
    role = counted(job)
    told = [entry for entry in entries(role.record.history) if entry.at <= now]
    if not told:
        runs = job.started_at if not role.status.suspended else None
        passed = max((now - runs).total_seconds(), 0.0) if runs else 0.0
        return _Ran(passed, passed * role.status.size)
    seconds = _before(job, told[0])
    replicas = seconds * told[0].before
    for entry, later in zip(told, (*told[1:], None), strict=True):
        size = 0 if entry.operation in _STOPS else entry.after
        until = later.at if later else now
        passed = (until - entry.at).total_seconds() if size else 0.0
        seconds, replicas = seconds + passed, replicas + passed * size
    return _Ran(seconds, replicas)


def _before(job: TrainingJob, first: HistoryEntry) -> float:
    """Seconds that it ran before the first entry that is known."""
    return max((first.at - job.started_at).total_seconds(), 0.0) if job.started_at else 0.0
