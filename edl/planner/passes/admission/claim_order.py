"""The order in which claims are served.

Priority, then pods of others, then first come first served. With teams it is so inside each of
them; between teams, one with a claim within its guarantee comes before those that borrow, and of
these, within one priority, the one furthest below its fair share. A team's own guarantee comes
before what is unused of those above it. A team's own order holds: what comes first in it is served
first, even if a later claim is the one within the guarantee. Such a team comes after those whose
first claim is, for what it is served may borrow.
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
from edl.planner.teams.team_turns import (
    FIRST_COVERED,
    LATER_COVERED,
    NONE_COVERED,
    Precedence,
    TeamTurns,
)

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
            for one in queues.values():
                one.forget()
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
    _hopeful: dict[int, list[tuple[tuple[int, int], ...]]] = field(default_factory=dict)
    """By team, the amounts that may still be within its guarantee: teams hold more and more."""

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

    def covered(self, team: int) -> int:
        """Where a later claim of the team is, the claims before it are served with it."""
        if self.claims[-1][1].is_within(team):
            return FIRST_COVERED
        hopeful = self._hopeful.setdefault(team, list(self._charges))
        while hopeful and not (
            self._left[hopeful[-1]] and self._charges[hopeful[-1]].is_within(team)
        ):
            hopeful.pop()
        return LATER_COVERED if hopeful else NONE_COVERED

    def forget(self) -> None:
        """Teams hold less than before: what was not within may be."""
        self._hopeful.clear()

    def pop(self) -> None:
        _, charge = self.claims.pop()
        self._left[charge.amounts] -= 1
