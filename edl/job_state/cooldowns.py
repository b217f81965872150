"""The least time between two resizes of a role."""

from datetime import datetime, timedelta
from typing import Final

from edl import contract
from edl.frameworks import mode_of
from edl.frameworks.base import NO_STALL, Cooldown
from edl.model import Restart, Role, TrainingJob

_AFTER_GROWTH: Final = 0.3
"""In cooldowns: capacity often becomes idle bit by bit. A role that grows again moves no replica
back, and until the end of its cooldown it donates none (`edl.planner.snapshot.growth_gates`)."""


def cooldown(job: TrainingJob, usual: timedelta) -> Cooldown:
    """The job's own cooldown, else the longer of its framework's default and `usual`."""
    if job.cooldown:
        return Cooldown(job.cooldown, contract.COOLDOWN)
    mode = mode_of(job)
    default = mode.cooldown if mode else None
    if default == NO_STALL:
        return Cooldown(usual, after_growth=after_growth(usual))
    return default if default and default.least > usual else Cooldown(usual)


def after_growth(usual: timedelta) -> timedelta:
    """The least time between two scale-ups of a role whose scale-ups stall no replica."""
    return usual * _AFTER_GROWTH


def resized_at(job: TrainingJob, role: Role) -> datetime | None:
    """When the role was last resized; None if it still has the size that it started with."""
    if (
        role.record.resized_at is None
        or job.started_at is None
        or role.record.resized_at > job.started_at
    ):
        return role.record.resized_at
    return role.record.resized_at if role.restart is Restart.STARTED else None
