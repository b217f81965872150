"""The order in which claims are served.

Priority, then pods of others, then first come first served. With teams it is so inside each of
them; between teams, one with a claim within its guarantee comes before those that borrow, and of
these, within one priority, the one furthest below its fair share. A team's own guarantee comes
before what is unused of those above it. A team's own order holds: what comes first in it is served
first, even if a later claim is the one within the guarantee.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import heapify, heappop, heapreplace
from typing import Final, TypeAlias

from edl.model import Demand
from edl.planner.passes.admission.gang import Gang
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_balance import BORROWED, TeamBalance, TeamCharge

Claim: TypeAlias = Demand | Gang | RoleAllocation
_Order: TypeAlias = tuple[int, bool, datetime, tuple[str, ...]]
_Turn: TypeAlias = tuple[int, int, tuple[float, ...], _Order]
_FIRST: Final = datetime.min.replace(tzinfo=UTC)


def claim_order(claim: Claim) -> _Order:
    """Priority, then others' pods, then first come first served."""
    if isinstance(claim, Demand):
        return (-claim.priority, False, _FIRST, (claim.example, repr(claim.shape)))
    return (-claim.job.priority, True, claim.job.queued_at, claim.job.key)


def in_team_order(
    balance: TeamBalance, claims: Iterable[Claim], charge: Callable[[Claim], TeamCharge]
) -> Iterator[Claim]:
    """Each claim once; what was served since the last one counts. `charge`: of all its pods."""
    by_team: defaultdict[int, list[Claim]] = defaultdict(list)
    charges = {id(claim): charge(claim) for claim in claims}
    for claim in sorted(claims, key=claim_order, reverse=True):
        by_team[charges[id(claim)].team].append(claim)
    queues = [_TeamQueue(balance, claims, charges) for claims in by_team.values()]
    turns: list[tuple[_Turn, int]] = []
    changes = -1
    while changes < 0 or turns:
        if changes != balance.changes:  # some hold less than before: they may come earlier
            changes = balance.changes
            turns = [(one.turn(), at) for at, one in enumerate(queues) if one.waiting]
            heapify(turns)
        while turns and (turn := queues[turns[0][1]].turn()) > turns[0][0]:
            heapreplace(turns, (turn, turns[0][1]))
        if not turns:
            return
        at = turns[0][1]
        yield queues[at].pop()
        if queues[at].waiting:
            heapreplace(turns, (queues[at].turn(), at))
        else:
            heappop(turns)


@dataclass(slots=True)
class _TeamQueue:
    balance: TeamBalance
    waiting: list[Claim]
    """The first last."""
    charges: dict[int, TeamCharge]
    _left: Counter[tuple[tuple[int, int], ...]] = field(init=False)
    """How many claims count each amount."""
    _by_amounts: dict[tuple[tuple[int, int], ...], TeamCharge] = field(init=False)

    def __post_init__(self) -> None:
        found = [self.charges[id(claim)] for claim in self.waiting]
        self._by_amounts = {charge.amounts: charge for charge in found}
        self._left = Counter(charge.amounts for charge in found)

    def turn(self) -> _Turn:
        """When its first claim is served."""
        first = self.waiting[-1]
        left = (amounts for amounts, count in self._left.items() if count)
        levels = min(self._by_amounts[amounts].levels_up() for amounts in left)
        order = claim_order(first)
        team = self.charges[id(first)].team
        shares = self.balance.shares(team) if levels == BORROWED else ()
        return levels, order[0], shares, order

    def pop(self) -> Claim:
        claim = self.waiting.pop()
        self._left[self.charges[id(claim)].amounts] -= 1
        return claim
