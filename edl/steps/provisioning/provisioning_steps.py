"""Creates and deletes provisional pods and ProvisioningRequests in one round.

Provisional pods are deleted before kube-scheduler may bind the job's own pods: before the start or
the larger size, or for gated roles once all pods exist behind the gate. kube-scheduler must not
preempt a provisional pod for its own job: if the victim is deleted meanwhile, the preemptor stays
Pending for minutes (kubernetes/kubernetes#141694). A provisioned request stays until the job's pods
are bound, because its nodes are reserved for them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from edl import contract, reasons
from edl.annotations import failed_attempts
from edl.annotations.json_text import json_text
from edl.model import (
    CapacityRequest,
    ClusterState,
    Code,
    JobKey,
    ObjectRef,
    ProvisionalPod,
    Role,
    TrainingJob,
)
from edl.planner.plan import Plan, ProvisioningRequest, Resize
from edl.steps.preconditioned_patches import job_event, job_patch, reason_annotations
from edl.steps.provisioning import capacity_requests, provisional_pods
from edl.steps.step_collector import DueSteps, StepCollector
from edl.writes import Action, Delete, Step

MAX_CREATED_PODS: Final = 100
"""Most provisional pods that are created for one job in one round."""
BINDING: Final = timedelta(minutes=2)
"""Within this time of a start its pods should be bound; then the request is deleted anyway."""
_NEXT: Final = timedelta(seconds=1)


def add_steps(collector: StepCollector, plan: Plan, state: ClusterState) -> None:
    """Adds steps of jobs that request nodes, or have requested some."""
    requests = {request.job: request for request in plan.requests}
    starts = {entry.job for entry in plan.admissions}
    stopped = {entry.job for entry in plan.suspensions}
    now = state.observed_at
    for job in state.jobs:
        if job.key in plan.unprovisioned:
            collector.add(job.key, _give_up, job, now)
        elif job.key in stopped and job.provisioning.requests:
            # The provisioned nodes are in use by now; a later start needs a new request.
            collector.add(job.key, _withdraw, job)
        elif job.key in requests:
            request = _without_moved(job, requests[job.key], plan)
            collector.add(job.key, _create_missing, job, request)
        elif not job.suspended and job.provisioning.has_requests:
            collector.add(job.key, _delete_replaced, job, now)
        elif job.key not in starts and job.provisioning.has_requests:
            collector.add(job.key, _withdraw, job)
    collector.extend(_orphan_deletions(state))


def _without_moved(
    job: TrainingJob, request: ProvisioningRequest, plan: Plan
) -> ProvisioningRequest:
    """The request without the provisional pods whose place a drained pod takes in this plan."""
    begun = job.leaving.pods if job.leaving else frozenset[str]()
    moved = {
        drain.role: len({*drain.pods} - begun)
        for drain in plan.drains
        if drain.job == job.key and drain.reason.code is Code.NODE_UNSCHEDULABLE
    }
    pods = ((role, max(count - moved.get(role, 0), 0)) for role, count in request.pods)
    return replace(request, pods=tuple(pods)) if moved else request


def _orphan_deletions(state: ClusterState) -> Iterator[Step]:
    """Deletes provisional pods and requests of training jobs that were released or deleted."""
    for target, uid in state.orphans:
        yield Step(JobKey(target.namespace, target.name), (Delete(target, uid=uid),))


def _create_missing(job: TrainingJob, request: ProvisioningRequest) -> DueSteps:
    """Creates what is missing, and deletes surplus objects and those of the other kind."""
    if request.by_request is None:
        steps, again = _create_missing_pods(job, request)
        return DueSteps((*_deletion_steps(job, (), job.provisioning.requests), *steps), again)
    named = capacity_requests.name(job, request, request.by_request) if request.pods else ""
    others = [entry for entry in job.provisioning.requests if entry.name != named]
    removed = _deletion_steps(job, job.provisioning.pods, others)
    if not named or len(others) < len(job.provisioning.requests):
        return DueSteps(removed)
    creates = capacity_requests.creations(job, named, request, request.by_request)
    return DueSteps((*removed, Step(job.key, tuple(creates), starts=True, part=named)))


def _create_missing_pods(job: TrainingJob, request: ProvisioningRequest) -> DueSteps:
    """One step per created pod, and one for deletions."""
    wanted, expected, steps = dict(request.pods), set[str](), list[Step]()
    for role in job.live:
        there = {pod.name: pod for pod in job.provisioning.pods if pod.role == role.name}
        names = _names(job, role, there, wanted.get(role.name, 0))
        expected.update(names)
        creates = (
            provisional_pods.create(job, role, name, request) for name in names if name not in there
        )
        # A refusal by the API server counts as a refused start: it is recorded and backs off.
        steps += [
            Step(job.key, (create,), starts=job.suspended, part=create.target.name)
            for create in creates
        ]
    surplus = [pod for pod in job.provisioning.pods if pod.name not in expected and not pod.gone]
    again = _NEXT if len(steps) > MAX_CREATED_PODS else None
    return DueSteps((*_deletion_steps(job, surplus), *steps[:MAX_CREATED_PODS]), again)


def _names(
    job: TrainingJob, role: Role, there: Mapping[str, ProvisionalPod], count: int
) -> list[str]:
    """The names of the `count` provisional pods that a role should have, existing or new.

    Existing ones come first. Ended pods are kept and count against new ones: if a kubelet rejects
    every pod, neither may pods be created without end, nor may the timeout start anew.
    """
    prefix = provisional_pods.prefix(job, role)
    ordered = job.provisioning.in_order(role.name, queued=job.suspended)
    alive = [pod for pod in ordered if pod.name.startswith(prefix)]
    every = (f"{prefix}{index}" for index in range(count + len(there)))
    free = [name for name in every if name not in there]
    ended = sum(pod.gone for pod in there.values())
    return [*(pod.name for pod in alive), *free[: max(2 * count - ended, 0)]][:count]


def _withdraw(job: TrainingJob) -> DueSteps:
    """Deletes everything that requests nodes for the job."""
    return DueSteps(_deletion_steps(job, job.provisioning.pods, job.provisioning.requests))


def _give_up(job: TrainingJob, now: datetime) -> DueSteps:
    """Records on the first Job that nodes did not join in time, then deletes the request."""
    asked, role = job.provisioning, job.roles[0]
    failure = failed_attempts.failed(asked.failure, asked.message, now)
    reason = reasons.not_provisioned(failure.message)
    annotations: dict[str, str | None] = {contract.PROVISIONING_FAILED: json_text(failure)}
    explained = reason_annotations(reason)
    patch = job_patch(job.key, role, {}, annotations | explained)
    event = job_event(job.key, role, Action.WAITING, reason)
    deletions = (*_deletions(job, asked.pods), *capacity_requests.deletions(job, asked.requests))
    return DueSteps((Step(job.key, (patch, *deletions), (event,)),))


def removed_at_start(job: TrainingJob) -> tuple[Delete, ...]:
    """Deletions that precede a job's start, in the same step.

    Bound provisional pods of gated roles stay until the role's pods exist. Unbound ones and pending
    requests hold no capacity, and an autoscaler would still add nodes for them.
    """
    gated = {role.name for role in job.live if role.template.gated}
    pods, provisioned = job.provisioning.pods, job.provisioning.provisioned
    others = [request for request in job.provisioning.requests if request is not provisioned]
    return (
        *_deletions(job, [pod for pod in pods if not pod.node or pod.role not in gated]),
        *capacity_requests.deletions(job, others),
    )


def removed_after_start(job: TrainingJob) -> tuple[Delete, ...]:
    """Deletions that follow a job's start, in the same step, if a quota counts both kinds of pods.

    They come last, so that the capacity is still held if the start fails with a conflict.
    """
    if not _counts_twice(job):
        return ()
    before = {write.target for write in removed_at_start(job)}
    return tuple(one for one in _deletions(job, job.provisioning.pods) if one.target not in before)


def removed_at_growth(job: TrainingJob, resizes: Iterable[Resize]) -> tuple[Delete, ...]:
    """Deletions that precede a larger size, in the same step, of pods that replicas replace."""
    gated = {role.name for role in job.live if role.template.gated}
    pods: list[ProvisionalPod] = []
    for resize in resizes:
        more = max(resize.after - resize.before, 0)
        if more and resize.role not in gated:
            there = job.provisioning.in_order(resize.role, queued=False)
            pods += [pod for pod in there if pod.node][-more:]
    return (*_deletions(job, pods),)


def holds_nodes(job: TrainingJob, now: datetime) -> bool:
    """Whether bound provisional pods still exist, for whose deletion a started job's pods wait."""
    there = any(pod.node and not pod.gone for pod in job.provisioning.pods)
    return there and _overlap_left(job, now) > timedelta()


