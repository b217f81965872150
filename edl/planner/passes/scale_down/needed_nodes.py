"""Nodes needed by more than replicas above a minimum; such replicas do not keep a node alive.

Unneeded is cluster-autoscaler's word: a node that could be removed. A node is needed
by a pod of another owner but a DaemonSet, and by a replica that is not an extra. One that no
autoscaler removes, or that it has left standing for long, may be used as any other.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

import numpy as np

from edl.contract import NODE_POOL
from edl.feasibility.eligibility import Mask
from edl.model import Node
from edl.planner.decision_limits import GrowthMode
from edl.planner.packing.node_capacity import Ints
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation, manual_size

REMOVED_WITHIN: Final = timedelta(minutes=20)
"""A node that is there so long after its extras had to leave is not removed at all.

cluster-autoscaler takes 10 min by itself, and looks every 10 s.
"""


def only_needed(snapshot: Snapshot) -> bool:
    """Whether extras are kept to nodes that are needed anyway."""
    mode = snapshot.limits.growth
    return mode is GrowthMode.NEEDED_NODES or (
        mode is GrowthMode.AUTOSCALER and snapshot.autoscaled
    )


def required(allocation: RoleAllocation) -> int:
    """How many of its replicas, the first ones, need their nodes: the others are extras."""
    if not allocation.resizable or allocation.hold.nearly_done:
        return allocation.size
    return max(allocation.min_replicas, allocation.role.spec.min, manual_size(allocation.role) or 0)


def unneeded(snapshot: Snapshot) -> Mask:
    """The nodes that nothing needs, as the snapshot stands; bool[nodes]."""
    free = _removable(snapshot) & (_others(snapshot) <= 0)
    for allocation in snapshot.allocations:
        for placement in allocation.placements[: required(allocation)]:
            if placement.node != NO_NODE:
                free[placement.node] = False
    return free


def given_up(snapshot: Snapshot) -> Mask:
    """Nodes that their autoscaler keeps although they have been unneeded for long."""
    return _unneeded_for(snapshot, snapshot.limits.idle_node_after + REMOVED_WITHIN)


def overdue(snapshot: Snapshot) -> Mask:
    """Nodes unneeded for long enough that extras leave them, without those that were given up."""
    return _unneeded_for(snapshot, snapshot.limits.idle_node_after) & ~given_up(snapshot)


def _unneeded_for(snapshot: Snapshot, wait: timedelta) -> Mask:
    times = snapshot.state.unneeded_since
    return _mask(snapshot, {name for name, since in times if snapshot.has_passed(since, wait)})


def _removable(snapshot: Snapshot) -> Mask:
    """Where Karpenter has pools it removes their nodes; else an autoscaler may remove any."""
    nodes = snapshot.state.nodes
    pooled = snapshot.state.pooled or any(_is_pooled(node) for node in nodes)
    names = {node.name for node in nodes if not node.kept and (_is_pooled(node) or not pooled)}
    return _mask(snapshot, names)


def _is_pooled(node: Node) -> bool:
    return NODE_POOL in (node.labels or {})


def _others(snapshot: Snapshot) -> Ints:
    """How many pods of other owners keep each node; int64[nodes]."""
    ours = Counter(
        pod.node
        for job in snapshot.all_jobs
        for role in job.roles
        for pod in role.status.pods
        if pod.node and pod.active
    )
    tenants = {node.name: node.tenants for node in snapshot.state.nodes}
    return np.array(
        [tenants[name] - ours[name] for name in snapshot.capacity.node_names], dtype=np.int64
    )


def _mask(snapshot: Snapshot, names: Iterable[str]) -> Mask:
    found = np.zeros(len(snapshot.capacity.index), dtype=np.bool_)
    index = snapshot.capacity.index
    found[[index[name] for name in names if name in index]] = True
    return found
