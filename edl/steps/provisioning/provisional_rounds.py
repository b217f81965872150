"""What a round creates and deletes by which jobs ask for nodes: provisional pods, or requests.

Pods of a job go before kube-scheduler may place its pods: before the start, and of gated roles
once all pods stand behind the gate. kube-scheduler must not preempt one for its own job: a victim
that is deleted meanwhile leaves the preemptor Pending for minutes (kubernetes/kubernetes#141694).
A request whose nodes have come stays until its job's pods are bound: its nodes are kept for these.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeAlias

from msgspec.structs import replace

from edl import contract, reasons
from edl.annotations import attempt_backoff
from edl.model import (
    CapacityRequest,
    ClusterState,
    Code,
    FailedAttempt,
    JobKey,
    ObjectRef,
    ProvisionalPod,
    Role,
    TrainingJob,
)
from edl.planner.plan import Plan, ProvisioningRequest
from edl.steps import preconditioned_patches
from edl.steps.provisioning import capacity_requests, provisional_pods
from edl.writes import Action, Delete, Step

MOST_CREATED: Final = 100
"""Pods that are made for one job in one round."""
BINDING: Final = timedelta(minutes=2)
"""So long after a start its pods should be bound; then a request goes in any case."""
_NEXT: Final = timedelta(seconds=1)
_Round: TypeAlias = tuple[tuple[Step, ...], timedelta | None]
"""Steps of one job, and when to look again though nothing may have changed."""


def rounds(plan: Plan, state: ClusterState) -> Iterable[tuple[JobKey, Callable[[], _Round]]]:
    """Step makers of jobs that ask for nodes, or have asked."""
    requests = {request.job: request for request in plan.requests}
    starts = {entry.job for entry in plan.admissions}
    stopped = {entry.job for entry in plan.suspensions}
    now = state.observed_at
    for job in state.jobs:
        if job.key in plan.unprovisioned:
            yield job.key, partial(_given_up, job, now)
        elif job.key in stopped and job.provisioning.requests:
            # Its nodes are used by now: what it needs later it has to ask for again.
            yield job.key, partial(_withdrawn, job)
        elif job.key in requests:
            yield job.key, partial(_asked, job, _without_moved(job, requests[job.key], plan))
        elif not job.suspended and job.provisioning.asks:
            yield job.key, partial(_replaced, job, now)
        elif job.key not in starts and job.provisioning.asks:
            yield job.key, partial(_withdrawn, job)


def _without_moved(
    job: TrainingJob, request: ProvisioningRequest, plan: Plan
) -> ProvisioningRequest:
    """A pod that begins to leave a cordoned node comes in the place of a provisional one."""
    begun = job.leaving.pods if job.leaving else frozenset[str]()
    moved = {
        one.role: len({*one.pods} - begun)
        for one in plan.drains
        if one.job == job.key and one.reason.code is Code.NODE_UNSCHEDULABLE
    }
    pods = ((role, max(count - moved.get(role, 0), 0)) for role, count in request.pods)
    return replace(request, pods=tuple(pods)) if moved else request


def orphaned(state: ClusterState) -> Iterator[Step]:
    """Deletions of what asks for training jobs that were released or deleted."""
    for target, uid in state.orphans:
        yield Step(JobKey(target.namespace, target.name), (Delete(target, uid=uid),))


def _asked(job: TrainingJob, request: ProvisioningRequest) -> _Round:
    """Makes what is missing, and takes away what is too much, or of the other kind."""
    if request.by_request is None:
        steps, again = _asked_by_pods(job, request)
        return (*_removed(job, (), job.provisioning.requests), *steps), again
    named = capacity_requests.name(job, request, request.by_request) if request.pods else ""
    others = [one for one in job.provisioning.requests if one.name != named]
    removed = _removed(job, job.provisioning.pods, others)
    if not named or len(others) < len(job.provisioning.requests):
        return removed, None
    creates = capacity_requests.creations(job, named, request, request.by_request)
    return (*removed, Step(job.key, tuple(creates), starts=True)), None


def _asked_by_pods(job: TrainingJob, request: ProvisioningRequest) -> _Round:
    """A step for each pod."""
    wanted, kept, steps = dict(request.pods), set[str](), list[Step]()
    for role in job.live:
        there = {pod.name: pod for pod in job.provisioning.pods if pod.role == role.name}
        names = _names(job, role, there, wanted.get(role.name, 0))
        kept.update(names)
        creates = (
            provisional_pods.create(job, role, name, request) for name in names if name not in there
        )
        # While the API server refuses them, its start has no nodes: that is said, and backs off.
        steps += [Step(job.key, (create,), starts=job.suspended) for create in creates]
    surplus = [pod for pod in job.provisioning.pods if pod.name not in kept and not pod.gone]
    again = _NEXT if len(steps) > MOST_CREATED else None
    return (*_removed(job, surplus), *steps[:MOST_CREATED]), again


def _names(
    job: TrainingJob, role: Role, there: Mapping[str, ProvisionalPod], count: int
) -> list[str]:
    """As many as are wanted, there or not: those with a node first, then by index.

    Of a job that runs, those with a node come last: its pods move there in their place.

    Those that have ended stay and count: what ends all of them, a kubelet that rejects them, must
    neither make pods without end nor begin the time-out anew.
    """
    prefix = provisional_pods.prefix(job, role)
    alive = [pod for pod in there.values() if pod.name.startswith(prefix) and not pod.gone]
    alive.sort(key=lambda pod: (bool(pod.node) != job.suspended, len(pod.name), pod.name))
    every = (f"{prefix}{index}" for index in range(count + len(there)))
    free = [name for name in every if name not in there]
    ended = sum(pod.gone for pod in there.values())
    return [*(pod.name for pod in alive), *free[: max(2 * count - ended, 0)]][:count]


def _withdrawn(job: TrainingJob) -> _Round:
    """It asks for nothing any more."""
    return _removed(job, job.provisioning.pods, job.provisioning.requests), None


def _given_up(job: TrainingJob, now: datetime) -> _Round:
    """Nodes did not come: its first Job says so, and since when; then the pods go."""
    asked, role = job.provisioning, job.roles[0]
    failure = attempt_backoff.failed(FailedAttempt, asked.failure, asked.said, now)
    reason = reasons.not_provisioned(failure.message)
    annotations: dict[str, str | None] = {
        contract.PROVISIONING_FAILED: attempt_backoff.text(failure)
    }
    said = preconditioned_patches.told(reason)
    patch = preconditioned_patches.job(job.key, role, {}, annotations | said)
    note = preconditioned_patches.note(job.key, role, Action.WAITING, reason)
    deletions = (*_deletions(job, asked.pods), *capacity_requests.deletions(job, asked.requests))
    return (Step(job.key, (patch, *deletions), (note,)),), None


def removed_at_start(job: TrainingJob) -> tuple[Delete, ...]:
    """Deletions that precede a job's start, in the same step.

    A gated role's keep their nodes until its pods are there. Without a node they hold nothing, and
    an autoscaler would still make nodes for them. So it would for a request that is pending.
    """
    gated = {role.name for role in job.live if role.template.gated}
    pods, kept = job.provisioning.pods, job.provisioning.provisioned
    others = [one for one in job.provisioning.requests if one is not kept]
    return (
        *_deletions(job, [one for one in pods if not one.node or one.role not in gated]),
        *capacity_requests.deletions(job, others),
    )


def removed_after_start(job: TrainingJob) -> tuple[Delete, ...]:
    """What goes as soon as a job has started, in the same step: a quota counts both.

    Its pods wait behind the gate. Where the start meets a conflict the room is still held for it.
    """
    if not _counts_twice(job):
        return ()
    before = {write.target for write in removed_at_start(job)}
    return tuple(one for one in _deletions(job, job.provisioning.pods) if one.target not in before)


def holds_nodes(job: TrainingJob, now: datetime) -> bool:
    """Whether provisional pods are still on nodes of a started job, whose pods wait for that."""
    there = any(pod.node and not pod.gone for pod in job.provisioning.pods)
    return there and _overlap_left(job, now) > timedelta()


def _replaced(job: TrainingJob, now: datetime) -> _Round:
    """Deletions for a started job: pods once all of its own wait behind the gate.

    Requests go once these are bound. Where a quota counts both, pods have gone with the start, or
    go at once: the others could not be made.
    """
    left, requests = _overlap_left(job, now), job.provisioning.requests
    if requests and not job.provisioning.pods:
        bound = _until(job, now, BINDING)
        waits = bound > timedelta() and not all(map(_is_bound, job.live))
        return ((), bound) if waits else (_removed(job, (), requests), None)
    made = all(len(role.status.pods) >= role.status.size for role in job.live)
    if _counts_twice(job) or made or left <= timedelta():
        return _withdrawn(job)
    return _removed(job, [pod for pod in job.provisioning.pods if not pod.node]), left


def _is_bound(role: Role) -> bool:
    return sum(bool(pod.node) for pod in role.status.pods) >= role.status.size


def _counts_twice(job: TrainingJob) -> bool:
    """Whether a quota counts both a provisional pod and the pods that come in its place."""
    counted = {charge[:2] for role in job.roles for charge in role.template.charges}
    return any(charge[:2] in counted for pod in job.provisioning.pods for charge in pod.charges)


def _overlap_left(job: TrainingJob, now: datetime) -> timedelta:
    """For how long provisional pods may stand beside the pods of their job."""
    return _until(job, now, provisional_pods.OVERLAP)


def _until(job: TrainingJob, now: datetime, limit: timedelta) -> timedelta:
    return limit - (now - job.started_at) if job.started_at else timedelta()


def _removed(
    job: TrainingJob, pods: Sequence[ProvisionalPod], requests: Sequence[CapacityRequest] = ()
) -> tuple[Step, ...]:
    writes = (*_deletions(job, pods), *capacity_requests.deletions(job, requests))
    return (Step(job.key, writes),) if writes else ()


def _deletions(job: TrainingJob, pods: Sequence[ProvisionalPod]) -> Iterator[Delete]:
    return (Delete(ObjectRef("Pod", job.key.namespace, pod.name), uid=pod.uid) for pod in pods)
