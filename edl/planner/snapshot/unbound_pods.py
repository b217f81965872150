"""Pods without a node, by class: which of them are bound soon, come late, or come back."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from edl.lost_pods import has_lost_any
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.existing_placements import is_lost
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation, Unscheduled, by_job


def pending_ungated_pods(snapshot: Snapshot) -> Counter[PodClass]:
    """Pods that kube-scheduler has yet to bind, by class.

    Those that do not come soon (`_comes_soon`) wait for capacity, and are left out.
    """
    coming: Counter[PodClass] = Counter()
    for allocation in snapshot.unsettled:
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


class PlannedRestart(NamedTuple):
    """A job that the plan stops to resize it.

    All its pods leave their nodes, and come back to those of the plan once the last one has ended.
    """

    resized: Sequence[RoleAllocation]
    """Its roles that get another size."""
    gated: Sequence[RoleAllocation]
    """All its roles whose pods come back to nodes of the plan."""

    @property
    def pods(self) -> Counter[PodClass]:
        """The pods that come back, by class."""
        pods: Counter[PodClass] = Counter()
        for allocation in self.gated:
            pods[allocation.pod_class] += sum(
                placement.node != NO_NODE for placement in allocation.placements
            )
        return +pods

    @property
    def may_wait(self) -> bool:
        """Whether it restarts for growth alone, which nothing needs now."""
        return all(allocation.growth > 0 and not allocation.reason for allocation in self.resized)


def planned_restarts(snapshot: Snapshot) -> list[PlannedRestart]:
    """The jobs that restart by this plan to be resized."""
    resized = by_job(
        allocation
        for allocation in snapshot.allocations
        if allocation.changed
        and allocation.restarts_to_resize
        and not allocation.starts
        and allocation.planned_size != allocation.role.status.size
    )
    if not resized:
        return []
    gated = by_job(role for role in snapshot.allocations if role.role.template.gated)
    by_key = {roles[0].job.key: roles for roles in gated}
    return [PlannedRestart(roles, by_key.get(roles[0].job.key, ())) for roles in resized]


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
