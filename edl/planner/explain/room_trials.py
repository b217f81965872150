"""Single changes that would give room to a job that gets none, each tried by a decision."""

from collections.abc import Collection
from typing import Final

import msgspec
from msgspec.structs import replace

from edl.job_state import lost_pods
from edl.model import DEFAULT_TEAM, JobKey, Reclaim, Role, Teams, TrainingJob
from edl.planner.decision import Decision
from edl.planner.explain.start_remedies import NO_REMEDY, StartRemedy, start_remedy
from edl.planner.explain.template_remedies import TemplateRemedy, template_remedy
from edl.planner.explain.what_if_state import DecisionInput
from edl.spec.allowed_sizes import RESIZABLE

_ALONE: Final = 4
"""Manual sizes that are each tried alone; a decision each."""


class RoomTrials(msgspec.Struct, frozen=True):
    """What would give a job room; nothing if it gets some."""

    reclaiming_team: str = ""
    """Its team or one above it, the lowest one of which `reclaim: jobs` would."""
    preemption: bool = False
    """Whether preemption, which is off, would."""
    permission: bool = False
    """Whether another PriorityClass, which permits its pods to preempt, would."""
    manual_sizes: tuple[JobKey, ...] = ()
    """Jobs that would make room if their sizes were automatic."""
    start: StartRemedy = NO_REMEDY
    """A smaller min, or its topology as preferred."""
    template: TemplateRemedy = TemplateRemedy()
    """What would let it start on nodes that its pods may not use."""


def room_trials(given: DecisionInput, decision: Decision, job: TrainingJob) -> RoomTrials:
    """The trials for a job that gets no room by this decision."""
    return RoomTrials(
        reclaiming_team=_reclaiming_team(given, job),
        preemption=_preempts(given, job),
        permission=forbids_preemption(given, job),
        manual_sizes=_manual_sizes(given, job),
        start=start_remedy(given, decision, job),
        template=template_remedy(given, decision, job),
    )


def _reclaiming_team(given: DecisionInput, job: TrainingJob) -> str:
    teams = given.state.teams
    path = [teams.by_name.get(name) for name in teams.path(given.state.team_of(job.key.namespace))]
    names = [
        team.name
        for team in path
        if team and team.name != DEFAULT_TEAM and team.reclaim is not Reclaim.JOBS
    ]

    def suffices(some: Collection[str]) -> bool:
        changed = (
            replace(team, reclaim=Reclaim.JOBS) if team.name in some else team for team in teams
        )
        return given.changed(teams=Teams.of(changed)).admits(job.key)

    if not names or not suffices(names):
        return ""
    return next((name for name in names[:-1] if suffices({name})), names[-1])


def _preempts(given: DecisionInput, job: TrainingJob) -> bool:
    others = (other for other in given.state.jobs if other.priority < job.priority)
    if given.limits.preempt or all(other.suspended for other in others):
        return False
    return replace(given, limits=replace(given.limits, preempt=True)).admits(job.key)


def forbids_preemption(given: DecisionInput, job: TrainingJob) -> bool:
    """Whether a job that gets no room would get some if no pod's `preemptionPolicy` were Never."""
    if job.preempts or not _might_stop_jobs(given, job):
        return False
    changed = given.with_roles(job.key, lambda role: role.changed(preempts=True), job.role_names)
    return changed.admits(job.key)


def _might_stop_jobs(given: DecisionInput, job: TrainingJob) -> bool:
    """Whether a claim of this job, if its pods allowed it, might stop any whole job."""
    started = [other for other in given.state.jobs if other.key != job.key and not other.suspended]
    if any(team.reclaim is Reclaim.JOBS for team in given.state.teams):
        return bool(started)  # of any priority
    lower = [other for other in started if other.priority < job.priority]
    return bool(lower) and (given.limits.preempt or any(map(lost_pods.stands_still, lower)))


def _manual_sizes(given: DecisionInput, job: TrainingJob) -> tuple[JobKey, ...]:
    """Jobs whose manual sizes keep the room that a job lacks; one of them if that one suffices."""
    others = (other for other in given.state.jobs if other.key != job.key)
    pinned = [other.key for other in others if any(map(_is_kept_above_min, other.live))]

    def suffices(keys: Collection[JobKey]) -> bool:
        jobs = (_automatic(other) if other.key in keys else other for other in given.state.jobs)
        return given.changed(jobs=tuple(jobs)).admits(job.key)

    if not pinned or not suffices(frozenset(pinned)):
        return ()
    alone = pinned[:_ALONE] if len(pinned) > 1 else ()
    return next(((key,) for key in alone if suffices({key})), tuple(pinned))


def _is_kept_above_min(role: Role) -> bool:
    running = not role.status.suspended and role.status.size > role.spec.min
    return running and role.request.replicas is not None and role.spec.resizing in RESIZABLE


def _automatic(job: TrainingJob) -> TrainingJob:
    return replace(job, roles=tuple(role.changed(replicas=None) for role in job.roles))
