"""The order in which claims are served.

Priority, then pods of others, then first come first served. With teams it is so inside each of
them; between teams, one with a claim within its guarantee comes before those that borrow, and of
these, within one priority, the one furthest below its fair share. A team's own guarantee comes
before what is unused of those above it. A team's own order holds where it takes nothing from the
others: what comes first in it is served first, even if a later claim is the one within the
guarantee. Where other teams wait for theirs, the claim within the guarantee is served alone.

What a claim may stop comes after it here (`TeamRight.stops`): else both would start by turns.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import heappop, heapreplace
from typing import Final, TypeAlias

from edl.model import Demand
from edl.planner.passes.admission.gang import Gang
from edl.planner.snapshot.last_resizes import JobReference
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_balance import TeamBalance, TeamCharge
from edl.planner.teams.team_turns import TeamPrecedence, TeamTurns

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
    queues = [ClaimingTeam(team, balance.paths[team], found) for team, found in by_team.items()]
    order = TeamOrder(TeamTurns(balance, queues), queues)
    changes = balance.changes
    while first := order.turns.first:
        claim, queue = order.pop(first)
        yield claim
        if changes != balance.changes:  # some hold less than before: they may come earlier
            changes = balance.changes
            for one in queues:
                one.forget()
            order.turns.rebuild()
        else:
            order.turns.renew(queue)


class TeamOrder:
    """Which claim is served when a team has its turn."""

    def __init__(self, turns: "TeamTurns[ClaimingTeam]", queues: Iterable["ClaimingTeam"]) -> None:
        self.turns = turns
        self._waiting = {
            reference
            for queue in queues
            for claim, _ in queue.claims
            if isinstance(claim, Gang)
            for reference in _references(claim)
        }

    def pop(self, queue: "ClaimingTeam") -> tuple[Claim, "ClaimingTeam"]:
        """The claim that is served next, and its team: the first one, or one within a guarantee.

        A first claim that borrows all that it needs could go for a claim of another team, and come
        back before it. One that borrows a part could take what is guaranteed to others that wait.
        """
        queue, place = self._turn(queue)
        claim = queue.pop(place)
        if isinstance(claim, Gang):
            self._waiting -= _references(claim)
        return claim, queue

    def _turn(self, queue: "ClaimingTeam") -> tuple["ClaimingTeam", int]:
        charge = queue.charge
        for depth, team in enumerate(queue.path):
            if charge.is_within(team):
                break
            within = self.turns.within(team)
            if not within:
                continue
            borrowed = all(charge.is_borrowed(one) for one in queue.path[: depth + 1])
            found = self._first(team, within) if borrowed or self.turns.contested else None
            return found or (queue, queue.head)
        return queue, queue.head

    def _first(
        self, team: int, within: Iterable["ClaimingTeam"]
    ) -> tuple["ClaimingTeam", int] | None:
        """The first of the claims within a guarantee; not what made room for one that waits."""
        found = []
        for queue in within:
            place = queue.first_within(team)
            claim = queue.claims[place or 0][0]
            if place is None or (isinstance(claim, Gang) and claim.preemptor in self._waiting):
                continue
            found.append((claim_order(claim), queue.team, place, queue))
        if not found:
            return None
        _, _, place, queue = min(found)
        return queue, place


def _references(claim: Gang) -> set[JobReference]:
    return {claim.job.key, *(role.uid for role in claim.job.roles)}


@dataclass(slots=True)
class ClaimingTeam:
    """The claims of one team in its own order."""

    team: int
    path: tuple[int, ...]
    """The team itself, and those above it."""
    claims: list[tuple[Claim, TeamCharge]]
    """The first first; those that were served stay."""
    head: int = 0
    """The place of the first that waits."""
    _served: set[int] = field(default_factory=set)
    """Places after the head."""
    _alike: defaultdict[_Amounts, deque[int]] = field(init=False)
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
        return self.head < len(self.claims)

    @property
    def charge(self) -> TeamCharge:
        """The charge of the first."""
        return self.claims[self.head][1]

    @property
    def first(self) -> tuple[TeamPrecedence, TeamPrecedence]:
        order = claim_order(self.claims[self.head][0])
        return order[:1], order

    def any_is_within(self, team: int) -> bool:
        return self.first_within(team) is not None

    def first_within(self, team: int) -> int | None:
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

    def pop(self, place: int) -> Claim:
        """Take the claim of this place, the first of those that count the same."""
        claim, charge = self.claims[place]
        self._served.add(place)
        self._alike[charge.amounts].popleft()
        while self.head in self._served:
            self._served.discard(self.head)
            self.head += 1
        return claim

    def forget(self) -> None:
        """Teams hold less than before: what was not within may be."""
        self._hopeful.clear()
