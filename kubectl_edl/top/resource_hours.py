"""Resource-hours of a training job, and those of the same work at a fixed maximum size.

The work is what the replicas of its resizable roles did, by Amdahl's law. At a fixed maximum the
same work takes a different time, for which every role, including fixed ones, keeps its pods.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from edl.model import ResizePolicy, Role, TrainingJob
from edl.simulator.cluster.work_and_speedup import Amdahl
from kubectl_edl.job_views.size_timeline import SizeSteps, steps
from kubectl_edl.output.cell_quantities import cpus, gpus

_HOUR: Final = timedelta(hours=1)
_THOUSAND: Final = 1000


class Unit(StrEnum):
    GPU = "GPU"
    CPU = "CPU"


@dataclass(frozen=True, slots=True)
class Hours:
    """Hours of `unit` (GPU, or CPU without GPUs) so far; `at_max` for the same work at max.

    `whole` is False if the history does not reach back to the start; then the hours were more.
    """

    unit: Unit
    held: float
    at_max: float
    whole: bool
    compared: bool = True
    """Whether the serial fraction is known: without it, a smaller size never shows an advantage."""

    @property
    def saved(self) -> float | None:
        """The fraction of `at_max` that was saved; negative if more was used."""
        return 1 - self.held / self.at_max if self.at_max and self.compared else None


def hours(job: TrainingJob, now: datetime, serial: float) -> Hours:
    """The job's hours; `serial` is the fraction of work that more replicas do not speed up."""
    has_gpus = any(gpus(role.template.shape.requests) for role in job.roles)
    unit, amount = (Unit.GPU, gpus) if has_gpus else (Unit.CPU, cpus)
    lines = {role.name: steps(job, role) for role in job.roles}
    held = sum(
        _replica_hours(lines[role.name], now) * amount(role.template.shape.requests)
        for role in job.roles
    )
    elastic = [role for role in job.roles if role.spec.resizing is not ResizePolicy.FIXED]
    at_max = held
    if elastic:
        longest = max(_hours_at_max(lines[role.name], role, now, serial) for role in elastic)
        at_max = longest * sum(
            role.spec.max * amount(role.template.shape.requests) for role in job.roles
        )
    whole = all(line.whole for line in lines.values())
    return Hours(unit, held / _THOUSAND, at_max / _THOUSAND, whole, compared=serial > 0)


def total(all_hours: Sequence[Hours], unit: Unit) -> Hours:
    same = [hours for hours in all_hours if hours.unit == unit]
    return Hours(
        unit,
        sum(hours.held for hours in same),
        sum(hours.at_max for hours in same),
        all(hours.whole for hours in same),
        compared=all(hours.compared for hours in same),
    )


def _replica_hours(line: SizeSteps, now: datetime) -> float:
    return sum(length / _HOUR * size for length, size in line.spans(now))


def _hours_at_max(line: SizeSteps, role: Role, now: datetime, serial: float) -> float:
    """Hours that the role's maximum size would take for the work done so far."""
    speed = Amdahl(serial)
    work = sum(length / _HOUR * speed(size) for length, size in line.spans(now))
    return work / speed(role.spec.max)
