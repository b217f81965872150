"""A training job's phase, derived from its roles: nothing is stored that can be derived."""

from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from edl import reasons
from edl.annotations.job_history import entries
from edl.contract import CleanUp
from edl.contract.manifest_parts import has_our_prefix
from edl.job_state.lost_pods import missing_pods
from edl.model import (
    Code,
    ConflictingJob,
    JobEnd,
    Phase,
    Pod,
    PodPhase,
    Reason,
    ResizePolicy,
    Restart,
    Role,
    TrainingJob,
)
from edl.spec.allowed_sizes import with_work

_ENDS: Final = {Code.COMPLETE: JobEnd.COMPLETE, Code.FAILED: JobEnd.FAILED}
ENDED: Final = frozenset({Phase.SUCCEEDED, Phase.FAILED})
"""The phases of a training job that is over."""
_MADE_BY: Final = timedelta(seconds=10)
"""A pod created within this time of a resize belongs to it; a later one replaces a lost pod."""


def ending(job: TrainingJob) -> JobEnd | None:
    """How the job ended: as its leader role did, or Failed once any role failed; else None.

    A Job fails when its retries are used up; the training job could never complete without it. A
    leader that is complete at size 0 does not count: `edl.steps.finish` ended that Job because
    another role failed. Once the leader's Job is deleted, those that it ended say how.
    """
    if len(job.live) == len(job.roles):
        return None
    decided = next(
        (role.status.ending for role in job.roles if role.spec.is_leader and role.status.size), None
    )
    failed = any(role.status.ending is JobEnd.FAILED for role in job.roles)
    if failed or decided or job.live:
        return decided or (JobEnd.FAILED if failed else None)
    reasons_of_end = (role.record.reason for role in job.roles)
    return next((_ENDS[code] for code in reasons_of_end if code in _ENDS), None)


def blocked(job: TrainingJob) -> Reason | None:
    """Why plans leave out the job: its problem, or a refused start; None if they include it."""
    if job.problem or not job.refusals:
        return job.problem
    for write in job.refused_writes:
        if write.size is None and write.usage and write.usage.budget.namespace == job.key.namespace:
            return reasons.start_refused(write.usage)
    starts = [str(write) for write in job.refused_writes if write.size is None]
    return reasons.quoted(Code.START_REFUSED, "; ".join(starts)) if starts else None


def unready(job: TrainingJob) -> Reason | None:
    """Why plans leave the job out, whatever capacity is free; None if they do not."""
    return blocked(job) or incomplete(job)


def incomplete(job: TrainingJob) -> Reason | None:
    """Why it lacks a role: its Job is left out, or does not exist; None if it lacks none."""
    if conflict := filling(job):
        return replace(conflict.reason, code=Code.INCOMPLETE)
    return reasons.incomplete(job.missing) if job.missing else None


def filling(job: TrainingJob) -> ConflictingJob | None:
    """The first Job that is left out although it is of a role that the job lacks."""
    return next((conflict for conflict in job.conflicting if conflict.fills in job.missing), None)


def why_paused(job: TrainingJob) -> Reason:
    """The reason of a pause, or why it is not carried out."""
    return reasons.PAUSE_REFUSED if job.ends_if_stopped else reasons.PAUSED


def why_kept(job: TrainingJob, role: str = "") -> Reason | None:
    """Why roles keep their sizes: a pause, or a size that the API server refuses, is not applied.

    The refusal of `role` comes first, if it has one.
    """
    if job.paused and job.ends_if_stopped:
        return reasons.PAUSE_REFUSED
    sizes = [write for write in job.refused_writes if write.size]
    refused = next((one for one in sizes if one.kind[0] == role), next(iter(sizes), None))
    return reasons.quoted(Code.WRITE_REFUSED, str(refused)) if refused else None


def phase(job: TrainingJob) -> Phase:
    """The phase that users see."""
    end = ending(job)
    if end is not None:
        return _ended(job, end)
    if all(role.status.suspended for role in job.live):
        return _waiting(job)
    if job.missing:
        return Phase.INCOMPLETE
    if any(_scales(job, role) for role in job.live):
        return Phase.SCALING
    if any(below_minimum(role) or not runs(role) for role in job.live):
        return Phase.STARTING
    return Phase.RUNNING


def waits_to_start(job: TrainingJob) -> bool:
    """Whether the job is queued, or suspended for a restart at a new size."""
    return phase(job) in (Phase.QUEUED, Phase.SCALING) and all(
        role.status.suspended for role in job.live
    )


def _ended(job: TrainingJob, end: JobEnd) -> Phase:
    if job.live and job.clean_up is not CleanUp.NONE:
        return Phase.FINISHING
    return Phase.SUCCEEDED if end is JobEnd.COMPLETE else Phase.FAILED


