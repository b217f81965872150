"""A gang: the suspended roles of a training job, which start together or not at all."""

from collections.abc import Hashable, Iterator, Sequence
from datetime import timedelta
from itertools import chain
from typing import Final

import msgspec
from msgspec.structs import replace

from edl import reasons
from edl.contract import JOB_TRACKING
from edl.job_state import last_changes
from edl.model import Domain, Pod, PodPhase, Reason, ResizePolicy, Role, TrainingJob
from edl.model.role_specs import DEFAULT_GRACE
from edl.planner.packing.placement import DONE, Placement
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.growth_gates import cool_down_after_restart
from edl.planner.snapshot.quota_balance import NOT_COUNTED, QuotaRequest
from edl.planner.snapshot.restart_backoff import failed_starts
from edl.planner.snapshot.role_allocation import ROLES_PER_JOB, RoleAllocation
from edl.spec.allowed_sizes import (
    is_finishing,
    manual_size,
    pods_at,
    start_size,
    with_unended,
    with_work,
)

_YIELDING: Final = timedelta(minutes=1)
"""Jobs yield to a gang no earlier than this before pods of its earlier start end at the latest."""


class Gang(msgspec.Struct, frozen=True):
    """`roles` and `requests` have the same order, the hardest to place first."""

    job: TrainingJob
    roles: tuple[Role, ...]
    requests: tuple[PodSetRequest, ...]
    is_restarting: bool = False
    """It was stopped to resize, and its roles start at the sizes that they have now."""
    quota_request: QuotaRequest = NOT_COUNTED
    """What the whole gang counts in quotas."""
    domains: tuple[Domain, ...] = ()
    """Topology domains that its pods are restricted to."""

    @property
    def pods(self) -> int:
        return sum(request.pods for request in self.requests)

    @property
    def partial(self) -> bool:
        """Whether other roles of the job are started already."""
        return len(self.roles) < len(self.job.live)

    @property
    def failed_before(self) -> bool:
        """Whether its last start failed."""
        return failed_starts(self.roles) > 0

    @property
    def preemptor(self) -> last_changes.JobReference | None:
        """The job for which it was preempted, or None."""
        for role in self.roles:
            if reference := last_changes.preempted_for(role):
                return reference
        return None

    @property
    def stop_reason(self) -> Reason | None:
        """Why it was stopped to resize, or None."""
        return next(
            (role.record.last for role in self.roles if last_changes.stopped_to_resize(role)), None
        )

    @property
    def reason(self) -> Reason:
        if self.stop_reason:
            return reasons.restarted(self.stop_reason)
        manual = any(manual_size(role) is not None for role in self.roles)
        started = reasons.started(self.pods, manual=manual)
        return replace(started, failed_starts=failed_starts(self.roles))

    @property
    def signature(self) -> Hashable:
        """Equal for gangs whose searches for capacity have the same result and reason.

        It holds everything that decides whether a gang fits, except what it may reclaim. A gang
        whose last start failed preempts no other gang, nor does one that may not preempt.
        """
        names = tuple(role.name for role in self.roles)
        costs = self.quota_request.amounts
        stops_none = self.failed_before or not self.job.preempts
        return self.requests, names, costs, stops_none, self.job.topology


def gang_to_start(snapshot: Snapshot, job: TrainingJob, *, returns: bool = False) -> Gang:
    """The gang of a job's suspended roles, at their start sizes.

    `returns`: at the sizes for which the job was stopped.
    """
    roles = [role for role in job.live if role.status.suspended]
    sizes = [(role, pods_at(role, _size(role, returns=returns))) for role in roles]
    pairs = [
        (role, PodSetRequest(snapshot.pod_class(role.template.shape), pods)) for role, pods in sizes
    ]
    if len(pairs) > 1:
        pairs.sort(key=lambda pair: _placing_order(snapshot, pair[1].pod_class))
    pods = [(role, request.pods) for role, request in pairs]
    roles, requests = [role for role, _ in pairs], [request for _, request in pairs]
    quota_request = snapshot.quotas.request_of(job, pods)
    return Gang(job, tuple(roles), tuple(requests), returns, quota_request)


def is_restarting(snapshot: Snapshot, job: TrainingJob) -> bool:
    """Whether this job was stopped to resize, no longer ago than the gang limit.

    The limit is longer by what its pods may take to end beyond the usual grace period.
    """
    grace = max((role.template.grace_period for role in job.live), default=DEFAULT_GRACE)
    longer = max(grace - DEFAULT_GRACE, timedelta())
    clock, limit = snapshot.clock, snapshot.limits.gang_limit + longer
    return any(
        role.status.suspended
        and last_changes.stopped_to_resize(role)
        and not clock.elapsed_or_recheck(role.record.resized_at, limit)
        for role in job.live
    )


def _size(role: Role, *, returns: bool) -> int:
    return _size_of_return(role) if returns else start_size(role)


def _size_of_return(role: Role) -> int:
    """The size for which the role was stopped, within its bounds and a smaller manual size."""
    wanted, size = manual_size(role), min(max(role.status.size, role.spec.min), role.spec.max)
    return with_unended(role, size if wanted is None else min(wanted, size))


def _placing_order(snapshot: Snapshot, pod_class: PodClass) -> tuple[bool, float]:
    """Sort key: the largest pods are placed first (first fit decreasing).

    By the largest fraction of the cluster, over resources. Pods with affinity to others come last.
    """
    totals = snapshot.capacity.totals
    shares = (amount / (totals[row] or 1) for row, amount in pod_class.amounts)
    return pod_class.follows_others, -max(shares, default=0.0)


