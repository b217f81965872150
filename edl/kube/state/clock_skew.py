"""Corrects timestamps in the future, which a reconciler with a wrong clock has written.

Waits that count from such a time could last for hours. The true time is unknown, so it counts as
long ago. Times written by Kubernetes are kept: the state's own time is the API server's.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from edl.lost_pods import LONGEST_BACKOFF
from edl.model import Pod, Role, TrainingJob

AHEAD: Final = timedelta(minutes=1)
"""Accepted difference between two leaders' clocks; it prolongs waits by at most as much."""
LONG_AGO: Final = timedelta(days=1)
"""Longer than any wait."""


def set_right(jobs: tuple[TrainingJob, ...], now: datetime) -> tuple[TrainingJob, ...]:
    """The jobs without times of our own in the future; usually the same tuple."""
    latest = now + AHEAD
    wrong = [job for job in jobs if _is_wrong(job, latest)]
    if not wrong:
        return jobs
    ahead = {id(job) for job in wrong}
    return tuple(_set_right(job, now) if id(job) in ahead else job for job in jobs)


def _is_wrong(job: TrainingJob, latest: datetime) -> bool:
    return _later(job.started_at, latest) or any(
        _later(role.record.resized_at, latest)
        or _later(role.record.resumed_at, latest)
        or _later(role.record.delayed_until, latest + LONGEST_BACKOFF)
        or (role.request.scaling and _later(role.request.scaling.since, latest))
        or (role.template.gated and any(_placed_later(pod, latest) for pod in role.status.pods))
        for role in job.roles
    )


def _set_right(job: TrainingJob, now: datetime) -> TrainingJob:
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
    if not _placed_later(pod, now + AHEAD):
        return pod
    return replace(pod, planned=replace(pod.planned, placed_at=now - LONG_AGO))


def _placed_later(pod: Pod, latest: datetime) -> bool:
    return not pod.node and _later(pod.planned.placed_at, latest)


def _moment(
    moment: datetime | None, now: datetime, wait: timedelta = timedelta()
) -> datetime | None:
    return now - LONG_AGO if _later(moment, now + AHEAD + wait) else moment


def _later(moment: datetime | None, latest: datetime) -> bool:
    return moment is not None and moment > latest
