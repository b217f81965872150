"""Which replicas a claim may take: by priority within a team, by guarantees between teams."""

from collections.abc import Sequence
from enum import Enum, IntEnum, auto
from typing import Final, NamedTuple

from edl.planner.teams.attribution import UsageAhead
from edl.planner.teams.team_balance import TeamBalance
from edl.planner.teams.team_charge import TeamCharge


class Margin(IntEnum):
    """Refines one priority: for claims what they may take, for roles when they yield."""

    __hash__ = int.__hash__  # that of enums is slow

    DELAYED = -2
    """A claim of a job queued for less than `reclaim_delay`: takes from lower priorities only."""
    NONE = 0
    NEARLY_DONE = 1
    """A nearly finished job; a claim that may take its replicas nevertheless."""
    MANUAL = 2
    """A role with a manual size."""


class ReclaimPriority(NamedTuple):
    """Totally ordered: a claim takes replicas of its own reclaim priority and below."""

    priority: int
    margin: Margin = Margin.NONE


NONE_RECLAIMABLE: Final = ReclaimPriority(-(2**63))
ALL_RECLAIMABLE: Final = ReclaimPriority(2**63)


class Reach(Enum):
    """Which of a team's extra replicas a claim may take."""

    NONE = auto()
    BY_PRIORITY = auto()
    ALL = auto()
    """At any priority: borrowed capacity returns to its owner."""


class TeamRight(NamedTuple):
    """What a claim of one team may take from other teams.

    `covered_by`: the lowest team of its path whose guarantee covers it; NO_TEAM if it borrows.
    `scarce`: indexes in the balance of the resources that it lacks.
    """

    balance: TeamBalance
    team: int
    covered_by: int
    scarce: tuple[int, ...] = ()

    @property
    def reclaims_jobs(self) -> bool:
        """Whether it may preempt whole jobs that borrow its guaranteed capacity."""
        return self.covered_by in self.balance.reclaims_jobs

    def reach(self, team: int) -> Reach:
        """Which extras of a team it may take, by the current balance."""
        if team == self.team:
            return Reach.BY_PRIORITY
        if not self.balance.all_borrow(self.team, team, self.scarce):
            return Reach.NONE
        return Reach.ALL if self.owns(team) else Reach.BY_PRIORITY

    def highest(self, priority: ReclaimPriority) -> Sequence[ReclaimPriority]:
        """By team, the highest reclaim priority that a claim of this priority may take."""
        borrowing = self.balance.borrowing_beside(self.team, self.scarce)
        of_others = ALL_RECLAIMABLE if self._owns_what_it_lacks else priority
        priorities = [of_others if borrows else NONE_RECLAIMABLE for borrows in borrowing]
        for team in self.balance.below(self.covered_by) if self._owns_what_it_lacks else ():
            priorities[team] = priority if borrowing[team] else NONE_RECLAIMABLE
        priorities[self.team] = priority
        return priorities

    @property
    def _owns_what_it_lacks(self) -> bool:
        covered = self.covered_by
        return covered >= 0 and all(
            index in self.balance.guaranteed[covered] for index in self.scarce
        )

    def owns(self, team: int) -> bool:
        """Whether a guarantee that the other team has no part in covers what it lacks."""
        return self._owns_what_it_lacks and self.covered_by not in self.balance.paths[team]

    def exceeds_guarantee(self, charge: TeamCharge | None, pods: int) -> bool:
        """Whether more is used, with `pods` more of a charge, than the guarantee that covers it.

        Only of what it lacks; False if no guarantee names that.
        """
        if not self._owns_what_it_lacks:
            return False
        guaranteed, used = (
            self.balance.guaranteed[self.covered_by],
            self.balance.used[self.covered_by],
        )
        more = dict(charge.amounts) if charge else {}
        return any(
            used[index] + more.get(index, 0) * pods > guaranteed[index]
            for index in self.scarce or guaranteed
        )

    def preempts_lower(self, job: TeamCharge, ahead: UsageAhead) -> bool:
        """Whether it may preempt a whole job of a lower priority: guarantees cover nothing of it.

        The job is judged as if it claimed its capacity anew, so that afterwards this claim comes
        before it in the order of claims; also in `reclaims`.
        """
        return all(
            job.is_borrowed(team, ahead[team])
            for team in self.balance.below_common(self.team, job.team)
        )

    def reclaims(self, job: TeamCharge, ahead: UsageAhead) -> bool:
        """Whether it may preempt a whole job of another team that guarantees do not cover wholly.

        It has a guarantee with `reclaim: jobs` of what it lacks.
        """
        return (
            self.reclaims_jobs
            and self.owns(job.team)
            and not any(
                job.is_within(team, ahead=ahead[team])
                for team in self.balance.below_common(self.team, job.team)
            )
        )


class ReclaimScope(NamedTuple):
    """Which replicas a claim may take. `right` is None if no teams are configured."""

    priority: ReclaimPriority
    right: TeamRight | None = None

    def reach(self, team: int) -> Reach:
        return Reach.BY_PRIORITY if self.right is None else self.right.reach(team)

    def includes(self, team: int, priority: ReclaimPriority) -> bool:
        """Whether it may take extras of this team and reclaim priority."""
        reach = self.reach(team)
        if reach is Reach.BY_PRIORITY:
            return priority <= self.priority
        return reach is Reach.ALL

    @property
    def reclaims_jobs(self) -> bool:
        return self.right is not None and self.right.reclaims_jobs

    def within(self, other: "ReclaimScope") -> bool:
        """Whether the other scope includes everything that this one does."""
        mine, others = self.right and self.right[1:], other.right and other.right[1:]
        return mine == others and self.priority <= other.priority


ALL_IN_REACH: Final = ReclaimScope(ALL_RECLAIMABLE)
NONE_IN_REACH: Final = ReclaimScope(NONE_RECLAIMABLE)
