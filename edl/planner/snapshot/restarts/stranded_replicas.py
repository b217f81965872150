"""Stranded replicas: their nodes would not take their pods again, if these were placed anew."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from edl.model import ResizePolicy
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation

if TYPE_CHECKING:
    from edl.planner.packing.pod_class import PodClass


class StrandedSearch:
    """Looks at jobs of one snapshot, before anything is reserved."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._future_idle = snapshot.capacity.future_idle
        self._overcommitted = (self._future_idle < 0).any(axis=0)
        self._refusing: dict[PodClass, Sequence[bool]] = {}
        """By pod class and node, whether the node may refuse a pod that it has now."""

    def mark(self, roles: Sequence[RoleAllocation]) -> None:
        """Mark the stranded replicas of one job; roles of a fixed size keep their places first."""
        # Fast path: the nodes of most jobs would take all of their pods again.
        if not any(map(self._may_be_stranded, roles)):
            return
        on_nodes = {role: Counter(one.node for one in role.placements) for role in roles}
        nodes = np.array([node for node in set().union(*on_nodes.values()) if node != NO_NODE])
        pods = {
            role: np.array([there[node] for node in nodes.tolist()])
            for role, there in on_nodes.items()
        }
        room = self._future_idle[:, nodes]
        for role, running in pods.items():
            role.pod_class.subtract(room, -running, nodes)
        room = np.maximum(room, 0)
        for role in sorted(roles, key=_places_last):
            pod_class, running = role.pod_class, pods[role]
            stay = np.minimum(running, pod_class.pods_by_resources(room, nodes))
            if pod_class.claims_devices:  # each keeps the devices that it holds
                stay = np.where(pod_class.eligible[nodes], running, 0)
            pod_class.subtract(room, stay, nodes)
            _mark_last(role, dict(zip(nodes.tolist(), (running - stay).tolist(), strict=True)))

    def _may_be_stranded(self, allocation: RoleAllocation) -> bool:
        pod_class = allocation.pod_class
        nodes = self._refusing.get(pod_class)
        if nodes is None:
            refusing = self._overcommitted | ~pod_class.eligible
            nodes = self._refusing[pod_class] = memoryview(refusing)  # type: ignore[arg-type]
        return any(
            placement.node != NO_NODE and nodes[placement.node]
            for placement in allocation.placements
        )


def _places_last(allocation: RoleAllocation) -> tuple[bool, int]:
    return allocation.role.spec.resizing is not ResizePolicy.FIXED, allocation.rank


def _mark_last(role: RoleAllocation, leave: dict[int, int]) -> None:
    """Mark as many replicas of a role on each node as leave it, the last ones first."""
    for position in range(role.size - 1, -1, -1) if any(leave.values()) else ():
        placement = role.placements[position]
        if leave.get(placement.node):
            leave[placement.node] -= 1
            role.placements[position] = placement._replace(stranded=True)