def _waiting(job: TrainingJob) -> Phase:
    if job.paused:
        return Phase.PAUSED
    if any(role.restart is Restart.STOPPED for role in job.live):
        return Phase.SCALING
    return Phase.INCOMPLETE if job.missing else Phase.QUEUED


def runs(role: Role) -> bool:
    """Whether the role's minimum of replicas is ready, or has already ended for good."""
    return not role.status.suspended and not unready_minimum(role)


def unready_minimum(role: Role) -> int:
    """How many replicas of the role's minimum are neither ready nor have ended for good.

    Once a work item is complete one replica suffices, as others may be between two items. Once
    indexes have ended, one of the others must be ready.
    """
    replicas, least = role.replicas, min(role.spec.min, role.status.size)
    there = [pod for pod in replicas if not pod.terminating]
    ended = {pod.index for pod in there if pod.phase is PodPhase.SUCCEEDED}
    ended |= role.status.finished_indexes
    if role.status.remaining is None:
        least = max(least, min(len(ended) + 1, role.status.size))
    else:
        completed = len(replicas) < len(role.status.pods)
        least = min(1 if completed else least, role.status.remaining)
    at_work = sum(pod.ready and pod.index not in ended for pod in there)
    return max(least - at_work - len(ended), 0)


def below_minimum(role: Role) -> int:
    """How many replicas a started role lacks because its minimum was raised above its size."""
    if role.status.suspended or role.status.ending:
        return 0
    return max(with_work(role, role.spec.min) - role.status.size, 0)


def why_below_minimum(job: TrainingJob) -> Reason | None:
    """The reason for sizes below the minimum; None if there are none."""
    lacks = sum(map(below_minimum, job.live))
    return reasons.below_minimum(lacks) if lacks else None


def why_unscheduled(job: TrainingJob, role: Role | None = None) -> Reason | None:
    """Why pods of a started job's minimum have no node, beyond what each start takes.

    Their template has a scheduling gate of its own, or they replace lost pods. `role`: only its.
    """
    pods = [pod for each in ((role,) if role else job.live) for pod in _unbound_minimum(each)]
    if not pods:
        return None
    if any(not has_our_prefix(gate) for pod in pods for gate in pod.scheduling.gates):
        return reasons.PODS_GATED
    since = job.started_at
    replaced = since and any(pod.created_at - since >= _MADE_BY for pod in pods)
    return reasons.minimum_pending(job.key) if replaced else None


def _unbound_minimum(role: Role) -> list[Pod]:
    """The role's pods without a node, as far as its minimum lacks them."""
    if all(pod.node for pod in role.status.pods):
        return []
    least = min(role.spec.min, role.status.size)
    active = [pod for pod in role.replicas if pod.active]
    if role.spec.indexed and not role.ended_ranks:
        active = [pod for pod in active if pod.index < least]
    else:
        least = with_work(role, least)
    unbound = [pod for pod in active if not pod.node]
    return unbound if len(active) - len(unbound) < least else []


def _gone(role: Role) -> int:
    """The number of indexes that have ended for good and whose pods no longer exist."""
    return (
        len(role.status.finished_indexes - {pod.index for pod in role.status.pods})
        if role.status.finished_indexes
        else 0
    )


def _scales(job: TrainingJob, role: Role) -> bool:
    """Whether a resize of this role is in progress: its pods are being created or terminated."""
    if role.status.suspended:
        return role.restart is Restart.STOPPED
    if role.request.removing or (role.request.scaling and role.request.scaling.since):
        return True
    resized, started = role.record.resized_at, job.started_at
    if role.spec.resizing is ResizePolicy.FIXED or resized is None:
        return False
    if role.spec.indexed and any(
        pod.terminating and pod.index >= role.status.size for pod in role.status.pods
    ):
        return True
    # Below its minimum a role counts as starting, unless it restarts to be resized.
    grown = runs(role) and (started is None or resized > started)
    resizes = grown or role.restart is Restart.STARTED
    return resizes and not missing_pods(role) and _comes(role, resized)


def _comes(role: Role, resized: datetime) -> bool:
    """Whether pods that this resize added are not ready yet."""
    there = sum(not pod.terminating for pod in role.status.pods)
    lacks = role.spec.indexed and there + _gone(role) < role.status.size
    return (lacks and _uncreated(role, resized)) or any(
        not (pod.ready or pod.ended or pod.terminating) and pod.created_at - resized < _MADE_BY
        for pod in role.status.pods
        if pod.created_at >= resized
    )


def _uncreated(role: Role, resized: datetime) -> bool:
    """Whether an index that this resize added has had no pod since; any other index lost its own.

    Without a history every index counts as added.
    """
    last = next(iter(entries(role.record.history)[-1:]), None)
    created = {
        pod.index for pod in role.status.pods if not pod.terminating or pod.created_at >= resized
    } | role.status.finished_indexes
    return not created.issuperset(range(last.before if last else 0, role.status.size))
