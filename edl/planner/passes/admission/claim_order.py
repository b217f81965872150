"""The order in which claims are served.

Claims are ordered by priority, then other owners' pods, then first come first served. With teams,
this is the order within each team. Between teams, a team with a claim that a guarantee covers comes
before teams that borrow; among borrowers of one priority, the smallest share comes first. A team's
own guarantee comes before the unused guarantees of the teams above it. Other owners' pods of one
claim are counted one by one: the guarantee covers as many as fit in it, and the rest borrows.

A team whose turn is due to a covered claim serves its first claim instead, as long as that takes
nothing from other teams. If other teams wait for their guarantees, the covered claim is served.

A job that a claim may preempt comes after that claim (`TeamRight.stops`). Otherwise the two would
preempt each other in turns.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import heappop, heapreplace
from typing import Final, TypeAlias

from msgspec.structs import replace

from edl.model import Demand
from edl.planner.gangs.gang import Gang
from edl.planner.snapshot.last_resizes import JobReference
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_balance import NO_TEAM, TeamBalance, TeamCharge
from edl.planner.teams.team_turns import TeamPrecedence, TeamTurns

Claim: TypeAlias = Demand | Gang | RoleAllocation
_Order: TypeAlias = tuple[int, bool, datetime, tuple[str, ...]]
_Kind: TypeAlias = tuple[tuple[tuple[int, int], ...], int]
"""(charged amounts, identity of what yields to the claim): a guarantee covers all claims or none"""
_FIRST: Final = datetime.min.replace(tzinfo=UTC)


def claim_order(claim: Claim) -> _Order:
    """Sort key: priority, then other owners' pods, then first come first served."""
    if isinstance(claim, Demand):
        return (-claim.priority, False, _FIRST, (claim.example, repr(claim.shape)))
    return (-claim.job.priority, True, claim.job.queued_at, claim.job.key)


def priority_of(claim: Claim) -> int:
    return claim.priority if isinstance(claim, Demand) else claim.job.priority


def in_team_order(
    balance: TeamBalance, claims: Iterable[Claim], charge: Callable[[Claim], TeamCharge]
) -> Iterator[Claim]:
    """Yields each claim once, by the usage of teams after the last one was served.

    Other owners' pods come in parts. `charge`: the charge of a whole claim to its team, of one pod
    where the pods are other owners'.
    """
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
        if changes != balance.changes:  # usage of some teams fell, so they may come earlier
            changes = balance.changes
            for one in queues:
                one.forget()
            order.turns.rebuild()
        else:
            order.turns.renew(queue)


class TeamOrder:
    """Chooses the claim to serve when a team has its turn."""

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
        """Remove the next claim: the first of the queue, or one that a guarantee covers.

        The covered one is served if the first would borrow all that it needs: another team's claim
        could preempt it, and it would then be served before that claim again. Also if the first
        would borrow a part while other teams wait for their guarantees.
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
        """The first claim that the guarantee of `team` covers.

        Gangs that were preempted for a job that still waits are skipped.
        """
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


def _kind(charge: TeamCharge) -> _Kind:
    return charge.amounts, id(charge.yielding)


def _references(claim: Gang) -> set[JobReference]:
    return {claim.job.key, *(role.uid for role in claim.job.roles)}


@dataclass(slots=True)
class ClaimingTeam:
    """The claims of one team in its own order."""

    team: int
    path: tuple[int, ...]
    """The team and its ancestors, bottom up."""
    claims: list[tuple[Claim, TeamCharge]]
    """All claims in order, served ones included."""
    head: int = 0
    """The index of the first waiting claim."""
    _parted: dict[int, int] = field(default_factory=dict)
    """By index of a claim, the team whose guarantee covered the part that was served last."""
    _served: set[int] = field(default_factory=set)
    """Indexes of served claims after the head."""
    _alike: defaultdict[_Kind, deque[int]] = field(init=False)
    """By kind, the indexes of the waiting claims."""
    _hopeful: dict[int, list[tuple[int, _Kind]]] = field(default_factory=dict)
    """By team, a heap of (index of the first such claim, kind) that its guarantee may cover.
    Kinds that it does not cover are dropped, as usage only grows until `forget`."""

    def __post_init__(self) -> None:
        self._alike = defaultdict(deque)
        for place, (_, charge) in enumerate(self.claims):
            self._alike[_kind(charge)].append(place)

    @property
    def waiting(self) -> bool:
        return self.head < len(self.claims)

    @property
    def charge(self) -> TeamCharge:
        """The charge of the first waiting claim."""
        return self.claims[self.head][1]

    @property
    def first(self) -> tuple[TeamPrecedence, TeamPrecedence]:
        order = claim_order(self.claims[self.head][0])
        return order[:1], order

    def any_is_within(self, team: int) -> bool:
        return self.first_within(team) is not None

    def first_within(self, team: int) -> int | None:
        """The index of the first waiting claim that the guarantee of a team on the path covers."""
        hopeful = self._hopeful.get(team)
        if hopeful is None:
            places = ((alike[0], kind) for kind, alike in self._alike.items() if alike)
            hopeful = self._hopeful[team] = sorted(places)
        while hopeful:
            place, kind = hopeful[0]
            alike = self._alike[kind]
            if not (alike and self.claims[alike[0]][1].is_within(team)):
                heappop(hopeful)
            elif alike[0] != place:
                heapreplace(hopeful, (alike[0], kind))
            else:
                return place
        return None

    def pop(self, place: int) -> Claim:
        """Remove the claim at this index, which must be the first of those with its charge."""
        claim, charge = self.claims[place]
        if isinstance(claim, Demand) and (part := self._part(place, claim, charge)):
            return part
        self._served.add(place)
        self._alike[_kind(charge)].popleft()
        while self.head in self._served:
            self._served.discard(self.head)
            self.head += 1
        return claim

    def _part(self, place: int, claim: Demand, charge: TeamCharge) -> Demand | None:
        """The pods that a guarantee covers, if not all; the rest stays. Once for each guarantee."""
        team = charge.covered_by()
        if team in (NO_TEAM, self._parted.get(place)):
            return None
        self._parted[place] = team
        pods = charge.pods_within(team)
        if pods >= claim.count:
            return None
        self.claims[place] = replace(claim, count=claim.count - pods), charge
        return replace(claim, count=pods)

    def forget(self) -> None:
        """Drop cached coverage, after the usage of a team has fallen."""
        self._hopeful.clear()
