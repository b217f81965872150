"""Workers that were removed from their launcher's host list count as gone.

Horovod restarts all workers whenever its list changes. So a removal that was published is carried
out even if the next plan would decide otherwise: the plan sees the role without these workers.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from edl.model import ClusterState, Leaving, Pod, Role, TrainingJob
from edl.planner.plan import Drain, Plan, Resize
from edl.spec.allowed_sizes import with_unended


def without_delisted(state: ClusterState) -> ClusterState:
    """The state without departing workers; the same object if there are none."""
    if not any(job.leaving for job in state.jobs):
        return state
    jobs = (_departed(job, job.leaving) if job.leaving else job for job in state.jobs)
    return replace(state, jobs=tuple(jobs))


def _departed(job: TrainingJob, leaving: Leaving) -> TrainingJob:
    roles = (
        _without(role, leaving) if _concerns(job, leaving, role) else role for role in job.roles
    )
    return replace(job, roles=tuple(roles))


def _concerns(job: TrainingJob, leaving: Leaving, role: Role) -> bool:
    """Whether pods of the role depart: not while the API server refuses its smaller size."""
    if role.status.ending is not None or job.refuses(role, role.status.size - 1):
        return False
    return any(pod.name in leaving.pods for pod in role.status.pods)


def _without(role: Role, leaving: Leaving) -> Role:
    """The role at its new size; departing pods below that size are terminating, to be recreated."""
    size = _size(role, leaving)
    pods = (
        replace(pod, terminating=True) if _again(pod, leaving, size) else pod
        for pod in role.status.pods
    )
    moment = max(filter(None, (role.record.resized_at, leaving.since)), default=None)
    return role.changed(size=size, pods=tuple(pods), resized_at=moment, last=leaving.reason)


def _size(role: Role, leaving: Leaving) -> int:
    """The published size, clamped to min and current size, as any user may patch the annotation."""
    return min(with_unended(role, max(leaving.size, role.spec.min)), role.status.size)


def _again(pod: Pod, leaving: Leaving, size: int) -> bool:
    return pod.name in leaving.pods and pod.index < size


def with_removals_of_delisted(plan: Plan, state: ClusterState) -> Plan:
    """The plan for a state `without_delisted`, with the resizes and deletions still needed."""
    stopped = {entry.job for entry in plan.suspensions}
    leaving_roles = [
        (job, role, job.leaving)
        for job in state.jobs
        if job.leaving and not job.problem and job.key not in stopped
        for role in job.live
        if _concerns(job, job.leaving, role)
    ]
    for job, role, leaving in leaving_roles:
        plan = _with(plan, job, role, leaving)
    return plan


def _with(plan: Plan, job: TrainingJob, role: Role, leaving: Leaving) -> Plan:
    key = (job.key, role.name)
    planned = next((resize for resize in plan.resizes if (resize.job, resize.role) == key), None)
    after = planned.after if planned else _size(role, leaving)
    reason = planned.reason if planned else leaving.reason
    resizes = [resize for resize in plan.resizes if resize is not planned]
    if after != role.status.size:
        resizes.append(Resize(job.key, role.name, role.status.size, after, reason))
    moved = [drain for drain in plan.drains if (drain.job, drain.role) == key]
    others = [drain for drain in plan.drains if drain not in moved]
    names = {name for drain in moved for name in drain.pods} | set(_to_end(role, leaving, after))
    if names:
        why = moved[0].reason if moved else leaving.reason
        others.append(Drain(job.key, role.name, tuple(sorted(names)), why))
    return replace(plan, resizes=tuple(resizes), drains=tuple(others))


def _to_end(role: Role, leaving: Leaving, after: int) -> Iterator[str]:
    """Departing pods to delete: below the new size, and not removed by name already."""
    for pod in role.status.pods:
        if _again(pod, leaving, after) and pod.name not in role.removed_by_name:
            yield pod.name
