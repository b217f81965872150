"""Pods of one job near each other: on one node if possible (`Policy.together`)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from edl.planner.packing.node_capacity import by_scarcest_resource
from edl.planner.packing.pod_class import PodSetRequest, unreserve_pods
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation

if TYPE_CHECKING:
    from edl.model import JobKey
    from edl.planner.packing.node_capacity import Ints


class AnchorNodes:
    """The nodes that hold what a job cannot do without: its servers, index 0 of who decides."""

    def __init__(self, standings: Iterable[RoleAllocation]) -> None:
        self._nodes: defaultdict[JobKey, list[int]] = defaultdict(list)
        for standing in standings:
            role = standing.role
            seats = standing.placements if role.serves else standing.placements[: int(role.decides)]
            rows = self._nodes[standing.job.key]
            rows += [seat.node for seat in seats if seat.node != NO_NODE and seat.node not in rows]

    def last_is_elsewhere(self, standing: RoleAllocation) -> bool:
        """Whether its highest index, the next to go, is elsewhere."""
        return standing.placements[-1].node not in self._nodes[standing.job.key]

    def node_for(self, standing: RoleAllocation, *, now: bool) -> int:
        """A node of these where one more replica fits; NOWHERE if there is none."""
        fit = standing.pod_class
        for row in self._nodes[standing.job.key]:
            if fit.eligible[row] and fit.fits(row, now=now):
                return row
        return NO_NODE


def place_on_one_node(board: Snapshot, wants: Sequence[PodSetRequest]) -> list[list[int]] | None:
    """Room for all pods on one node that is free now, where most is left; None, and no change."""
    row = _roomiest(board, wants)
    # Rules about who may be beside whom are the cursors' to keep.
    if row == NO_NODE or any(want.pod_class.constraints for want in wants):
        return None
    placed: list[list[int]] = [[] for _ in wants]
    for want, rows in zip(wants, placed, strict=True):
        while len(rows) < want.pods and want.pod_class.allows(row, now=True):
            board.capacity.reserve(row, want.pod_class, now=True)
            rows.append(row)
    if all(len(rows) == want.pods for want, rows in zip(wants, placed, strict=True)):
        return placed
    for want, rows in zip(wants, placed, strict=True):
        unreserve_pods(board.capacity, want.pod_class, rows, now=True)
    return None


def _roomiest(board: Snapshot, wants: Sequence[PodSetRequest]) -> int:
    """The node that holds the gang most often."""
    total: defaultdict[int, int] = defaultdict(int)
    for fit, pods in wants:
        for line, amount in fit.amounts:
            total[line] += amount * pods
    eligible = np.all([fit.eligible for fit, _ in wants], axis=0)
    if not total or not eligible.any():
        return NO_NODE
    free: Ints = np.minimum(board.capacity.idle, board.capacity.future_idle)
    times = by_scarcest_resource(free[line] // amount for line, amount in total.items())
    times = np.where(eligible, times, 0)
    best = int(np.argmax(times))
    return best if times[best] > 0 else NO_NODE
