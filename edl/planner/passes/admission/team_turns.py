"""Which team's claim comes next, decided level by level of the team tree.

Among the children of one team, those whose next claim a guarantee of their own subtree covers come
first, then those with the smallest share of borrowed capacity. A served claim changes only the
figures of its own path, so the cost of the next turn depends on the depth of the tree.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import TYPE_CHECKING, Final, TypeAlias

from edl.planner.gangs.gang import Gang
from edl.planner.passes.admission.claim_order import Claim, ClaimingTeam, claim_order
from edl.planner.snapshot.last_resizes import JobReference
from edl.planner.teams.team_balance import NO_TEAM, TeamBalance, TeamCharge

if TYPE_CHECKING:
    from edl.planner.passes.admission.claim_order import ClaimOrder

FIRST_COVERED: Final = 0
"""A guarantee covers the first waiting claim."""
LATER_COVERED: Final = 1
"""A guarantee covers some later claim."""
NONE_COVERED: Final = 2

_Turn: TypeAlias = "tuple[int, int, float, ClaimOrder, int, _Branch]"
"""Sort key of a branch: coverage, negated priority, share, claim, team; and the branch."""


@dataclass(slots=True, eq=False)
class _Branch:
    """A team with the queues in it and below it; `below` is a heap of its children's turns."""

    balance: TeamBalance
    team: int
    parent: "_Branch | None" = None
    own: ClaimingTeam | None = None
    below: list[_Turn] = field(default_factory=list)
    hopeful: list[ClaimingTeam] = field(default_factory=list)
    """Queues in it and below it with a claim that its guarantee may cover."""
    chosen: ClaimingTeam | None = None
    """The queue that was first when the turn was last computed."""
    through: "_Branch | None" = None
    """The child branch that contains `chosen`; None if it is the team's own queue."""

    def turn(self) -> "_Turn | None":
        """Its sort key by the current usage of teams; None if no claim waits."""
        own, team, covered = self.own, self.team, NONE_COVERED
        share = self.balance.share(team)
        first = own.first if own and own.waiting else None
        if self.below and not (first and (covered, first[0], share, first) < self.below[0]):
            covered, _, _, first, _, self.through = self.below[0]
            queue = self.through.chosen
        else:
            queue, self.through = own, None
        if queue is None or first is None:
            return None
        self.chosen = queue
        if covered == FIRST_COVERED or queue.charge.is_within(team):
            covered, share = FIRST_COVERED, 0.0
        elif covered == LATER_COVERED or (self.hopeful and self.any_is_within()):
            covered, share = LATER_COVERED, 0.0
        return covered, first[0], share, first, team, self

    def any_is_within(self) -> bool:
        """Whether its guarantee covers any claim that waits in it or below it."""
        while self.hopeful and self.hopeful[-1].first_within(self.team) is None:
            self.hopeful.pop()
        return bool(self.hopeful)

    def replace(self, branch: "_Branch", turn: "_Turn | None") -> None:
        """Replace the turn of a child branch; None removes it."""
        if self.below[0][-1] is branch and not turn:
            heappop(self.below)
            return
        self.below = [one for one in self.below if one[-1] is not branch]
        self.below += [turn] if turn else []
        heapify(self.below)


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
    turns = TeamTurns(balance, [ClaimingTeam(team, found) for team, found in by_team.items()])
    yield from turns.claims()


