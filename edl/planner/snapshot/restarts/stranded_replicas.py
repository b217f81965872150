"""Stranded replicas: their nodes would not take their pods again, if these were placed anew."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from edl.model import ResizePolicy
from edl.model.causes.scarcity import ResourceNeed
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation

if TYPE_CHECKING:
    from edl.planner.packing.pod_class import PodClass


class Unplaced(NamedTuple):
    """Replicas of one role that a restart needs places for."""

    allocation: RoleAllocation
    stranded: list[int]
    """Positions of existing replicas, the highest first."""
    new: int

    @property
    def request(self) -> PodSetRequest:
        return PodSetRequest(self.allocation.pod_class, len(self.stranded) + self.new)

    @property
    def need(self) -> ResourceNeed:
        """What the whole role requests after the restart."""
        role, requests = self.allocation.role, self.allocation.pod_class.shape.requests
        return ResourceNeed(role.name, self.allocation.size + self.new, requests)

    @property
    def placed(self) -> int:
        """How many replicas of the role have places already."""
        return self.allocation.size - len(self.stranded)


class StrandedSearch:
    """Looks at jobs of one snapshot, before anything is reserved."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._overcommitted = (snapshot.capacity.future_idle < 0).any(axis=0)
        self._refusing: dict[PodClass, Sequence[bool]] = {}
        """By pod class and node, whether the node may refuse a pod that it has now."""

    def by_role(self, roles: Sequence[RoleAllocation]) -> Mapping[RoleAllocation, Counter[int]]:
        """By role of one job, and by node, how many replicas are stranded."""
        # Fast path: the nodes of most jobs would take all of their pods again.
        return _stranded(self._snapshot, roles) if any(map(self._may_be_stranded, roles)) else {}

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


def _stranded(
    snapshot: Snapshot, roles: Sequence[RoleAllocation]
) -> dict[RoleAllocation, Counter[int]]:
    """`StrandedSearch.by_role` of a job with pods on nodes that may refuse some."""
    on_nodes = {
        allocation: Counter(
            placement.node for placement in allocation.placements if placement.node != NO_NODE
        )
        for allocation in roles
    }
    free = _free_without(snapshot, on_nodes)
    by_role = dict[RoleAllocation, Counter[int]]()
    for allocation in sorted(roles, key=_places_last):
        pod_class, counts = allocation.pod_class, Counter[int]()
        for node, pods in on_nodes[allocation].items():
            fits = pod_class.eligible[node]
            stay = min(pods, pod_class.pods_on(node, free[node]) if fits else 0)
            stay = pods if fits and pod_class.claims_devices else stay
            counts[node] = pods - stay
            for row, amount in pod_class.amounts:
                free[node][row] -= amount * stay
        if counts := +counts:
            by_role[allocation] = counts
    return by_role


def _free_without(
    snapshot: Snapshot, on_nodes: Mapping[RoleAllocation, Counter[int]]
) -> dict[int, dict[int, int]]:
    """What each node has by row once these replicas are gone; at least 0."""
    nodes = dict.fromkeys(node for there in on_nodes.values() for node in there)
    room = snapshot.capacity.future_idle[:, [*nodes]].copy()
    columns = {node: column for column, node in enumerate(nodes)}
    for allocation, there in on_nodes.items():
        for node, pods in there.items():
            for row, amount in allocation.pod_class.amounts:
                room[row, columns[node]] += amount * pods
    return {
        node: dict(enumerate(np.maximum(room[:, column], 0).tolist()))
        for node, column in columns.items()
    }


def _places_last(allocation: RoleAllocation) -> tuple[bool, int]:
    """Sort key: roles of a fixed size keep their places first."""
    return allocation.role.spec.resizing is not ResizePolicy.FIXED, allocation.rank
