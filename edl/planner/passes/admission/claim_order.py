"""The order in which claims are served.

Priority, then pods of others, then first come first served. With teams it is so inside each of
them; between teams, one with a claim within its guarantee comes before those that borrow, and of
these, within one priority, the one furthest below its fair share. A team's own guarantee comes
before what is unused of those above it. A team's own order holds: what comes first in it is served
first, even if a later claim is the one within the guarantee. Such a team comes after those whose
first claim is, for what it is served may borrow.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import heappop, heapreplace
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
_Amounts: TypeAlias = tuple[tuple[int, int], ...]
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
    for claim in sorted(claims, key=claim_order):
        found = charge(claim)
        by_team[found.team].append((claim, found))
    queues = {
        team: ClaimingTeam(team, balance.paths[team], found) for team, found in by_team.items()
    }
    turns, changes = TeamTurns(balance, queues.values()), balance.changes
    while found_queue := turns.first:
        queue = queues[found_queue.team]
        yield queue.pop(contested=turns.contested)
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
    path: tuple[int, ...]
    """The team itself, and those above it."""
    claims: list[tuple[Claim, TeamCharge]]
    """The first first; those that were served stay."""
    _head: int = 0
    """The place of the first that waits."""
    _served: set[int] = field(default_factory=set)
    _alike: dict[_Amounts, deque[int]] = field(init=False)
    """The places of the claims that count the same."""
    _hopeful: dict[int, list[tuple[int, _Amounts]]] = field(default_factory=dict)
    """By team, what may still be within its guarantee, with the place of the first such claim:
    teams hold more and more. A heap."""

    def __post_init__(self) -> None:
        self._alike = defaultdict(deque)
        for place, (_, charge) in enumerate(self.claims):
            self._alike[charge.amounts].append(place)

    @property
    def waiting(self) -> bool:
        return self._head < len(self.claims)

    @property
    def first(self) -> tuple[Precedence, Precedence]:
        order = claim_order(self.claims[self._head][0])
        return order[:1], order

    def covered(self, team: int) -> int:
        """Where a later claim of the team is, the claims before it may be served with it."""
        if self.claims[self._head][1].is_within(team):
            return FIRST_COVERED
        return NONE_COVERED if self._first_within(team) is None else LATER_COVERED

    def _first_within(self, team: int) -> int | None:
        """The place of the first claim that stays within the guarantee of a team of the path."""
        hopeful = self._hopeful.get(team)
        if hopeful is None:
            places = ((alike[0], amounts) for amounts, alike in self._alike.items() if alike)
            hopeful = self._hopeful[team] = sorted(places)
        while hopeful:
            place, amounts = hopeful[0]
            alike = self._alike[amounts]
            if not (alike and self.claims[alike[0]][1].is_within(team)):
                heappop(hopeful)
            elif alike[0] != place:
                heapreplace(hopeful, (alike[0], amounts))
            else:
                return place
        return None

    def pop(self, *, contested: bool) -> Claim:
        """The claim that is served next. `contested`: other teams' wait within guarantees, too.

        The first of the team, unless it borrows, and a later one is within the guarantee: a claim
        that borrows all that it needs could go for a claim of another team, and one that borrows a
        part could take what is guaranteed to them.
        """
        place, charge = self._head, self.claims[self._head][1]
        for depth, team in enumerate(self.path):
            later = self._first_within(team)
            if later is None:
                continue
            borrowed = all(charge.is_borrowed(one) for one in self.path[: depth + 1])
            if contested or borrowed:
                place = later
            break
        self._served.add(place)
        self._alike[self.claims[place][1].amounts].popleft()
        while self._head in self._served:
            self._served.discard(self._head)
            self._head += 1
        return self.claims[place][0]

    def forget(self) -> None:
        """Teams hold less than before: what was not within may be."""
        self._hopeful.clear()