class TeamTurns:
    """The claims of all teams, those of each team in its own order."""

    def __init__(self, balance: TeamBalance, queues: Sequence[ClaimingTeam]) -> None:
        self._balance, self._queues = balance, queues
        self._branches: dict[int, _Branch] = {}
        self._root: _Branch
        self._waiting = {
            reference
            for queue in queues
            for claim, _ in queue.claims
            if isinstance(claim, Gang)
            for reference in _references(claim)
        }
        self._rebuild()

    def claims(self) -> Iterator[Claim]:
        """Yields each claim once, by the usage of teams after the last one was served."""
        balance, changes = self._balance, self._balance.changes
        while self._root.below and (first := self._root.below[0][-1].chosen):
            queue, place = self._next(first)
            claim = queue.pop(place)
            if isinstance(claim, Gang):
                self._waiting -= _references(claim)
            yield claim
            if changes != balance.changes:  # usage of some teams fell, so they may come earlier
                changes = balance.changes
                for one in self._queues:
                    one.forget()
                self._rebuild()
            else:
                self._renew(queue)

    def _next(self, queue: ClaimingTeam) -> tuple[ClaimingTeam, int]:
        """The next claim: the first of the queue whose turn it is, or one that a guarantee covers.

        The covered one is served if the first would borrow all that it needs: another team's claim
        could preempt it, and it would then be served before that claim again. Also if the first
        would borrow a part while other teams wait for their guarantees.
        """
        charge, path = queue.charge, self._balance.paths[queue.team]
        for depth, team in enumerate(path):
            if charge.is_within(team):
                break
            if not self._branches[team].any_is_within():
                continue
            borrowed = all(charge.is_borrowed(one) for one in path[: depth + 1])
            found = self._first_within(team) if borrowed or self._contested else None
            return found or (queue, queue.head)
        return queue, queue.head

    def _first_within(self, team: int) -> tuple[ClaimingTeam, int] | None:
        """The first claim in a team and below it that the team's guarantee covers.

        Gangs that were preempted for a job that still waits are skipped.
        """
        found = []
        for queue in self._branches[team].hopeful:
            if (place := queue.first_within(team)) is None:
                continue
            claim = queue.claims[place][0]
            if not (isinstance(claim, Gang) and claim.preemptor in self._waiting):
                found.append((claim_order(claim), queue.team, place, queue))
        if not found:
            return None
        _, _, place, queue = min(found)
        return queue, place

    def _rebuild(self) -> None:
        """Compute all turns anew: required after the usage of a team has fallen."""
        root = _Branch(self._balance, NO_TEAM)
        branches = self._branches = {}
        for queue in self._queues:
            # From the top down, so that each branch finds its parent.
            above = root
            for team in reversed(self._balance.paths[queue.team]) if queue.waiting else ():
                if team not in branches:
                    branches[team] = _Branch(self._balance, team, above)
                above = branches[team]
                above.hopeful.append(queue)
            above.own = queue if queue.waiting else None
        # Children have larger numbers than their parents.
        for team in sorted(branches, reverse=True):
            branch = branches[team]
            heapify(branch.below)
            if (turn := branch.turn()) is not None:
                (branch.parent or root).below.append(turn)
        heapify(root.below)
        self._root = _where_teams_part(root)

    @property
    def _contested(self) -> bool:
        """Whether a guarantee covers a claim of another branch than the first one's, too."""
        branch: _Branch | None = self._root.below[0][-1] if self._root.below else None
        while branch and branch.parent:
            # The second smallest element of a heap is at index 1 or 2.
            if any(turn[0] < NONE_COVERED for turn in branch.parent.below[1:3]):
                return True
            branch = branch.through
        return False

    def _renew(self, queue: ClaimingTeam) -> None:
        """Update the turns above a queue after it was served or its team's usage has grown."""
        branch = self._branches[queue.team]
        while parent := branch.parent:
            turn, below = branch.turn(), parent.below
            if turn and below[0][-1] is branch:
                heapreplace(below, turn)
            else:
                parent.replace(branch, turn)
            branch = parent


def _where_teams_part(root: _Branch) -> _Branch:
    """The highest branch with several turns to compare: above it there is nothing to decide."""
    while len(root.below) == 1 and root.below[0][-1].own is None:
        root = root.below[0][-1]
        root.parent = None
    return root


def _references(claim: Gang) -> set[JobReference]:
    return {claim.job.key, *(role.uid for role in claim.job.roles)}
