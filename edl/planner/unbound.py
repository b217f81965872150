"""Pods of started roles without a node take room first: kube-scheduler is about to place them."""

from edl.planner.board import Board
from edl.planner.fit import Want, place
from edl.planner.standing import Seat, Standing


def seat_unbound(board: Board) -> None:
    """Minimums before extras."""
    for minimum in (True, False):
        for standing in board.restless:
            for position, _ in standing.unbound:
                if (position < standing.floor) == minimum:
                    _seat(board, standing, position)


def _seat(board: Board, standing: Standing, position: int) -> None:
    for now in (True, False):
        if rows := place(board.grid, Want(standing.fit, 1), now=now):
            standing.take_place(position, Seat(rows[0], now=now, fresh=False))
            return
