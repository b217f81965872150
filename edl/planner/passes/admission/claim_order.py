"""The order in which claims are served.

Claims are ordered by priority, then other owners' pods, then first come first served. With teams,
this is the order within each team. Between teams, a team with a claim that a guarantee covers comes
before teams that borrow; among borrowers of one priority, the smallest share comes first. A team's
own guarantee comes before the unused guarantees of the teams above it. Other owners' pods of one
claim are counted one by one: the guarantee covers as many as fit in it, and the rest borrows.

A team whose turn is due to a covered claim serves its first claim instead, as long as that takes
nothing from other teams. If other teams wait for their guarantees, the covered claim is served.

A job that a claim may preempt comes after that claim (`TeamRight.reclaims`). Otherwise the two
would preempt each other in turns.
"""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import heappop, heapreplace
from typing import Final, TypeAlias

from msgspec.structs import replace

from edl.model import Demand
from edl.planner.gangs.gang import Gang
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.team_charge import TeamCharge
from edl.planner.teams.team_guarantees import NO_TEAM

Claim: TypeAlias = Demand | Gang | RoleAllocation
ClaimOrder: TypeAlias = tuple[int, bool, datetime, tuple[str, ...]]
_Kind: TypeAlias = tuple[tuple[tuple[int, int], ...], int]
"""(charged amounts, identity of what yields to the claim): a guarantee covers all claims or none"""
_FIRST: Final = datetime.min.replace(tzinfo=UTC)


def claim_order(claim: Claim) -> ClaimOrder:
    """Sort key: priority, then other owners' pods, then first come first served."""
    if isinstance(claim, Demand):
        return (-claim.priority, False, _FIRST, (claim.example, repr(claim.shape)))
    return (-claim.job.priority, True, claim.job.queued_at, claim.job.key)


def priority_of(claim: Claim) -> int:
    return claim.priority if isinstance(claim, Demand) else claim.job.priority


def _kind(charge: TeamCharge) -> _Kind:
    return charge.amounts, id(charge.yielding)


@dataclass(slots=True)
class ClaimingTeam:
    """The claims of one team in its own order."""

    team: int
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
    def first(self) -> ClaimOrder:
        """The sort key of the first waiting claim."""
        return claim_order(self.claims[self.head][0])

    def first_within(self, team: int) -> int | None:
        """The index of the first waiting claim that the guarantee of a team on the path covers.

        Once None, it stays None until a team's usage falls (`forget`).
        """
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
