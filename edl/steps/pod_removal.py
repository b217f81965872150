"""Removal of pods by name, e.g. because their node is about to be removed, or a GPU fails.

A smaller Job loses its highest index, never a chosen one. So the named pod is deleted, its index is
recreated on another node, and the smaller size removes the highest index. Pods are identified by
name, so a replacement is never mistaken for a named pod, even after a crash of the reconciler.
"""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from edl import contract, reasons
from edl.annotations.role_record import recorded
from edl.model import Code, JobKey, ObjectRef, Pod, Reason, Role, TrainingJob
from edl.planner.plan import Drain
from edl.steps.preconditioned_patches import job_patch, reason_annotations
from edl.writes import Delete, Patch, Write

_MOVES: Final = frozenset(
    {Code.NODE_TERMINATING, Code.NODE_UNSCHEDULABLE, Code.NODE_UNNEEDED, Code.RECLAIMED}
)
"""Reasons for which pods are recreated on other nodes at the same size."""


def with_drained_pods(job: TrainingJob, drains: Mapping[tuple[JobKey, str], Drain]) -> TrainingJob:
    """The job with the pods that the plan drains, as if its user had named them for removal."""
    if not any((job.key, role.name) in drains for role in job.roles):
        return job
    return replace(job, roles=tuple(_with_drained_pods(job, role, drains) for role in job.roles))


def _with_drained_pods(
    job: TrainingJob, role: Role, drains: Mapping[tuple[JobKey, str], Drain]
) -> Role:
    drain = drains.get((job.key, role.name))
    if not drain:
        return role
    named = role.request.removing | {*drain.pods}
    return role.changed(removing=named, drain_reason=drain.reason, clears=drain.cleared_nodes)


def pods_to_remove(role: Role) -> tuple[Pod, ...]:
    """The named pods that are still active, whether or not their removal is recorded.

    Without the last pod of a closed work queue: Kubernetes takes it as complete without one.
    """
    names, active = role.removed_by_name, [pod for pod in role.status.pods if pod.active]
    pods = [pod for pod in active if pod.name in names]
    return tuple(pods[1:] if role.queue_closed and len(pods) == len(active) else pods)


def removal_annotations(role: Role) -> dict[str, str | None]:
    """The annotations that turn names to remove into pods to delete; {} if none are named.

    The record comes before the deletions: after a crash between them, it names what is left to do.
    """
    if not role.request.removing:
        return {}
    names = frozenset(pod.name for pod in pods_to_remove(role))
    return {contract.REMOVE: None} | recorded(removed=names)


def requested_removals(role: Role) -> frozenset[str]:
    """The names for removal that pods have, which may already be terminating."""
    return role.request.removing.intersection(pod.name for pod in role.status.pods)


def deletions(job: TrainingJob, role: Role, size: int) -> tuple[Write, ...]:
    """Deletes the named pods that the new size does not remove anyway.

    The Job's tracking finalizer is removed first, so that the Job controller counts no failure: the
    removal costs no retry, and the replacement waits for no back-off (docs/kubernetes.md 19).
    """
    return tuple(
        write
        for pod in pods_to_remove(role)
        if pod.index < size or not role.spec.indexed
        for write in untracked_end(job, pod)
    )


def untracked_end(job: TrainingJob, pod: Pod) -> tuple[Write, ...]:
    """Deletes a pod so that its Job counts no failure.

    A pod that has ended meanwhile, or that the Job controller deletes, is left as it is, and does
    not end the step: the size that follows is right without it.

    The deletion has no precondition: once untracked, the pod must go whatever happens to it
    meanwhile, because its Job would not count its success either. No other pod gets its name: the
    Job controller generates names, and KubeShare recreates pods only before they are tracked.
    """
    target = ObjectRef("Pod", job.key.namespace, pod.name)
    finalizers = pod.deletion.finalizers or ()
    if contract.JOB_TRACKING not in finalizers:
        return (Delete(target, pod.version),)
    others = [name for name in finalizers if name != contract.JOB_TRACKING]
    release = Patch(
        target,
        pod.version,
        {"metadata": {"finalizers": others}},
        unless_changed={"metadata": {"finalizers": [*finalizers]}},
        optional=True,
    )
    return release, Delete(target)


def finish_interrupted_deletions(job: TrainingJob) -> tuple[Delete, ...]:
    """Deletes pods that `untracked_end` has released, and not deleted: it failed between the two.

    They would run on, whether or not this plan removes them, and their Job would not count their
    success. KubeShare's pods are not tracked before they are bound, and some of them have
    no share that plans count: pods without a node stay. The Job controller releases the indexes
    above a smaller size, too, and deletes them itself.
    """
    return tuple(
        Delete(ObjectRef("Pod", job.key.namespace, pod.name))
        for role in job.live
        if role.template.shape.share is None
        for pod in role.status.pods
        if pod.untracked and pod.active and pod.node and pod not in pods_to_remove(role)
        if pod.index < role.status.size or not role.spec.indexed
    )


def removal_reason(role: Role) -> Reason:
    """The reason of the removal: the plan's, or that the user named the pods."""
    by_user = reasons.about_pods(Code.PODS_REMOVED, requested_removals(role))
    return role.request.drain_reason or replace(by_user, failed_starts=role.record.failed_starts)


def restore_reason(job: TrainingJob, role: Role) -> tuple[Patch, ...]:
    """Restores the reason of the last resize on the Job, once all moved pods are ready again."""
    last = role.record.last
    if (
        role.record.reason not in _MOVES
        or last is None
        or last.code is role.record.reason
        or not _whole(role)
    ):
        return ()
    return (job_patch(job.key, role, {}, reason_annotations(last)),)


def _whole(role: Role) -> bool:
    return len(role.status.pods) >= role.status.size and all(
        pod.ended or _stays(pod) for pod in role.status.pods
    )


def _stays(pod: Pod) -> bool:
    """Whether a pod is ready and stays; an untracked one is being deleted by `untracked_end`."""
    return pod.ready and not pod.terminating and not pod.untracked