def admit_roles(
    snapshot: Snapshot, gang: Gang, placed: Sequence[Sequence[int]]
) -> list[RoleAllocation]:
    """The allocations of a gang that starts in this plan; they may grow in the same plan."""
    allocations = []
    numbers = {role.name: number for number, role in enumerate(gang.job.roles)}
    for role, request, nodes in zip(gang.roles, gang.requests, placed, strict=True):
        rank = snapshot.queue_ranks[gang.job.key] * ROLES_PER_JOB + numbers[role.name]
        allocation = RoleAllocation(gang.job, role, rank, request.pod_class)
        allocation.placements = [Placement(node, holds_idle=True, is_new=True) for node in nodes]
        allocation.created = len(nodes)
        _add_ended_ranks(gang, allocation)
        allocation.min_replicas = allocation.size
        allocation.max_replicas = _most_at_start(gang, role, allocation.size)
        allocation.starts = True
        allocation.quota_request = snapshot.quotas.pod_request(gang.job, role)
        if gang.is_restarting:
            cool_down_after_restart(snapshot, allocation)
        allocations.append(allocation)
    return allocations


def _add_ended_ranks(gang: Gang, allocation: RoleAllocation) -> None:
    """Insert the replicas that get no pod, by their indexes."""
    # Fast path: most roles have none.
    if ended := allocation.role.ended_ranks:
        size = _size(allocation.role, returns=gang.is_restarting)
        for index in sorted(ended)[: max(size - allocation.size, 0)]:
            allocation.placements.insert(index, DONE)


def _most_at_start(gang: Gang, role: Role, size: int) -> int:
    if role.request.replicas is not None or role.spec.resizing is ResizePolicy.FIXED:
        # A manual size that was raised during the restart applies at once, if it fits.
        return start_size(role) if last_changes.stopped_for_manual_size(role) else size
    # A job stopped for a size has grown to it or yielded replicas: more would be taken again.
    returns = gang.stop_reason or is_finishing(role)
    most = min(role.status.size, role.spec.max) if returns else role.spec.max
    return max(size, with_work(role, most))


def has_previous_pods(snapshot: Snapshot, gang: Gang) -> bool:
    """Whether pods of an earlier start still use nodes, or the Job controller has to count them.

    Those that it counts after the start would count as lost since then.
    """
    return any(_previous_pods(snapshot, gang)) or any(_uncounted_pods(snapshot, gang))


def holds_nodes(snapshot: Snapshot, gang: Gang) -> bool:
    """Whether pods of an earlier start use nodes for so long that none should yield yet.

    One that is not deleted yet has all of its grace period left.
    """
    now, grace = snapshot.clock.now, max(role.template.grace_period for role in gang.job.roles)
    ends = (
        pod.deletion.due_at if pod.terminating else now + grace
        for pod in _previous_pods(snapshot, gang)
    )
    last = max(filter(None, ends), default=None)
    return last is not None and not snapshot.clock.elapsed_or_recheck(last, -_YIELDING)


def why_unreserved(snapshot: Snapshot, gang: Gang) -> Reason | None:
    """The reason for which a gang reserves nothing while it waits for previous pods, or None.

    Pods may never terminate. Those of a deleted Job that the garbage collector is yet to delete do
    not count as releasing their capacity.
    """
    if any(map(snapshot.is_stuck, _previous_pods(snapshot, gang))):
        return reasons.PODS_STUCK
    if any(not pod.terminating for pod in _of_deleted_jobs(snapshot, gang)):
        return reasons.PODS_TERMINATING
    return None


def _previous_pods(snapshot: Snapshot, gang: Gang) -> Iterator[Pod]:
    """Pods of an earlier start that use nodes, also of deleted Jobs of the training job.

    Terminating pods on a node that is not ready, or gone, do not count: they may never be deleted.
    On a cordoned node they still run, and write their checkpoint.
    """
    own_pods = (pod for role in gang.roles for pod in role.status.pods)
    return (
        pod
        for pod in chain(own_pods, _of_deleted_jobs(snapshot, gang))
        if pod.node
        and not pod.ended
        and not (pod.terminating and pod.node not in snapshot.ready_nodes)
    )


def _uncounted_pods(snapshot: Snapshot, gang: Gang) -> Iterator[Pod]:
    """Failed pods that their Job controller is yet to count, within `loss_patience` of the stop."""
    clock, limit = snapshot.clock, snapshot.limits.loss_patience
    for role in gang.roles:
        stopped = role.status.suspended_at or role.record.resized_at
        for pod in role.status.pods if stopped else ():
            counts = pod.phase is PodPhase.FAILED and JOB_TRACKING in (
                pod.deletion.finalizers or ()
            )
            if counts and not clock.elapsed_or_recheck(stopped, limit):
                yield pod


def _of_deleted_jobs(snapshot: Snapshot, gang: Gang) -> Iterator[Pod]:
    """Pods of deleted Jobs of the training job.

    Those that are not terminating count for `gang_limit` after the creation of its Jobs: their own
    Job may exist, without our labels.
    """
    created = (role.created_at for role in gang.roles)
    since = max(filter(None, created), default=gang.job.queued_at)
    clock, limit = snapshot.clock, snapshot.limits.gang_limit
    for role in gang.job.roles:
        for pod in role.previous_pods:
            if pod.terminating or not clock.elapsed_or_recheck(since, limit):
                yield pod
