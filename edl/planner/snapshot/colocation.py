"""Pods of one job on the same node where possible (`Policy.colocate`)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from edl.feasibility.horizon import Horizon
from edl.planner.packing.node_capacity import NO_NODE, by_scarcest_resource
from edl.planner.packing.pack_order import reserve_nodes
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation

if TYPE_CHECKING:
    from edl.model import JobKey


class AnchorNodes:
    """The nodes of a job's indispensable pods: its servers, and index 0 of its leader role."""

    def __init__(self, allocations: Iterable[RoleAllocation]) -> None:
        self._nodes: defaultdict[JobKey, list[int]] = defaultdict(list)
        for allocation in allocations:
            spec, anchors = allocation.role.spec, self._nodes[allocation.job.key]
            count = allocation.size if spec.is_service else int(spec.is_leader)
            nodes = (placement.node for placement in allocation.placements[:count])
            anchors += [node for node in nodes if node != NO_NODE and node not in anchors]

    def last_is_elsewhere(self, allocation: RoleAllocation) -> bool:
        """Whether its last replica is on none of these nodes."""
        return allocation.placements[-1].node not in self._nodes[allocation.job.key]

    def node_for(self, allocation: RoleAllocation, horizon: Horizon) -> int:
        """A node of the job's indispensable pods where one more replica fits, or NO_NODE."""
        view = allocation.pod_class.at(horizon)
        return next(filter(view.admits, self._nodes[allocation.job.key]), NO_NODE)


def place_on_one_node(
    snapshot: Snapshot, requests: Sequence[PodSetRequest]
) -> list[list[int]] | None:
    """Reserve idle capacity for all pods on the node with the most of it.

    The nodes of each request's pods; None, and nothing is reserved, if they fit on no single node.
    """
    node = _roomiest(snapshot, requests)
    # Spread and affinity need a search of their own (ConstrainedView): not tried here.
    if node == NO_NODE or any(request.pod_class.constraints for request in requests):
        return None
    placed = [[node] * request.pods for request in requests]
    return placed if reserve_nodes(requests, placed) else None


def _roomiest(snapshot: Snapshot, requests: Sequence[PodSetRequest]) -> int:
    """The node whose idle capacity could hold the most copies of the gang, or NO_NODE."""
    total: defaultdict[int, int] = defaultdict(int)
    for pod_class, pods in requests:
        for row, amount in pod_class.amounts:
            total[row] += amount * pods
    eligible = np.all([pod_class.eligible for pod_class, _ in requests], axis=0)
    if not total or not eligible.any():
        return NO_NODE
    free = snapshot.capacity.available()
    times = by_scarcest_resource(free[row] // amount for row, amount in total.items())
    times = np.where(eligible, times, 0)
    best = int(np.argmax(times))
    return best if times[best] > 0 else NO_NODE
