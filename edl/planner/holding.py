"""Growth waits for claims and starts that it might disturb: minimums come before extras.

The scheduler knows of no claim, and puts new pods wherever there is room. They would be taken back
for the claim, come again elsewhere in the plan, and so on, while the claim never starts.
"""

from collections import Counter
from collections.abc import Callable

from edl.planner import reasons
from edl.planner.board import Board
from edl.planner.fit import Fit
from edl.planner.idle import moments
from edl.planner.ledger import Ledger
from edl.planner.precedence import Precedence
from edl.planner.standing import Standing


def growing(board: Board) -> list[Standing]:
    """Who runs, and gets more than its minimum now."""
    return [one for one in board.standings if one.moved and one.grows and _is_asked_for(one)]


def _is_asked_for(standing: Standing) -> bool:
    """One restart for all of a growth, once its room is free: until then nobody comes."""
    return not standing.starts and standing.after > standing.role.size


def new(standing: Standing) -> int:
    """Pods that this plan makes."""
    return sum(seat.fresh and seat.now for seat in standing.seats)


def extras(standing: Standing) -> int:
    """Those of them that it can do without."""
    role = standing.role
    return min(new(standing), standing.lasting - max(role.size, role.min))


def hold_back(board: Board, standing: Standing) -> None:
    """Keep the room of its extras for it, until those have their nodes who come first."""
    standing.held = standing.held or reasons.PLACED_FIRST
    while standing.grows:
        standing.postpone(board.grid)


def let_claims_go_first(board: Board, ledger: Ledger, cost: Callable[[Fit, Fit], int]) -> None:
    """Who grows leaves the room alone that is kept for a claim, while that is on its way."""
    who = growing(board) if ledger.promises else []
    if not (who and _is_on_its_way(board, ledger)):
        return
    promises = [found._replace(number=0) for found in ledger.promises]
    precedence, ahead = Precedence(board, promises, cost), Counter[Fit]()
    harmful: dict[Fit, int] = {}
    for one in who:
        count = new(one)
        harms = count >= harmful.get(one.fit, count + 1)
        if harms or precedence.hinders(0, {one.fit: count}, ahead):
            harmful[one.fit] = min(count, harmful.get(one.fit, count))
            hold_back(board, one)
        else:
            ahead[one.fit] += count


def _is_on_its_way(board: Board, ledger: Ledger) -> bool:
    """Whether somebody makes room, or did so a while ago: some pods never leave."""
    if ledger.suspended or any(one.reason for one in board.standings):
        return True
    last = max(moments(board), default=None)
    return last is not None and not board.past(last, board.limits.queue_patience)
