"""Fits one more replica by moving this plan's new placements, which have no pods yet.

Growth places one replica after the other on the fullest node, so small ones may leave gaps too
small for a large one. Here all new placements are placed anew, the largest first.
"""

from itertools import takewhile
from typing import Final

import numpy as np

from edl.feasibility.horizon import IDLE
from edl.planner.packing.pod_class import PodClass
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation

_MOST: Final = 64
"""Most placements to move; with more of them, gaps hardly matter."""


def defragment_for(snapshot: Snapshot, ceiling: GrowthCeiling, recipient: RoleAllocation) -> bool:
    """Add a replica to the recipient by moving new placements; False, and no change, if not.

    Growth of smaller replicas is deferred until kube-scheduler has bound the recipient's pod, as
    they might take its capacity.
    """
    given = _given(snapshot)
    if not (
        0 < len(given) <= _MOST
        and recipient.pod_class.constraints is None
        and not recipient.starts
        and recipient.quota_request.allows(IDLE)
        and ceiling.allows(recipient.pod_class, IDLE)
    ):
        return False
    asked = sorted(
        [*given, (recipient, recipient.size)],
        key=lambda one: (-one[0].cluster_fraction, one[0].rank),
    )
    devices = snapshot.capacity.gpu_shares
    before = devices.checkpoint() if devices else None
    for allocation, place in given:
        allocation.pod_class.idle.release(allocation.placements[place].node)
    found = _place_all(snapshot, asked)
    if found is None:
        for allocation, place in given:
            allocation.pod_class.idle.reserve(allocation.placements[place].node)
        if devices and before:
            devices.restore(before)
        return False
    for (allocation, place), node in zip(asked, found, strict=True):
        if place < allocation.size:
            allocation.placements[place] = allocation.placements[place]._replace(node=node)
    # `_place_all` has reserved the recipient's node; `place` reserves it anew, with its quota.
    node = found[asked.index((recipient, recipient.size))]
    recipient.pod_class.idle.release(node)
    recipient.place(node, IDLE)
    _let_it_go_first(snapshot, recipient)
    return True


_Replica = tuple[RoleAllocation, int]


def _given(snapshot: Snapshot) -> list[_Replica]:
    """New placements of running jobs on idle capacity, without placement constraints.

    Collection stops above `_MOST`, since more than that are not moved at all.
    """
    given: list[_Replica] = []
    for allocation in snapshot.allocations:
        if allocation.changed and not (allocation.starts or allocation.pod_class.constraints):
            last = takewhile(_is_created, reversed(allocation.placements))
            first = allocation.size - sum(1 for _ in last)
            given += [(allocation, place) for place in range(first, allocation.size)]
        if len(given) > _MOST:
            break
    return given


def _is_created(placement: Placement) -> bool:
    return placement.is_new and placement.holds_idle


def _place_all(snapshot: Snapshot, asked: list[_Replica]) -> list[int] | None:
    """Reserve the fullest node that fits for each, in this order; None, and no change, if not."""
    nodes: list[int] = []
    for allocation, _ in asked:
        node = _tightest(snapshot, allocation.pod_class)
        if node == NO_NODE:
            for (other, _), taken in zip(asked, nodes, strict=False):
                other.pod_class.idle.release(taken)
            return None
        allocation.pod_class.idle.reserve(node)
        nodes.append(node)
    return nodes


def _tightest(snapshot: Snapshot, pod_class: PodClass) -> int:
    room = snapshot.capacity.available()
    nodes = np.flatnonzero(pod_class.pods_per_node(room, IDLE) > 0)
    parts = [
        room[row, nodes] / (snapshot.capacity.totals[row] or 1) for row, _ in pod_class.amounts
    ]
    order = pod_class.fullest_first(nodes, np.sum(parts, axis=0), room) if parts else nodes
    return int(order[0]) if len(nodes) else NO_NODE


def _let_it_go_first(snapshot: Snapshot, recipient: RoleAllocation) -> None:
    for allocation in snapshot.allocations:
        if (
            allocation.cluster_fraction < recipient.cluster_fraction
            and not allocation.starts
            and allocation.pod_class.constraints is None
        ):
            allocation.defer(allocation.growth)
