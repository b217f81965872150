"""Where pods without a node go: the plan places those of gated roles, kube-scheduler all others.

A gated pod that was given a node keeps it. If others have taken the room there, the pod is ended
and made again, and this plan places the replica as if it had no pod.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

import numpy as np

from edl.model import TrainingJob
from edl.planner.plan import Placement
from edl.planner.snapshot.board import Board
from edl.planner.snapshot.role_allocation import NOWHERE, Seat, Standing, Unbound
from edl.planner.snapshot.topology_choice import beside

_Search: TypeAlias = Callable[[Board, Standing, Unbound], Seat | None]


def seat_gated(board: Board) -> None:
    """Give gated replicas without a node their room: what is decided already first."""
    for search in _SEARCHES:
        _seat(board, [one for one in _waiting(board) if one[0].role.gated], search)


def seat_anywhere(board: Board) -> None:
    """And all others, also those of which kube-scheduler alone knows where it will put them."""
    _seat(board, _waiting(board), _anywhere)


def _waiting(board: Board) -> list[tuple[Standing, Unbound]]:
    """Replicas without room, minimums first."""
    found = [
        (one, unbound)
        for one in board.restless
        for unbound in one.unbound
        if one.seats[unbound.position].row == NOWHERE
    ]
    return sorted(found, key=_order)


def _seat(board: Board, waiting: Iterable[tuple[Standing, Unbound]], search: _Search) -> None:
    for standing, found in waiting:
        seat = search(board, standing, found)
        if seat is not None:
            board.grid.take(seat.row, standing.fit, now=seat.now)
            standing.take_place(found.position, seat)


def placements(board: Board) -> tuple[Placement, ...]:
    """The node of each pod behind the gate whose room is free, and the pods that lost theirs.

    No pod of a gang goes first: until there is room for all of its minimum, none holds a node.
    """
    names, found = board.grid.nodes, []
    gated = [one for one in board.standings if one.role.gated and one.unbound]
    short = {one.job.key for one in gated if _is_short(one) and not _has_begun(one.job)}
    for one in gated:
        if one.job.key not in short:
            nodes = tuple((pod, names[row]) for pod, row in _placed(one))
            replaced = tuple(_replaced(board, one))
            if nodes or replaced:
                found.append(Placement(one.job.key, one.role.name, nodes, replaced))
    return tuple(found)


def _order(waiting: tuple[Standing, Unbound]) -> tuple[bool, int, float]:
    """Extras last; of one job the largest pods first, which find the fewest nodes."""
    standing, found = waiting
    return found.position >= standing.floor, standing.place, -standing.bulk


def _given(board: Board, standing: Standing, found: Unbound) -> Seat | None:
    """At the node that its pod has been given."""
    node = found.pod.assigned if found.pod else ""
    return _at(board, standing, node, (True, False)) if node else None


def _planned(board: Board, standing: Standing, found: Unbound) -> Seat | None:
    """At the node that the plan of its start or growth had for it."""
    ranked = standing.role.gated and standing.role.tandem
    node = standing.role.assigned.node(found.position) if ranked else ""
    cleared = node in _cleared(standing)
    return _at(board, standing, node, (True,)) if node and not cleared else None


def _near(board: Board, standing: Standing, _found: Unbound) -> Seat | None:
    """Where most of its role are, or in a domain that it prefers."""
    if not standing.role.gated:
        return None
    rows = Counter(seat.row for seat in standing.seats if seat.row != NOWHERE)
    found = [row for row, _ in rows.most_common()]
    if standing.job.topology.preferred and (row := beside(board, standing, now=True)) != NOWHERE:
        found.append(row)
    return _first(board, standing, found)


def _elsewhere(board: Board, standing: Standing, _found: Unbound) -> Seat | None:
    """On no node that its role has left for another pod, where there is one."""
    if not (standing.role.gated and standing.role.cleared):
        return None
    return _first(board, standing, map(int, np.flatnonzero(standing.fit.eligible)))


def _first(board: Board, standing: Standing, rows: Iterable[int]) -> Seat | None:
    cleared = {board.grid.rows.get(name) for name in _cleared(standing)}
    fit = standing.fit
    found = (
        row for row in rows if row not in cleared and fit.eligible[row] and fit.takes(row, now=True)
    )
    return next((Seat(row, now=True, fresh=False) for row in found), None)


def _cleared(standing: Standing) -> set[str]:
    """Nodes that its replicas were moved off for a pod that may use few nodes."""
    return {one.node for one in standing.role.cleared}


def _anywhere(_board: Board, standing: Standing, _found: Unbound) -> Seat | None:
    cursors = ((standing.fit.both, True), (standing.fit.soon, False))
    found = ((row, now) for cursor, now in cursors if (row := cursor.find()) != NOWHERE)
    return next((Seat(row, now=now, fresh=False) for row, now in found), None)


_SEARCHES: Final[tuple[_Search, ...]] = (
    _given,
    _planned,
    _near,
    _elsewhere,
)


def _at(board: Board, standing: Standing, node: str, horizons: tuple[bool, ...]) -> Seat | None:
    row, fit = board.grid.rows.get(node, NOWHERE), standing.fit
    if row == NOWHERE or not fit.eligible[row]:
        return None
    found = (now for now in horizons if fit.takes(row, now=now))
    return next((Seat(row, now=now, fresh=False) for now in found), None)


def _is_short(standing: Standing) -> bool:
    """Whether a replica of its minimum has no room now."""
    least = min(standing.floor, standing.size)
    seats = (standing.seats[one.position] for one in standing.unbound if one.position < least)
    return any(not seat.now or seat.row == NOWHERE for seat in seats)


def _has_begun(job: TrainingJob) -> bool:
    """Whether any of its pods has a node, or has been given one."""
    pods = (pod for role in job.live for pod in role.pods if pod.active)
    return any(pod.node or pod.assigned for pod in pods)


def _placed(standing: Standing) -> Iterator[tuple[str, int]]:
    """The pods that may have their nodes now, each with its row."""
    for position, _, pod in standing.unbound:
        if pod and pod.unplaced and position < standing.size:
            seat = standing.seats[position]
            if seat.now and seat.row != NOWHERE:
                yield pod.name, seat.row


def _replaced(board: Board, standing: Standing) -> Iterator[str]:
    """Pods whose node has no room for them any more."""
    for position, _, pod in standing.unbound:
        if pod and pod.assigned and position < standing.size:
            row = board.grid.rows.get(pod.assigned)
            if row is None or row != standing.seats[position].row:
                yield pod.name
