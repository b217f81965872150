"""Which team's claim comes next.

Among the children of one team, those whose next claim a guarantee of their own subtree covers come
first, then those with the smallest share of borrowed capacity.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush, heapreplace
from typing import Final, TypeAlias

from edl.job_state.last_changes import JobReference
from edl.planner.gangs.gang import Gang
from edl.planner.passes.admission.claim_order import Claim, ClaimingTeam, ClaimOrder, claim_order
from edl.planner.teams.team_balance import TeamBalance
from edl.planner.teams.team_charge import TeamCharge
from edl.planner.teams.team_guarantees import NO_TEAM
from edl.planner.teams.team_turns import Level, Levels, TeamTurns

FIRST_COVERED: Final = 0
"""A guarantee covers the first waiting claim."""
LATER_COVERED: Final = 1
"""A guarantee covers some later claim."""
NONE_COVERED: Final = 2

_Key: TypeAlias = tuple[int, int, float, ClaimOrder]
"""(coverage, negated priority, share, order of the claim)"""
_Turn: TypeAlias = tuple[_Key, int, ClaimingTeam]
"""(sort key, team, the team in it or below it whose claim that is)"""


def in_team_order(
    balance: TeamBalance, claims: Iterable[Claim], charge: Callable[[Claim], TeamCharge]
) -> Iterator[Claim]:
    """Yields each claim once, by the usage of teams after the last one was served.

    Other owners' pods come in parts. `charge`: the charge of a whole claim to its team, of one pod
    where the pods are other owners'.
    """
    by_team: defaultdict[int, list[tuple[Claim, TeamCharge]]] = defaultdict(list)
    for claim in sorted(claims, key=claim_order):
        pod_charge = charge(claim)
        by_team[pod_charge.team].append((claim, pod_charge))
    queues = {team: ClaimingTeam(team, queue) for team, queue in by_team.items()}
    return _ClaimTurns(balance, queues).in_order()


class _ClaimTurns(TeamTurns[ClaimingTeam, _Turn]):
    """The claims of all teams, those of each team in its own order."""

    def __init__(self, balance: TeamBalance, queues: dict[int, ClaimingTeam]) -> None:
        super().__init__(balance, queues, ClaimingTeam(NO_TEAM, []))
        self._queues = queues
        self._hopeful: dict[int, list[ClaimingTeam]] = {}
        """By team, queues in it and below it with a claim that its guarantee may cover."""
        self._waiting = {
            reference
            for queue in queues.values()
            for claim, _ in queue.claims
            if isinstance(claim, Gang)
            for reference in _references(claim)
        }

    def in_order(self) -> Iterator[Claim]:
        """Yields each claim once, by the usage of teams after the last one was served.

        All turns are computed anew if `TeamUsage.falls` tells that usage fell.
        """
        falls, levels, served = self.balance.falls, self.start(), False
        while True:
            if falls != self.balance.falls:
                falls, levels, served = self.balance.falls, self.start(), False
            for level in levels:
                self._renew(level, served=served)
            if not self.first:
                return
            queue, place = self._next(self.first[0][2])
            claim = queue.pop(place)
            if isinstance(claim, Gang):
                self._waiting -= _references(claim)
            yield claim
            levels, served = self.paths[queue.team], True

    def start(self) -> Levels[ClaimingTeam, _Turn]:
        """Drop cached coverage as well, as the usage of a team has fallen."""
        self._hopeful = defaultdict(list)
        for queue in self._queues.values():
            queue.forget()
            for team in self.balance.paths[queue.team] if queue.waiting else ():
                self._hopeful[team].append(queue)
        return super().start()

    def _renew(self, level: Level[ClaimingTeam, _Turn], *, served: bool) -> None:
        """Add a team's turn; after it was served, in the place of the last, first or not."""
        turn, team, heap = self._turn(level), level[0], level[3]
        if behind := served and heap[0][1] != team:
            place = next(place for place, entry in enumerate(heap) if entry[1] == team)
            heap[0], heap[place] = heap[place], heap[0]
        if turn:
            (heapreplace if served else heappush)(heap, turn)
        elif served:
            heappop(heap)
        if behind:
            heapify(heap)

    def _turn(self, level: Level[ClaimingTeam, _Turn]) -> _Turn | None:
        """A team's turn by the current usage; None if no claim waits."""
        team, queue, below = level[:3]
        covered, first = NONE_COVERED, queue.first if queue.waiting else None
        share = self.balance.share(team)
        if below and not (first and (covered, first[0], share, first) <= below[0][0]):
            (covered, _, _, first), _, queue = below[0]
        if first is None:
            return None
        if covered == FIRST_COVERED or queue.charge.is_within(team):
            covered, share = FIRST_COVERED, 0.0
        elif covered == LATER_COVERED or (self._hopeful[team] and self._any_is_within(team)):
            covered, share = LATER_COVERED, 0.0
        return (covered, first[0], share, first), team, queue

    def _any_is_within(self, team: int) -> bool:
        """Whether a team's guarantee covers any claim that waits in it or below it."""
        hopeful = self._hopeful[team]
        while hopeful and hopeful[-1].first_within(team) is None:
            hopeful.pop()
        return bool(hopeful)

    def _next(self, queue: ClaimingTeam) -> tuple[ClaimingTeam, int]:
        """The next claim: the first of the queue whose turn it is, or one that a guarantee covers.

        The covered one is served if the first would borrow all that it needs: another team's claim
        could preempt it, and it would then be served before that claim again. Also if the first
        would borrow a part while other teams wait for their guarantees.
        """
        charge, path = queue.charge, self.balance.paths[queue.team]
        for depth, team in enumerate(path):
            if charge.is_within(team):
                break
            if not self._any_is_within(team):
                continue
            borrowed = all(charge.is_borrowed(lower) for lower in path[: depth + 1])
            entry = self._first_within(team) if borrowed or self._is_contested(queue) else None
            return entry or (queue, queue.head)
        return queue, queue.head

    def _first_within(self, team: int) -> tuple[ClaimingTeam, int] | None:
        """The first claim in a team and below it that the team's guarantee covers.

        Gangs that were preempted for a job that still waits are skipped.
        """
        candidates = []
        for queue in self._hopeful[team]:
            if (place := queue.first_within(team)) is None:
                continue
            claim = queue.claims[place][0]
            if not (isinstance(claim, Gang) and claim.preemptor in self._waiting):
                candidates.append((claim_order(claim), queue.team, place, queue))
        if not candidates:
            return None
        _, _, place, queue = min(candidates)
        return queue, place

    def _is_contested(self, queue: ClaimingTeam) -> bool:
        """Whether a guarantee covers a claim of another team than the one whose turn it is, too."""
        # The second smallest element of a heap is at index 1 or 2.
        others = (turn for level in self.paths[queue.team] for turn in level[3][1:3])
        return any(key[0] < NONE_COVERED for key, _, _ in others)


def _references(claim: Gang) -> set[JobReference]:
    return {claim.job.key, *(role.uid for role in claim.job.roles)}
