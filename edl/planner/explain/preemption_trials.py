"""Whether preemption of whole jobs would give capacity to a job, found by decisions."""

from typing import Final

import msgspec
from msgspec.structs import replace

from edl import lost_pods
from edl.frameworks import restarts_together
from edl.model import JobKey, PodPhase, Reclaim, Role, TrainingJob
from edl.planner.explain.diagnosis import gets_room
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.snapshot.growth_gates import has_succeeded_pods


class PreemptionTrials(msgspec.Struct, frozen=True):
    """What would give capacity to a job that gets none; nothing if it gets some.

    `turned_on`: preemption, which is off. `permitted`: another PriorityClass of its pods.
    """

    turned_on: bool = False
    permitted: bool = False


NONE: Final = PreemptionTrials()


def of_job(given: DecisionInput, job: TrainingJob) -> PreemptionTrials:
    """The trials for a job that gets no capacity."""
    return PreemptionTrials(_preempts(given, job), forbids_preemption(given, job))


def _preempts(given: DecisionInput, job: TrainingJob) -> bool:
    """Whether preemption, which is off, would give room to a job that gets none."""
    others = (one for one in given.state.jobs if one.priority < job.priority)
    if given.limits.preempt or all(one.suspended for one in others):
        return False
    changed = replace(given, limits=replace(given.limits, preempt=True))
    return gets_room(changed.run_passes(), job.key)


def forbids_preemption(given: DecisionInput, job: TrainingJob) -> bool:
    """Whether a job that gets no room would get some if no pod's `preemptionPolicy` were Never."""
    if job.preempts or not _might_stop_jobs(given, job):
        return False
    roles = tuple(role.changed(preempts=True) for role in job.roles)
    changed = given.with_job(job.key, lambda one: replace(one, roles=roles))
    return gets_room(changed.run_passes(), job.key)


def jobs_with_ended_ranks(given: DecisionInput, job: TrainingJob) -> tuple[JobKey, ...]:
    """Jobs that would make room for one that gets none if none of their ranks had ended.

    They would scale down by a restart, or be preempted, and come back without these ranks.
    """
    others = (one for one in given.state.jobs if one.key != job.key and not one.suspended)
    kept = {one.key for one in others if restarts_together(one) and has_succeeded_pods(one)}
    if not kept:
        return ()
    jobs = (_whole(one) if one.key in kept else one for one in given.state.jobs)
    builder = given.changed(jobs=tuple(jobs)).run_passes()
    if not gets_room(builder, job.key):
        return ()
    roles = builder.snapshot.allocations
    smaller = {one.job.key for one in roles if one.planned_size < one.role.status.size}
    return tuple(sorted(kept & (smaller | builder.results.suspended.keys())))


def _whole(job: TrainingJob) -> TrainingJob:
    """The job as if none of its ranks had ended."""
    return replace(job, roles=tuple(map(_without_ends, job.roles)))


def _without_ends(role: Role) -> Role:
    pods = tuple(pod for pod in role.status.pods if pod.phase is not PodPhase.SUCCEEDED)
    return role.changed(finished_indexes=frozenset[int](), pods=pods)


def _might_stop_jobs(given: DecisionInput, job: TrainingJob) -> bool:
    """Whether a claim of this job, if its pods allowed it, might stop any whole job."""
    started = [one for one in given.state.jobs if one.key != job.key and not one.suspended]
    if any(team.reclaim is Reclaim.JOBS for team in given.state.teams):
        return bool(started)  # of any priority
    lower = [one for one in started if one.priority < job.priority]
    return bool(lower) and (given.limits.preempt or any(map(lost_pods.stands_still, lower)))