def _delete_replaced(job: TrainingJob, now: datetime) -> DueSteps:
    """Deletions for a started job: provisional pods once all of its own pods exist.

    Requests are deleted once its pods are bound. If a quota counts both kinds of pods, provisional
    pods are deleted at once, as the job's own pods could not be created.
    """
    left, requests = _overlap_left(job, now), job.provisioning.requests
    if requests and not job.provisioning.pods:
        bound = _until(job, now, BINDING)
        waits = bound > timedelta() and not all(map(_is_bound, job.live))
        return DueSteps((), bound) if waits else DueSteps(_deletion_steps(job, (), requests))
    made = all(len(role.replicas) >= role.status.size for role in job.live)
    if _counts_twice(job) or made or left <= timedelta():
        return _withdraw(job)
    return DueSteps(
        _deletion_steps(job, [pod for pod in job.provisioning.pods if not pod.node]), left
    )


def _is_bound(role: Role) -> bool:
    return sum(bool(pod.node) for pod in role.replicas) >= role.status.size


def _counts_twice(job: TrainingJob) -> bool:
    """Whether a quota counts both a provisional pod and the pods that replace it."""
    counted = {charge[:2] for role in job.roles for charge in role.template.charges}
    return any(charge[:2] in counted for pod in job.provisioning.pods for charge in pod.charges)


def _overlap_left(job: TrainingJob, now: datetime) -> timedelta:
    """How much longer provisional pods may exist beside the pods of their job."""
    return _until(job, now, provisional_pods.OVERLAP)


def _until(job: TrainingJob, now: datetime, limit: timedelta) -> timedelta:
    return limit - (now - job.started_at) if job.started_at else timedelta()


def _deletion_steps(
    job: TrainingJob, pods: Sequence[ProvisionalPod], requests: Sequence[CapacityRequest] = ()
) -> tuple[Step, ...]:
    writes = (*_deletions(job, pods), *capacity_requests.deletions(job, requests))
    return (Step(job.key, writes),) if writes else ()


def _deletions(job: TrainingJob, pods: Sequence[ProvisionalPod]) -> Iterator[Delete]:
    return (Delete(ObjectRef("Pod", job.key.namespace, pod.name), uid=pod.uid) for pod in pods)
