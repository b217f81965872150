"""What a round makes and takes away of provisional pods.

Those of a job that is started stay until its pods are there: kube-scheduler places these before
pods of a lower priority, so nothing comes between. Where a quota counts both they go at the start.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeAlias

from edl import contract, reasons
from edl.annotations import provisioning_failures
from edl.model import ClusterState, JobKey, ObjectRef, ProvisionalPod, Role, TrainingJob
from edl.planner.plan import Plan, ProvisioningRequest
from edl.steps import preconditioned_patches
from edl.steps.provisioning import provisional_pods
from edl.writes import Action, Delete, Step

MOST_CREATED: Final = 100
"""Pods that are made for one job in one round."""
_NEXT: Final = timedelta(seconds=1)
_Round: TypeAlias = tuple[tuple[Step, ...], timedelta | None]
"""Steps of one job, and when to look again though nothing may have changed."""


def rounds(plan: Plan, state: ClusterState) -> Iterable[tuple[JobKey, Callable[[], _Round]]]:
    """What makes the steps of each job that asks for nodes, or has asked."""
    requests = {request.job: request for request in plan.requests}
    starts = {entry.job for entry in plan.admissions}
    now = state.observed_at
    for job in state.jobs:
        if job.key in plan.unprovisioned:
            yield job.key, partial(_given_up, job, now)
        elif not job.suspended and job.provisioning.pods:
            yield job.key, partial(_replaced, job, now)
        elif job.key in starts and job.provisioning.pods:
            yield job.key, partial(_starting, job)
        elif job.key in requests:
            yield job.key, partial(_asked, job, requests[job.key])
        elif job.provisioning.pods:
            yield job.key, partial(_withdrawn, job)


def orphaned(state: ClusterState) -> Iterator[Step]:
    """What deletes provisional pods of training jobs that were released, or are not there."""
    for pod, uid in state.orphans:
        yield Step(JobKey(pod.namespace, pod.name), (Delete(pod, uid=uid),))


def _asked(job: TrainingJob, request: ProvisioningRequest) -> _Round:
    """Makes the pods that are missing, a step each, and takes away those that are too many."""
    wanted, kept, steps = dict(request.pods), set[str](), list[Step]()
    for role in job.live:
        there = {pod.name: pod for pod in job.provisioning.pods if pod.role == role.name}
        names = _names(job, role, there, wanted.get(role.name, 0))
        kept.update(names)
        creates = (
            provisional_pods.create(job, role, name, request) for name in names if name not in there
        )
        # While the API server refuses them, its start has no nodes: that is said, and backs off.
        steps += [Step(job.key, (create,), starts=True) for create in creates]
    surplus = [pod for pod in job.provisioning.pods if pod.name not in kept and not pod.gone]
    again = _NEXT if len(steps) > MOST_CREATED else None
    return (*_removed(job, surplus), *steps[:MOST_CREATED]), again


def _names(
    job: TrainingJob, role: Role, there: Mapping[str, ProvisionalPod], count: int
) -> list[str]:
    """As many as are wanted, there or not: those with a node first, then by index.

    Those that have ended stay and count: what ends all of them, a kubelet that rejects them, must
    neither make pods without end nor begin the time-out anew.
    """
    name = provisional_pods.naming(job, role)
    every = [name(index) for index in range(count + len(there))]
    alive = [found for found in every if found in there and not there[found].gone]
    alive.sort(key=lambda found: not there[found].node)
    free = [found for found in every if found not in there]
    ended = sum(pod.gone for pod in there.values())
    return [*alive, *free[: max(2 * count - ended, 0)]][:count]


def _withdrawn(job: TrainingJob) -> _Round:
    """It asks for nothing any more."""
    return _removed(job, job.provisioning.pods), None


def _given_up(job: TrainingJob, now: datetime) -> _Round:
    """Nodes did not come: its first Job says so, and since when; then the pods go."""
    asked, role = job.provisioning, job.roles[0]
    failure = provisioning_failures.failed(asked.failure, asked.said, now)
    reason = reasons.not_provisioned(failure.message)
    annotations: dict[str, str | None] = {
        contract.PROVISIONING_FAILED: provisioning_failures.text(failure)
    }
    said = preconditioned_patches.told(reason)
    patch = preconditioned_patches.job(job.key, role, {}, annotations | said)
    note = preconditioned_patches.note(job.key, role, Action.WAITING, reason)
    return (Step(job.key, (patch, *_deletions(job, asked.pods)), (note,)),), None


def _starting(job: TrainingJob) -> _Round:
    """Those that hold no room go at once: an autoscaler would still make nodes for them."""
    pods = [pod for pod in job.provisioning.pods if not pod.node]
    return _removed(job, pods), None


def _replaced(job: TrainingJob, now: datetime) -> _Round:
    """Of a job that is started: its own pods come in their place."""
    left = provisional_pods.OVERLAP - (now - job.started_at) if job.started_at else timedelta()
    counted = any(role.template.charges for role in job.roles)
    if counted or left <= timedelta() or all(map(_is_made, job.live)):
        return _withdrawn(job)
    return _starting(job)[0], left


def _is_made(role: Role) -> bool:
    """Whether kube-scheduler knows all of its pods."""
    return len(role.status.pods) >= role.status.size and not any(
        pod.unplaced for pod in role.status.pods
    )


def _removed(job: TrainingJob, pods: Sequence[ProvisionalPod]) -> tuple[Step, ...]:
    writes = tuple(_deletions(job, pods))
    return (Step(job.key, writes),) if writes else ()


def _deletions(job: TrainingJob, pods: Sequence[ProvisionalPod]) -> Iterator[Delete]:
    return (Delete(ObjectRef("Pod", job.key.namespace, pod.name), uid=pod.uid) for pod in pods)
