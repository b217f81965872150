"""Where pods without a node go: the plan places those of gated roles, kube-scheduler all others.

A gated pod that was given a node keeps it. If others have taken the room there, the pod is ended
and made again, and this plan places the replica as if it had no pod.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

import numpy as np

from edl.model import TrainingJob
from edl.planner.plan import NodeAssignment
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation, Unscheduled
from edl.planner.snapshot.topology_choice import node_in_preferred_domain

_Search: TypeAlias = Callable[[Snapshot, RoleAllocation, Unscheduled], Placement | None]


def assign_gated_pods(board: Snapshot) -> None:
    """Give gated replicas without a node their room: what is decided already first."""
    for search in _SEARCHES:
        _seat(board, [one for one in _waiting(board) if one[0].role.gated], search)


def assign_pending_pods(board: Snapshot) -> None:
    """And all others, also those of which kube-scheduler alone knows where it will put them."""
    _seat(board, _waiting(board), _anywhere)


def _waiting(board: Snapshot) -> list[tuple[RoleAllocation, Unscheduled]]:
    """Replicas without room, minimums first."""
    found = [
        (one, unbound)
        for one in board.unsettled
        for unbound in one.unscheduled
        if one.placements[unbound.position].node == NO_NODE
    ]
    return sorted(found, key=_order)


def _seat(
    board: Snapshot, waiting: Iterable[tuple[RoleAllocation, Unscheduled]], search: _Search
) -> None:
    for standing, found in waiting:
        seat = search(board, standing, found)
        if seat is not None:
            board.capacity.reserve(seat.node, standing.pod_class, now=seat.holds_idle)
            standing.assign(found.position, seat)


def node_assignments(board: Snapshot) -> tuple[NodeAssignment, ...]:
    """The node of each pod behind the gate whose room is free, and the pods that lost theirs.

    No pod of a gang goes first: until there is room for all of its minimum, none holds a node.
    """
    names, found = board.capacity.node_names, []
    gated = [one for one in board.allocations if one.role.gated and one.unscheduled]
    short = {one.job.key for one in gated if _is_short(one) and not _has_begun(one.job)}
    for one in gated:
        if one.job.key not in short:
            nodes = tuple((pod, names[row]) for pod, row in _placed(one))
            replaced = tuple(_replaced(board, one))
            if nodes or replaced:
                found.append(NodeAssignment(one.job.key, one.role.name, nodes, replaced))
    return tuple(found)


def _order(waiting: tuple[RoleAllocation, Unscheduled]) -> tuple[bool, int, float]:
    """Extras last; of one job the largest pods first, which find the fewest nodes."""
    standing, found = waiting
    return found.position >= standing.min_replicas, standing.queue_rank, -standing.cluster_fraction


def _given(board: Snapshot, standing: RoleAllocation, found: Unscheduled) -> Placement | None:
    """At the node that its pod has been given."""
    node = found.pod.assigned if found.pod else ""
    return _at(board, standing, node, (True, False)) if node else None


def _planned(board: Snapshot, standing: RoleAllocation, found: Unscheduled) -> Placement | None:
    """At the node that the plan of its start or growth had for it."""
    ranked = standing.role.gated and standing.role.tandem
    node = standing.role.assigned.node(found.position) if ranked else ""
    cleared = node in _cleared(standing)
    return _at(board, standing, node, (True,)) if node and not cleared else None


def _near(board: Snapshot, standing: RoleAllocation, _found: Unscheduled) -> Placement | None:
    """Where most of its role are, or in a domain that it prefers."""
    if not standing.role.gated:
        return None
    rows = Counter(seat.node for seat in standing.placements if seat.node != NO_NODE)
    found = [row for row, _ in rows.most_common()]
    if (
        standing.job.topology.preferred
        and (row := node_in_preferred_domain(board, standing, now=True)) != NO_NODE
    ):
        found.append(row)
    return _first(board, standing, found)


def _elsewhere(board: Snapshot, standing: RoleAllocation, _found: Unscheduled) -> Placement | None:
    """On no node that its role has left for another pod, where there is one."""
    if not (standing.role.gated and standing.role.cleared):
        return None
    return _first(board, standing, map(int, np.flatnonzero(standing.pod_class.eligible)))


def _first(board: Snapshot, standing: RoleAllocation, rows: Iterable[int]) -> Placement | None:
    cleared = {board.capacity.index.get(name) for name in _cleared(standing)}
    fit = standing.pod_class
    found = (
        row for row in rows if row not in cleared and fit.eligible[row] and fit.fits(row, now=True)
    )
    return next((Placement(row, holds_idle=True, is_new=False) for row in found), None)


def _cleared(standing: RoleAllocation) -> set[str]:
    """Nodes that its replicas were moved off for a pod that may use few nodes."""
    return {one.node for one in standing.role.cleared}


def _anywhere(_board: Snapshot, standing: RoleAllocation, _found: Unscheduled) -> Placement | None:
    cursors = ((standing.pod_class.idle, True), (standing.pod_class.future_idle, False))
    found = ((row, now) for cursor, now in cursors if (row := cursor.find()) != NO_NODE)
    return next((Placement(row, holds_idle=now, is_new=False) for row, now in found), None)


_SEARCHES: Final[tuple[_Search, ...]] = (
    _given,
    _planned,
    _near,
    _elsewhere,
)


def _at(
    board: Snapshot, standing: RoleAllocation, node: str, horizons: tuple[bool, ...]
) -> Placement | None:
    row, fit = board.capacity.index.get(node, NO_NODE), standing.pod_class
    if row == NO_NODE or not fit.eligible[row]:
        return None
    found = (now for now in horizons if fit.fits(row, now=now))
    return next((Placement(row, holds_idle=now, is_new=False) for now in found), None)


def _is_short(standing: RoleAllocation) -> bool:
    """Whether a replica of its minimum has no room now."""
    least = min(standing.min_replicas, standing.size)
    seats = (
        standing.placements[one.position] for one in standing.unscheduled if one.position < least
    )
    return any(not seat.holds_idle or seat.node == NO_NODE for seat in seats)


def _has_begun(job: TrainingJob) -> bool:
    """Whether any of its pods has a node, or has been given one."""
    pods = (pod for role in job.live for pod in role.pods if pod.active)
    return any(pod.node or pod.assigned for pod in pods)


def _placed(standing: RoleAllocation) -> Iterator[tuple[str, int]]:
    """The pods that may have their nodes now, each with its row."""
    for position, _, pod in standing.unscheduled:
        if pod and pod.unplaced and position < standing.size:
            seat = standing.placements[position]
            if seat.holds_idle and seat.node != NO_NODE:
                yield pod.name, seat.node


def _replaced(board: Snapshot, standing: RoleAllocation) -> Iterator[str]:
    """Pods whose node has no room for them any more."""
    for position, _, pod in standing.unscheduled:
        if pod and pod.assigned and position < standing.size:
            row = board.capacity.index.get(pod.assigned)
            if row is None or row != standing.placements[position].node:
                yield pod.name
