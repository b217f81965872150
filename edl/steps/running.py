"""One round of a training job that this plan neither starts nor suspends."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec.structs import replace

from edl import phases
from edl.model import Role, TrainingJob
from edl.planner.plan import Resize
from edl.steps import pod_removal, scale_deadline
from edl.steps.dependents.dependents import surroundings
from edl.steps.dependents.ssh_key_requests import missed_keys
from edl.steps.failure_reset import forgive
from edl.steps.finish import finish, freed
from edl.steps.hosts import new_workers
from edl.steps.hosts.host_file import Publication, leaves_no_worker, publish
from edl.steps.resize_patch import RoleChange, change
from edl.steps.restart import restart
from edl.writes import Step


def live(
    job: TrainingJob, planned: Sequence[Resize], now: datetime
) -> tuple[Step, timedelta | None]:
    """Writes that are due now, and when to check again without a change in the cluster."""
    end = phases.ending(job)
    if end is not None:
        step = finish(job, end, now)
        return replace(step, writes=(*freed(job), *step.writes)), None
    resizes = scale_deadline.limited(job, planned, now)
    if any(resize.restart for resize in resizes):
        return restart(job, resizes, now), None
    resizes = [resize for resize in resizes if not leaves_no_worker(job, resize)]
    published = publish(job, resizes, now)
    changes = [_change(job, role, resizes, published, now) for role in job.live]
    # The last Job to come must be an owner of what surrounds them, too.
    around = () if job.missing else (*surroundings(job), *missed_keys(job, now))
    # Sizes first: other jobs wait for that room, and a quota may forbid what is missing around.
    writes = (*published.writes, *(write for found in changes for write in found.writes), *around)
    writes = (*new_workers.told(job), *freed(job), *writes)
    notes = tuple(note for found in changes for note in found.notes)
    return Step(job.key, writes, notes), _recheck(job, published, now)


def _change(
    job: TrainingJob,
    role: Role,
    resizes: Sequence[Resize],
    published: Publication,
    now: datetime,
) -> RoleChange:
    """A pod that leaves has its time first; growth never waits."""
    resize = next((resize for resize in resizes if resize.role == role.name), None)
    leaves = role.request.removing or (resize and resize.after < resize.before)
    if leaves and published.wait is not None:
        return RoleChange()
    if resize or role.request.removing or role.request.scaling:
        found = change(job, role, resize, now)
        if found.writes:
            return found
    return RoleChange(forgive(job, role, now) or pod_removal.arrived(job, role))


def _recheck(job: TrainingJob, published: Publication, now: datetime) -> timedelta | None:
    limits = [scale_deadline.time_left(role, now) for role in job.live if role.request.scaling]
    times = (published.wait, published.recheck, *limits)
    return min((time for time in times if time is not None and time > timedelta()), default=None)
