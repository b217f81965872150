"""Growth waits for claims and starts that it might disturb: minimums come before extras.

The scheduler knows of no claim, and puts new pods wherever there is room. They would be taken back
for the claim, come again elsewhere in the plan, and so on, while the claim never starts.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, partial
from itertools import groupby

from edl import reasons
from edl.feasibility.devices import Horizon
from edl.model import JobKey
from edl.planner import last_reasons
from edl.planner.board import Board
from edl.planner.fit import Fit
from edl.planner.idle import moments
from edl.planner.landing import leaves_room
from edl.planner.ledger import Ledger, Promise
from edl.planner.policies import Policy
from edl.planner.precedence import Precedence
from edl.planner.standing import Standing


def growing(board: Board) -> list[Standing]:
    """Who runs, and gets more than its minimum now."""
    return [one for one in board.standings if one.moved and one.grows and _is_asked_for(one)]


def _is_asked_for(standing: Standing) -> bool:
    """One restart for all of a growth, once its room is free: until then nobody comes."""
    return not standing.starts and standing.after > standing.role.size


def hold_back(board: Board, standing: Standing) -> None:
    """Keep the room of its extras for it, until those have their nodes who come first."""
    standing.held = standing.held or reasons.PLACED_FIRST
    standing.postpone(board.grid, standing.beyond)


def let_larger_pods_go_first(board: Board, cost: Callable[[Fit, Fit], int]) -> None:
    """Of roles that grow in one plan, those wait whose pods might take each other's nodes.

    The scheduler places pods of several shapes in any order: small ones in the room that the plan
    sees for a large one. That would stay pending, be given back, and asked for again. Pods that
    find room beside all others wait for those that may not. Of these the least satisfied role comes
    first, to which others would give replicas in the next plan. A role that gave a replica a moment
    ago comes after the roles for which it gave.
    """
    who, coming = growing(board), _on_their_way(board)
    if not who:
        return

    @cache
    def capacity(fit: Fit) -> int:
        return int(fit.by_room(board.grid.before, Horizon.OBSERVED).sum())

    together = coming.copy()
    for one in who:
        together[one.fit] += one.coming
    scarce = {fit for fit in together if _may_stay_pending(fit, together, capacity, cost)}
    who.sort(key=partial(_turn, board.policy, scarce))
    refused: dict[Fit, int] = {}
    """The fewest pods of a shape that wait: pods only come, so as many more will wait, too."""
    for one in who:
        pods = one.coming
        if pods >= refused.get(one.fit, pods + 1):
            hold_back(board, one)
            continue
        after = coming + Counter({one.fit: pods})
        met = (fit for fit in after if cost(fit, one.fit))
        if any(_may_stay_pending(fit, after, capacity, cost) for fit in met):
            refused[one.fit] = pods
            hold_back(board, one)
        else:
            coming = after


def _turn(
    policy: Policy, scarce: AbstractSet[Fit], one: Standing
) -> tuple[bool, bool, float, float, int]:
    """Its place among the roles that grow: the least satisfied would be given replicas next."""
    gave = last_reasons.balanced(policy.gives, one.role)
    share = policy.share(one, one.lasting - one.beyond)
    return gave, one.fit not in scarce, share, -one.bulk, one.rank


def _on_their_way(board: Board) -> Counter[Fit]:
    """Pods that the scheduler has yet to place; those that wait for long wait for room."""
    limit = board.limits.pending_limit
    coming: Counter[Fit] = Counter()
    for one in board.restless:
        waiting = (since for _, since in one.unbound if since and not board.past(since, limit))
        coming[one.fit] += sum(1 for _ in waiting)
    return +coming


def _may_stay_pending(
    fit: Fit,
    coming: Counter[Fit],
    capacity: Callable[[Fit], int],
    cost: Callable[[Fit, Fit], int],
) -> bool:
    harm = sum(pods * cost(fit, other) for other, pods in coming.items() if other is not fit)
    return harm > 0 and capacity(fit) - harm < coming[fit]


def let_claims_go_first(board: Board, ledger: Ledger, cost: Callable[[Fit, Fit], int]) -> None:
    """Who grows leaves the room alone that is kept for a claim, while that is on its way."""
    if ledger.promises and growing(board) and _is_on_its_way(board, ledger):
        leave_clear(board, ledger.promises, cost)


def leave_clear(board: Board, kept: Sequence[Promise], cost: Callable[[Fit, Fit], int]) -> None:
    """Growth waits where its pods may take room that is kept for these starts.

    It comes beside the pods that start in this plan.
    """
    who = growing(board) if kept else []
    promises = [found._replace(number=0) for found in kept]
    precedence, ahead = Precedence(board, promises, cost), Counter[Fit]()
    for start in board.standings:
        ahead[start.fit] += start.coming if start.starts else 0
    harmful: dict[Fit, int] = {}
    for one in who:
        count = one.coming
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


def let_restarts_go_first(board: Board, ledger: Ledger) -> None:
    """Growth by a restart waits while others come back that share nodes with it.

    The scheduler places both anew: where one of them may take the other's room, the other one would
    need room to be made for it, by more restarts.
    """
    back = _come_back(board, ledger)
    kept = [
        (want.fit, row)
        for promise in ledger.promises
        for want, rows in zip(promise.wants, promise.placed, strict=False)
        for row in rows
    ]
    growers = [one for one in growing(board) if one.restarts and one.job.key not in back]
    for key, roles in groupby(sorted(growers, key=lambda one: one.rank), lambda one: one.job.key):
        mine = [one for one in board.standings if one.job.key == key]
        met = {
            other.job.key
            for other in board.standings
            if other.job.key in back and any(one.fit.contends(other.fit) for one in mine)
        }
        if met and not leaves_room(board, {*met, key}, kept, of_many=True):
            for one in roles:
                hold_back(board, one)
        else:
            back.add(key)


def _come_back(board: Board, ledger: Ledger) -> set[JobKey]:
    """Jobs that start in this plan, or are stopped to start again."""
    stopped = (one for one in board.standings if one.restarts and one.after < one.role.size)
    return {*ledger.admitted, *(one.job.key for one in stopped)}
