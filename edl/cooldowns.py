"""The least time between two resizes of a role."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache

import msgspec

from edl import contract
from edl.frameworks import FRAMEWORKS
from edl.frameworks.needs import Pace
from edl.model import Restart, Role, TrainingJob


class Cooldown(msgspec.Struct, frozen=True):
    """`source`: the annotation, the program whose default it is, or empty for the reconciler's."""

    least: timedelta
    source: str = ""


def cooldown(job: TrainingJob, usual: timedelta) -> Cooldown:
    """What the job says, else the longer of its framework's default and the reconciler's."""
    if job.cooldown:
        return Cooldown(job.cooldown, contract.COOLDOWN)
    pace = _pace(job.framework, job.mode, tuple(role.name for role in job.roles))
    if pace and pace.least > usual:
        return Cooldown(pace.least, pace.program)
    return Cooldown(usual)


@lru_cache(maxsize=1024)
def _pace(framework: str, mode: str, roles: Sequence[str]) -> Pace | None:
    known = FRAMEWORKS.get(framework)
    found = known.mode(mode, roles) if known else None
    return found.pace if found else None


def resized_at(job: TrainingJob, role: Role) -> datetime | None:
    """When its size was last changed; None if it has the size of its start, which is no resize."""
    if role.resized_at is None or job.started_at is None or role.resized_at > job.started_at:
        return role.resized_at
    return role.resized_at if role.restart is Restart.STARTED else None
