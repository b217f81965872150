"""Whose replicas a claim may take: by priority inside a team, by guarantees between teams."""

from collections.abc import Sequence
from enum import Enum, IntEnum, auto
from typing import Final, NamedTuple, Protocol

from edl.planner.teams.team_balance import TeamBalance, TeamCharge


class Margin(IntEnum):
    """Within one priority: less urgent claims, and roles that keep replicas longer."""

    DELAYED = -2
    """A claim that has just come takes of lower priorities alone."""
    NONE = 0
    NEARLY_DONE = 1
    """A job that ends soon; claims that may take its replicas all the same."""
    MANUAL = 2
    """A size that its user asked for."""


class ReclaimPriority(NamedTuple):
    """Ordered: a claim takes replicas of its own reclaim priority and below."""

    priority: int
    margin: Margin = Margin.NONE


NONE_RECLAIMABLE: Final = ReclaimPriority(-(2**63))
ALL_RECLAIMABLE: Final = ReclaimPriority(2**63)


class Reach(Enum):
    """What a claim may take of a team's replicas."""

    NONE = auto()
    BY_PRIORITY = auto()
    ALL = auto()
    """Borrowed capacity returns to its owner, whatever the borrower's priority is."""


class Holder(Protocol):
    """A role with replicas above its minimum."""

    @property
    def team(self) -> int: ...

    @property
    def reclaim_priority(self) -> ReclaimPriority: ...


class TeamRight(NamedTuple):
    """What a claim of one team may take of others.

    `covered_by` is the lowest team of its path within whose guarantee it stays, NO_TEAM if it
    borrows. `scarce` are the resources, by their place in the balance, that it lacks.
    """

    balance: TeamBalance
    team: int
    covered_by: int
    scarce: tuple[int, ...] = ()

    @property
    def reclaims_jobs(self) -> bool:
        """Whether whole jobs may go that borrow what it is guaranteed."""
        return self.covered_by in self.balance.reclaims_jobs

    def reach(self, team: int) -> Reach:
        """As the balance is now."""
        if team == self.team:
            return Reach.BY_PRIORITY
        if not self.balance.all_borrow(self.team, team, self.scarce):
            return Reach.NONE
        return Reach.ALL if self._owns(team) else Reach.BY_PRIORITY

    def highest(self, priority: ReclaimPriority) -> Sequence[ReclaimPriority]:
        """By team, the highest priority of replicas that a claim of this one may take."""
        borrowing = self.balance.borrowing_beside(self.team, self.scarce)
        of_others = ALL_RECLAIMABLE if self._owns_what_it_lacks else priority
        found = [of_others if borrows else NONE_RECLAIMABLE for borrows in borrowing]
        for team in self.balance.below(self.covered_by) if self._owns_what_it_lacks else ():
            found[team] = priority if borrowing[team] else NONE_RECLAIMABLE
        found[self.team] = priority
        return found

    @property
    def _owns_what_it_lacks(self) -> bool:
        covered = self.covered_by
        return covered >= 0 and all(at in self.balance.owed[covered] for at in self.scarce)

    def _owns(self, team: int) -> bool:
        """Whether what it lacks is guaranteed to it, and not to another team as well."""
        return self._owns_what_it_lacks and self.covered_by not in self.balance.paths[team]

    def stops(self, job: TeamCharge, *, lower: bool) -> bool:
        """Whether a whole job may go, which has just been counted out of its team.

        What decides is what it would be if it asked again: the order of claims is the same, so
        that the claim for which it went comes before it. `lower`: its priority is, and that counts.
        """
        if job.team == self.team:
            return lower
        above = self.balance.below_common(self.team, job.team)
        if lower and all(job.is_borrowed(one) for one in above):
            return True
        return (
            self.reclaims_jobs
            and self._owns(job.team)
            and not any(job.is_within(one) for one in above)
        )


class ReclaimScope(NamedTuple):
    """Which replicas a claim may take. `right` is None where no teams are configured."""

    priority: ReclaimPriority
    right: TeamRight | None = None

    def reach(self, team: int) -> Reach:
        return Reach.BY_PRIORITY if self.right is None else self.right.reach(team)

    def includes(self, allocation: Holder) -> bool:
        reach = self.reach(allocation.team)
        if reach is Reach.BY_PRIORITY:
            return allocation.reclaim_priority <= self.priority
        return reach is Reach.ALL

    @property
    def reclaims_jobs(self) -> bool:
        return self.right is not None and self.right.reclaims_jobs

    def within(self, other: "ReclaimScope") -> bool:
        """Whether it takes nothing that another could not."""
        mine, others = self.right and self.right[1:], other.right and other.right[1:]
        return mine == others and self.priority <= other.priority


ALL_IN_REACH: Final = ReclaimScope(ALL_RECLAIMABLE)
NONE_IN_REACH: Final = ReclaimScope(NONE_RECLAIMABLE)
