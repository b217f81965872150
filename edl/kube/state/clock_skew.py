"""Timestamps of ours that lie in the future: the process that wrote them had a wrong clock.

What waits from such a moment would wait until the true clock has come there, hours perhaps. The
true time is unknown; so it counts as long ago. Times that Kubernetes wrote are left
alone: if they lie ahead, the clock that is wrong is our own.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from edl.model import Role, TrainingJob

AHEAD: Final = timedelta(minutes=1)
"""So far the clocks of two leaders may differ: every wait is as much longer at most."""
LONG_AGO: Final = timedelta(days=1)
"""More than anything ever waits."""


def set_right(jobs: tuple[TrainingJob, ...], now: datetime) -> tuple[TrainingJob, ...]:
    """These jobs, none of whose starts and resizes is still to come; mostly they themselves."""
    latest = now + AHEAD
    wrong = [job for job in jobs if _is_wrong(job, latest)]
    if not wrong:
        return jobs
    ahead = {id(job) for job in wrong}
    return tuple(_set_right(job, now) if id(job) in ahead else job for job in jobs)


def _is_wrong(job: TrainingJob, latest: datetime) -> bool:
    return _later(job.started_at, latest) or any(
        _later(role.record.resized_at, latest)
        or (role.request.scaling and _later(role.request.scaling.since, latest))
        for role in job.roles
    )


def _set_right(job: TrainingJob, now: datetime) -> TrainingJob:
    roles = _roles(job.roles, now)
    return replace(job, started_at=_moment(job.started_at, now), roles=roles)


def _roles(roles: Sequence[Role], now: datetime) -> tuple[Role, ...]:
    return tuple(
        role.changed(
            resized_at=_moment(role.record.resized_at, now),
            scaling=role.request.scaling
            and replace(role.request.scaling, since=_moment(role.request.scaling.since, now)),
        )
        for role in roles
    )


def _moment(told: datetime | None, now: datetime) -> datetime | None:
    return now - LONG_AGO if _later(told, now + AHEAD) else told


def _later(told: datetime | None, latest: datetime) -> bool:
    return told is not None and told > latest
