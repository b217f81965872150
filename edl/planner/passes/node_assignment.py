"""Nodes for pods without one: the plan chooses those of gated pods, kube-scheduler all others.

A gated pod keeps the node that it was assigned. If other pods have taken its capacity there, the
pod is deleted and recreated, and this plan places the replica as if it had no pod.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Final, TypeAlias

from edl.annotations import cleared_nodes
from edl.contract import Provision
from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.model import TrainingJob
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.placement import Placement, Unscheduled, first_placement
from edl.planner.passes.admission.node_requests import is_provisionable
from edl.planner.plan import NodeAssignment
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.existing_placements import is_lost
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.snapshot.started_domains import PreferredDomains

_Search: TypeAlias = Callable[[Snapshot, RoleAllocation, Unscheduled], Placement | None]


def assign_gated_pods(snapshot: Snapshot) -> None:
    """Place gated replicas that have no node; earlier assignments come first."""
    for search in _SEARCHES:
        gated = (allocation for allocation in snapshot.unsettled if allocation.role.template.gated)
        _place(snapshot, _waiting(gated), search)


def assign_pending_pods(snapshot: Snapshot, outranked: Container[RoleAllocation]) -> None:
    """Reserve capacity for remaining replicas; kube-scheduler may bind ungated ones elsewhere.

    None for lost pods of `outranked` roles: until these are created a higher priority goes first.
    """
    waiting = _waiting(snapshot.unsettled)
    _place(
        snapshot,
        [
            (allocation, replica)
            for allocation, replica in waiting
            if not (is_lost(replica) and allocation in outranked)
        ],
        _anywhere,
    )


def assign_lost_pods(snapshot: Snapshot, allocation: RoleAllocation) -> None:
    """Reserve capacity for the lost pods of a role that was outranked."""
    lost = [(role, replica) for role, replica in _waiting([allocation]) if is_lost(replica)]
    _place(snapshot, lost, _anywhere)


def _waiting(allocations: Iterable[RoleAllocation]) -> list[tuple[RoleAllocation, Unscheduled]]:
    """Replicas without a placement, minimums first."""
    replicas = [
        (allocation, replica)
        for allocation in allocations
        for replica in allocation.unscheduled
        if replica.position < allocation.size
        and allocation.placements[replica.position].node == NO_NODE
    ]
    return sorted(replicas, key=_order)


def _place(
    snapshot: Snapshot, waiting: Iterable[tuple[RoleAllocation, Unscheduled]], search: _Search
) -> None:
    for allocation, replica in waiting:
        placement = search(snapshot, allocation, replica)
        if placement is not None:
            allocation.pod_class.at(placement.horizon).reserve(placement.node)
            allocation.assign(replica.position, placement)


def node_assignments(
    snapshot: Snapshot, allocations: Iterable[RoleAllocation]
) -> tuple[NodeAssignment, ...]:
    """Nodes of gated pods whose capacity is idle, and pods that lost their assigned node.

    The pods of a starting gang are assigned only once all pods of its minimum exist and fit.
    """
    names, assignments = snapshot.capacity.node_names, []
    gated = [
        allocation
        for allocation in allocations
        if allocation.role.template.gated and allocation.unscheduled
    ]
    short = {
        allocation.job.key
        for allocation in gated
        if _is_short(allocation) and not _has_begun(allocation.job)
    }
    for allocation in gated:
        if allocation.job.key not in short:
            nodes = tuple((pod, names[node]) for pod, node in _placed(allocation))
            nodes += tuple((pod, "") for pod in _awaiting_nodes(snapshot, allocation))
            replaced = tuple(_replaced(snapshot, allocation))
            if nodes or replaced:
                assignments.append(
                    NodeAssignment(allocation.job.key, allocation.role.name, nodes, replaced)
                )
    return tuple(assignments)


def _order(waiting: tuple[RoleAllocation, Unscheduled]) -> tuple[bool, int, float]:
    """Sort key: minimums first, then by queue; of one job the largest pods, as fewest nodes fit."""
    allocation, replica = waiting
    return (
        not allocation.needs(replica),
        allocation.queue_rank,
        -allocation.cluster_fraction,
    )


def _given(
    snapshot: Snapshot, allocation: RoleAllocation, replica: Unscheduled
) -> Placement | None:
    """On the node that is assigned to its pod."""
    node = replica.pod.planned.node if replica.pod else ""
    return _at(snapshot, allocation, node, (IDLE, FUTURE_IDLE)) if node else None


def _planned(
    snapshot: Snapshot, allocation: RoleAllocation, replica: Unscheduled
) -> Placement | None:
    """On the node that the plan of its start or growth recorded for its index."""
    node = allocation.role.record.assigned.node(replica.position)
    cleared = node in _cleared(snapshot, allocation)
    return _at(snapshot, allocation, node, (IDLE,)) if node and not cleared else None


def _near(
    snapshot: Snapshot, allocation: RoleAllocation, _replica: Unscheduled
) -> Placement | None:
    """On the node with most replicas of its role that fits, else in a preferred domain."""
    nodes = Counter(
        placement.node for placement in allocation.placements if placement.node != NO_NODE
    )
    candidates = [node for node, _ in nodes.most_common()]
    prefers = allocation.job.topology.preferred
    if prefers and (node := PreferredDomains(snapshot, allocation, IDLE).find()) != NO_NODE:
        candidates.append(node)
    return _first(snapshot, allocation, candidates)


def _elsewhere(
    snapshot: Snapshot, allocation: RoleAllocation, _replica: Unscheduled
) -> Placement | None:
    """On any node from which its role was not recently cleared, if it was cleared from some."""
    cleared = _cleared(snapshot, allocation)
    return _first(snapshot, allocation, allocation.pod_class.nodes.tolist()) if cleared else None


def _first(
    snapshot: Snapshot, allocation: RoleAllocation, nodes: Iterable[int]
) -> Placement | None:
    cleared = {snapshot.capacity.index.get(name) for name in _cleared(snapshot, allocation)}
    others = (node for node in nodes if node not in cleared)
    return first_placement(allocation.pod_class, others, (IDLE,))


def _cleared(snapshot: Snapshot, allocation: RoleAllocation) -> set[str]:
    """Nodes from which its replicas were recently moved, for a pod with few eligible nodes."""
    return {
        entry.node
        for entry in allocation.role.record.cleared
        if not snapshot.clock.elapsed_or_recheck(entry.at, cleared_nodes.REMEMBERED)
    }


def _anywhere(
    _snapshot: Snapshot, allocation: RoleAllocation, _replica: Unscheduled
) -> Placement | None:
    return first_placement(allocation.pod_class)


_SEARCHES: Final[tuple[_Search, ...]] = (_given, _planned, _near, _elsewhere)
"""Searches for nodes of gated replicas; each is tried for all of them before the next."""


def _at(
    snapshot: Snapshot, allocation: RoleAllocation, node: str, horizons: tuple[Horizon, ...]
) -> Placement | None:
    index = snapshot.capacity.index.get(node, NO_NODE)
    return None if index == NO_NODE else first_placement(allocation.pod_class, (index,), horizons)


def _is_short(allocation: RoleAllocation) -> bool:
    """Whether a replica of its minimum has no pod yet, or no idle capacity.

    Or one of its Jobs is still suspended, since each is started by its own request.
    """
    needed = [replica for replica in allocation.unscheduled if allocation.needs(replica)]
    placements = [allocation.placements[replica.position] for replica in needed]
    return (
        any(replica.pod is None for replica in needed)
        or any(not placement.holds_idle or placement.node == NO_NODE for placement in placements)
        or any(role.status.suspended for role in allocation.job.live)
    )


def _has_begun(job: TrainingJob) -> bool:
    """Whether any of its pods is bound or has an assigned node."""
    pods = (pod for role in job.live for pod in role.status.pods if pod.active)
    return any(pod.node or pod.planned.node for pod in pods)


def _placed(allocation: RoleAllocation) -> Iterator[tuple[str, int]]:
    """(pod, node) of gated pods that have a placement on idle capacity."""
    for replica in allocation.unscheduled:
        pod = replica.pod
        if pod and pod.unplaced and replica.position < allocation.size:
            placement = allocation.placements[replica.position]
            if placement.holds_idle and placement.node != NO_NODE:
                yield pod.name, placement.node


def _awaiting_nodes(snapshot: Snapshot, allocation: RoleAllocation) -> Iterator[str]:
    """Gated pods of its minimum that fit on no node, to ungate for an autoscaler.

    An autoscaler adds nodes for pending pods only, not for gated ones. kube-scheduler then binds
    them; pods with rules that it does not know (required topology, GPU shares) stay gated.
    """
    job, template = allocation.job, allocation.role.template
    if (
        snapshot.autoscaled
        and job.provisioning.provision is not Provision.NEVER
        and not job.topology.required
        and is_provisionable(template.shape)
    ):
        for replica in filter(allocation.needs, allocation.unscheduled):
            if (
                replica.pod
                and replica.pod.unplaced
                and allocation.placements[replica.position].node == NO_NODE
                and snapshot.clock.elapsed_or_recheck(replica.since, snapshot.limits.pending_limit)
            ):
                yield replica.pod.name


def _replaced(snapshot: Snapshot, allocation: RoleAllocation) -> Iterator[str]:
    """Pods that no longer fit on their assigned node."""
    for replica in allocation.unscheduled:
        pod = replica.pod
        if pod and pod.planned.node and replica.position < allocation.size:
            node = snapshot.capacity.index.get(pod.planned.node)
            if node is None or node != allocation.placements[replica.position].node:
                yield pod.name
