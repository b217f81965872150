"""Pods without a node, by class: which of them are bound soon or come late."""

from collections import Counter
from collections.abc import Iterable

from edl.job_state.lost_pods import has_lost_any
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.placement import Unscheduled
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.existing_placements import is_lost
from edl.planner.snapshot.role_allocation import RoleAllocation


def pending_ungated_pods(
    snapshot: Snapshot, allocations: Iterable[RoleAllocation]
) -> Counter[PodClass]:
    """Pods of these roles that kube-scheduler has yet to bind, by class.

    Those that do not come soon (`_comes_soon`) wait for capacity, and are left out.
    """
    coming: Counter[PodClass] = Counter()
    for allocation in allocations:
        coming[allocation.pod_class] += sum(
            not _is_placed(allocation, replica) and _comes_soon(snapshot, allocation, replica)
            for replica in allocation.unscheduled
        )
    return +coming


def pending_gated_pods(snapshot: Snapshot) -> Counter[PodClass]:
    """Gated pods on idle capacity that do not exist yet or are not bound, by class.

    Those that do not come soon are left out: their capacity stays reserved, but nothing waits.
    """
    coming: Counter[PodClass] = Counter()
    for allocation in snapshot.allocations:
        if allocation.role.template.gated and (allocation.starts or allocation.unscheduled):
            left = {
                replica.position
                for replica in allocation.unscheduled
                if not (
                    _is_placed(allocation, replica) and _comes_soon(snapshot, allocation, replica)
                )
            }
            coming[allocation.pod_class] += sum(
                placement.holds_idle and placement.node != NO_NODE and position not in left
                for position, placement in enumerate(allocation.placements)
            )
    return +coming


def late_minimum_pods(snapshot: Snapshot) -> Counter[PodClass]:
    """Pods of minimums with a node that they do not take soon, by class.

    They stay pending, other pods have yet to leave the node, or the Job controller creates lost
    ones after its back-off. If growth took the node, replicas would be reclaimed again and again.
    """
    late: Counter[PodClass] = Counter()
    for allocation in snapshot.unsettled:
        placed = [
            (allocation.placements[replica.position], replica)
            for replica in allocation.unscheduled
            if allocation.needs(replica)
        ]
        late[allocation.pod_class] += sum(
            placement.node != NO_NODE
            and not (placement.holds_idle and _comes_soon(snapshot, allocation, replica))
            for placement, replica in placed
        )
    return +late


def growing_ungated(snapshot: Snapshot) -> list[RoleAllocation]:
    """Started, ungated roles for which this plan creates replicas above their minimum."""
    return [
        allocation
        for allocation in snapshot.allocations
        if allocation.changed
        and allocation.growth > 0
        and not (allocation.starts or allocation.role.template.gated)
        # A role that restarts to resize gets no pods until all of its growth fits.
        and allocation.planned_size > allocation.role.status.size
    ]


def _comes_soon(snapshot: Snapshot, allocation: RoleAllocation, replica: Unscheduled) -> bool:
    """Whether a pod has waited for scheduling for less than `pending_limit`.

    A lost pod does not: the Job controller creates it again after up to ten minutes. Another that
    is not created yet has waited since the last change of its role.
    """
    role, since = allocation.role, replica.since
    if is_lost(replica) and not has_lost_any(role):
        since = role.record.resized_at or allocation.job.started_at
    clock, limit = snapshot.clock, snapshot.limits.pending_limit
    return since is not None and not clock.elapsed_or_recheck(since, limit)


def _is_placed(allocation: RoleAllocation, replica: Unscheduled) -> bool:
    """Whether the plan chooses the replica's node.

    False for ungated roles, and for a gated role's pod that was ungated without a node, so that an
    autoscaler sees it pending.
    """
    pod = replica.pod
    return allocation.role.template.gated and (
        pod is None or pod.unplaced or bool(pod.planned.node)
    )
