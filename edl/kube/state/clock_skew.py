"""Corrects timestamps of ours in the future, which `ServerClock` does not prevent.

They come from an API server whose clock was set back since, from a reconciler whose clock was off
by more than a day, or from one of several API servers whose clocks differ by minutes. Waits that
count from such a time could last for hours. The true time is unknown, so it counts as long ago.
Times written by Kubernetes are kept: the state's own time is the API server's.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from edl.job_state.lost_pods import LONGEST_BACKOFF
from edl.kube.cluster import Delta
from edl.model import Pod, Role, TrainingJob

if TYPE_CHECKING:
    from edl.model import JobKey

AHEAD: Final = timedelta(minutes=1)
"""Accepted difference between two leaders' clocks; it prolongs waits by at most as much."""
LONG_AGO: Final = timedelta(days=1)
"""Longer than any wait."""


class OwnTimes:
    """The latest time of ours in each training job, updated job by job."""

    def __init__(self) -> None:
        self._latest: list[tuple[float, JobKey]] = []
        """Sorted, so that only jobs with times in the future are inspected."""

    def apply_job(self, change: Delta[TrainingJob]) -> None:
        for job, sign in change.signed():
            entry = (max(_own_times(job), default=0.0), job.key)
            if sign > 0:
                insort(self._latest, entry)
            else:
                del self._latest[bisect_left(self._latest, entry)]

    def corrected(self, jobs: tuple[TrainingJob, ...], now: datetime) -> tuple[TrainingJob, ...]:
        """The jobs without times of our own in the future; usually the same tuple."""
        first = bisect_right(self._latest, (now + AHEAD).timestamp(), key=itemgetter(0))
        wrong = {key for _, key in self._latest[first:]}
        if not wrong:
            return jobs
        return tuple(_corrected(job, now) if job.key in wrong else job for job in jobs)


def _own_times(job: TrainingJob) -> Iterator[float]:
    """Times that we have written, in seconds since the epoch: of an end, when its wait began."""
    if job.started_at:
        yield job.started_at.timestamp()
    for role in job.roles:
        record, scaling = role.record, role.request.scaling
        for time in (record.resized_at, record.resumed_at, scaling and scaling.since):
            if time:
                yield time.timestamp()
        if record.delayed_until:
            yield record.delayed_until.timestamp() - LONGEST_BACKOFF.total_seconds()
        for pod in role.status.pods if role.template.gated else ():
            if pod.planned.placed_at and not pod.node:
                yield pod.planned.placed_at.timestamp()


def _corrected(job: TrainingJob, now: datetime) -> TrainingJob:
    roles = _roles(job.roles, now)
    return replace(job, started_at=_moment(job.started_at, now), roles=roles)


def _roles(roles: Sequence[Role], now: datetime) -> tuple[Role, ...]:
    return tuple(
        role.changed(
            resized_at=_moment(role.record.resized_at, now),
            resumed_at=_moment(role.record.resumed_at, now),
            delayed_until=_moment(role.record.delayed_until, now, LONGEST_BACKOFF),
            scaling=role.request.scaling
            and replace(role.request.scaling, since=_moment(role.request.scaling.since, now)),
            pods=tuple(_pod(pod, now) for pod in role.status.pods),
        )
        for role in roles
    )


def _pod(pod: Pod, now: datetime) -> Pod:
    placed = _moment(pod.planned.placed_at, now)
    if pod.node or placed == pod.planned.placed_at:
        return pod
    return replace(pod, planned=replace(pod.planned, placed_at=placed))


def _moment(
    moment: datetime | None, now: datetime, wait: timedelta = timedelta()
) -> datetime | None:
    """The moment, or a time long ago if it lies in the future by more than `wait`."""
    return now - LONG_AGO if moment and moment > now + AHEAD + wait else moment
