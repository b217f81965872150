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
from typing import Final, TypeAlias

from edl.model import Demand
from edl.planner.passes.admission.gang import Gang
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_balance import TeamBalance, TeamCharge
from edl.planner.teams.team_turns import Precedence, TeamTurns

Claim: TypeAlias = Demand | Gang | RoleAllocation
_Order: TypeAlias = tuple[int, bool, datetime, tuple[str, ...]]
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
    by_team: defaultdict[int, list[tuple[Claim, TeamCharge]]] = defaultdict(list)
    for claim in sorted(claims, key=claim_order, reverse=True):
        found = charge(claim)
        by_team[found.team].append((claim, found))
    queues = {team: ClaimingTeam(team, found) for team, found in by_team.items()}
    turns, changes = TeamTurns(balance, queues.values()), balance.changes
    while found_queue := turns.first:
        queue = queues[found_queue.team]
        yield queue.next
        queue.pop()
        if changes != balance.changes:  # some hold less than before: they may come earlier
            changes = balance.changes
            turns.rebuild()
        else:
            turns.renew()


@dataclass(slots=True)
class ClaimingTeam:
    """The claims of one team in its own order."""

    team: int
    claims: list[tuple[Claim, TeamCharge]]
    """The first last."""
    _left: Counter[tuple[tuple[int, int], ...]] = field(init=False)
    """How many claims count each amount."""
    _charges: dict[tuple[tuple[int, int], ...], TeamCharge] = field(init=False)

    def __post_init__(self) -> None:
        self._charges = {charge.amounts: charge for _, charge in self.claims}
        self._left = Counter(charge.amounts for _, charge in self.claims)

    @property
    def waiting(self) -> bool:
        return bool(self.claims)

    @property
    def next(self) -> Claim:
        return self.claims[-1][0]

    @property
    def first(self) -> tuple[Precedence, Precedence]:
        order = claim_order(self.next)
        return order[:1], order

    def is_within(self, team: int) -> bool:
        """Whether any claim of the team is: the claims before it are served with it."""
        return any(
            self._charges[amounts].is_within(team) for amounts, left in self._left.items() if left
        )

    def pop(self) -> None:
        _, charge = self.claims.pop()
        self._left[charge.amounts] -= 1
