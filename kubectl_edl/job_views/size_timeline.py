"""Sizes over time, from the histories in the Jobs' annotations."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

import msgspec

from edl.annotations.job_history import MAX_LINES, Operation
from edl.model import Role, TrainingJob
from kubectl_edl.job_views.role_history import cached_entries

SIGNS: Final = 16
"""Samples in a trend."""
_WINDOWS: Final = tuple(
    timedelta(minutes=minutes) for minutes in (5, 15, 30, 60, 180, 720, 1440, 10_080)
)
_GONE: Final = frozenset({Operation.SUSPENDED, Operation.ENDED})


class SizeSteps(msgspec.Struct, frozen=True):
    """Replicas from each time on, oldest first; unknown before the first.

    `whole`: the first is the start of the job, not the end of a truncated history.
    """

    points: tuple[tuple[datetime, int], ...]
    whole: bool = True

    def at(self, moment: datetime) -> int | None:
        """The size at a moment; None before the first known one."""
        return next((size for since, size in reversed(self.points) if since <= moment), None)

    def spans(self, until: datetime) -> list[tuple[timedelta, int]]:
        """(duration, size) of each step."""
        ends = (*self.points, (until, 0))
        return [(max(end - begin, timedelta()), size) for (begin, size), (end, _) in pairwise(ends)]


def steps(job: TrainingJob, role: Role) -> SizeSteps:
    """A role's sizes: 0 while it is suspended, and after its end."""
    history = cached_entries(role.record.history)
    points = [(entry.at, 0 if entry.operation in _GONE else entry.after) for entry in history]
    whole = len(history) < MAX_LINES and (not history or history[0].operation is Operation.STARTED)
    now = role.status.desired
    if end := role.status.end_condition:
        before = points or _since(job, role.status.size)
        return SizeSteps((*before, (max(end.since, before[-1][0]), 0)) if before else (), whole)
    if not points:
        return SizeSteps(tuple(_since(job, now)) if now else ())
    last_at, last = points[-1]
    if last != now:  # a user's patch preceded our last update
        points.append((max(last_at, role.record.resized_at or last_at), now))
    return SizeSteps(tuple(points), whole)


def _since(job: TrainingJob, size: int) -> list[tuple[datetime, int]]:
    return [(job.started_at or job.queued_at, size)] if size else []


def window(jobs: Iterable[TrainingJob], now: datetime) -> timedelta:
    """The length of a trend in which all these jobs were created; at most a week."""
    begun = (job.queued_at for job in jobs)
    wanted = now - min(begun, default=now)
    return next((length for length in _WINDOWS if wanted <= length), _WINDOWS[-1])


def trend(
    job: TrainingJob, roles: Sequence[Role], now: datetime, length: timedelta
) -> list[int | None]:
    """The roles' total replicas at `SIGNS` moments up to now; None before the job was created."""
    lines = [steps(job, role) for role in roles]
    moments = [now - length * back / SIGNS for back in reversed(range(SIGNS))]
    return [
        None if moment < job.queued_at else sum(line.at(moment) or 0 for line in lines)
        for moment in moments
    ]
