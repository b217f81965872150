"""Needed and unneeded nodes (cluster-autoscaler's words): extras do not keep a node alive.

A node is needed by a replica that is not an extra, and by a pod of another owner that is not of a
DaemonSet. A node that no autoscaler may remove, or has not removed for long (`REMOVED_WITHIN`), may
be used like a needed one.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final

import numpy as np

from edl.contract import NODE_POOL
from edl.feasibility.eligibility import Ints, Mask
from edl.model import JobKey, Node
from edl.planner.decision_limits import GrowthMode
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.existing_placements import is_lost
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.spec.allowed_sizes import manual_size

REMOVED_WITHIN: Final = timedelta(minutes=20)
"""A node that still exists this long after its extras had to leave counts as never removed.

cluster-autoscaler takes 10 min by itself, and looks every 10 s.
"""


def only_needed(snapshot: Snapshot) -> bool:
    """Whether extras may run only on needed nodes."""
    mode = snapshot.limits.growth
    return mode is GrowthMode.NEEDED_NODES or (
        mode is GrowthMode.AUTOSCALER and snapshot.autoscaled
    )


def required(allocation: RoleAllocation) -> int:
    """The number of replicas, from the first, that need their nodes; the others are extras."""
    if not allocation.resizable or allocation.hold.nearly_done:
        return allocation.size
    return max(allocation.min_replicas, allocation.role.spec.min, manual_size(allocation.role) or 0)


def unneeded(snapshot: Snapshot, others: Ints) -> Mask:
    """The removable nodes that are not needed, by the current snapshot; bool[nodes].

    `others`: the number of other pods that need each node; int64[nodes].
    """
    free = _removable(snapshot) & (others <= 0)
    for allocation in snapshot.allocations:
        # kube-scheduler and autoscalers see no lost pod; capacity may be reserved for it.
        lost = {replica.position for replica in allocation.unscheduled if is_lost(replica)}
        for position, placement in enumerate(allocation.placements[: required(allocation)]):
            if placement.node != NO_NODE and position not in lost:
                free[placement.node] = False
    return free


def given_up(snapshot: Snapshot) -> Mask:
    """Nodes that no autoscaler has removed although they have been unneeded for long."""
    return _unneeded_for(snapshot, snapshot.limits.idle_node_after + REMOVED_WITHIN)


def overdue(snapshot: Snapshot) -> Mask:
    """Nodes unneeded for so long that extras leave them, without `given_up` ones; bool[nodes]."""
    return _unneeded_for(snapshot, snapshot.limits.idle_node_after) & ~given_up(snapshot)


def _unneeded_for(snapshot: Snapshot, wait: timedelta) -> Mask:
    times, elapsed = snapshot.state.unneeded_since, snapshot.clock.elapsed_or_recheck
    return _mask(snapshot, {name for name, since in times if elapsed(since, wait)})


def _removable(snapshot: Snapshot) -> Mask:
    """Nodes that an autoscaler may remove: those of Karpenter's pools if it has any, else all."""
    nodes = snapshot.state.nodes
    pooled = bool(snapshot.state.node_pools) or any(_is_pooled(node) for node in nodes)
    names = {node.name for node in nodes if not node.kept and (_is_pooled(node) or not pooled)}
    return _mask(snapshot, names)


def _is_pooled(node: Node) -> bool:
    return NODE_POOL in (node.labels or {})


def others(snapshot: Snapshot) -> Ints:
    """The number of other owners' and provisional pods that need each node; int64[nodes]."""
    ours = Counter(
        pod.node
        for job in snapshot.all_jobs
        for role in job.roles
        for pod in role.status.pods
        if pod.node and pod.active
    )
    evictable_pods = {node.name: node.evictable_pods for node in snapshot.state.nodes}
    return np.array(
        [evictable_pods[name] - ours[name] for name in snapshot.capacity.node_names], dtype=np.int64
    )


def provisional(snapshot: Snapshot, kept_pods: Mapping[JobKey, Mapping[str, int]]) -> Ints:
    """The number of provisional pods on each node, without those that requests keep.

    `kept`: the number of pods that are kept, by job and role.
    """
    per_node: Ints = np.zeros(len(snapshot.capacity.index), dtype=np.int64)
    for job in snapshot.all_jobs:
        counts = kept_pods.get(job.key, {})
        for role in {pod.role for pod in job.provisioning.pods}:
            ordered = job.provisioning.in_order(role, queued=job.suspended)
            for pod in ordered[counts.get(role, 0) :]:
                if (node := snapshot.capacity.index.get(pod.node)) is not None:
                    per_node[node] += 1
    return per_node


def _mask(snapshot: Snapshot, names: Iterable[str]) -> Mask:
    mask = np.zeros(len(snapshot.capacity.index), dtype=np.bool_)
    index = snapshot.capacity.index
    mask[[index[name] for name in names if name in index]] = True
    return mask
