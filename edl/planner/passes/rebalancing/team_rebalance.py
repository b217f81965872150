"""Replicas move between teams in a full cluster: what is borrowed returns to its owner.

A replica moves to the team that is furthest below its share, from one that stays above it. So what
strictly improves is the sorted list of the teams' shares (leximin), and no move is undone. A team
within its guarantee has the share 0: it takes of all that borrow, and nothing is taken of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from edl import reasons
from edl.feasibility.horizon import FUTURE_IDLE
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.passes.reclaim import Reservation, reserve_capacity
from edl.planner.passes.team_growth import growth_turns
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.reclaimable import Reclaimable, ReclaimOrder, reclaim_order
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import ALL_IN_REACH
from edl.planner.teams.team_balance import NO_TEAM, TeamBalance, TeamCharge

if TYPE_CHECKING:
    from edl.planner.packing.pod_class import PodClass

_TRIES: Final = 4
"""Searches of one plan; the next one goes on."""


@dataclass(slots=True)
class TeamRebalance:
    """Moves replicas to the first team of those that could grow, until no move is fair."""

    snapshot: Snapshot
    ceiling: GrowthCeiling
    balance: TeamBalance
    _version: int = -1
    _stay_above: dict[tuple[int, int, tuple[tuple[int, int], ...]], bool] = field(
        default_factory=dict
    )
    """Whether a team that gives such a replica stays above another; of the balance's `_version`."""

    def run(self, stuck: Sequence[RoleAllocation]) -> int:
        """The team that is furthest below its share of those that could grow, after all moves."""
        stuck = [one for one in stuck if _has_budget(one)]
        waiting = [one for one in stuck if one.resizable and not one.restarts_to_resize]
        turns, queues = growth_turns(self.balance, self.snapshot.policy, waiting)
        hopeless: set[tuple[int, PodClass]] = set()
        tries = _TRIES
        while tries > 0 and (found := turns.first):
            recipient = queues[found.team].role
            kind = (recipient.team, recipient.pod_class)
            if kind not in hopeless:
                if not self._may_take(recipient):
                    break
                tries -= 1
                if self._serve(recipient):
                    queues[found.team].renew()
                    turns.rebuild()
                    continue
                hopeless.add(kind)
            queues[found.team].drop()
            turns.renew(found)
        left = (one for one in stuck if one.size < one.max_replicas)
        first = growth_turns(self.balance, self.snapshot.policy, left)[0].first
        return first.team if first else NO_TEAM

    def _may_take(self, recipient: RoleAllocation) -> bool:
        """Whether it may grow now, and some team has a larger share."""
        charge = recipient.quota_request
        if recipient.hold_reason or charge is None or not charge.allows(FUTURE_IDLE):
            return False
        return any(self._gives(recipient.team, team) for team in self._teams())

    def _gives(self, team: int, other: int) -> bool:
        """Whether a team has more than another, where their paths part."""
        pair = self._parted(team, other)
        return pair is not None and self.balance.share(pair[1]) > self.balance.share(pair[0])

    def _parted(self, team: int, other: int) -> tuple[int, int] | None:
        """Where the paths of two teams part, each one's own; None where one is above the other."""
        mine = self.balance.below_common(other, team)
        theirs = self.balance.below_common(team, other)
        return (mine[-1], theirs[-1]) if mine and theirs else None

    def _serve(self, recipient: RoleAllocation) -> bool:
        usual = reclaim_order(self.snapshot)
        order = ReclaimOrder(lambda donor: self._least(recipient.team, donor), usual.key)
        giving = {team for team in self._teams() if self._may_lose(recipient.team, team)}
        donors = [one for one in self.snapshot.allocations if one.team in giving and _may_give(one)]
        reclaimable = Reclaimable(self.snapshot, donors, order)
        request = recipient.quota_request
        reservation = Reservation(
            self.snapshot.capacity,
            [PodSetRequest(recipient.pod_class, 1)],
            self.ceiling.holds,
            request,
        )
        if not reserve_capacity(reservation, reclaimable, ALL_IN_REACH, whole=True):
            return False
        recipient.place_pipelined(reservation.nodes[0][0])
        for donor in reservation.evicted:
            if donor.size < donor.role.status.size:
                code = self.snapshot.policy.rebalance_code
                donor.reason = donor.reason or reasons.gave(code, recipient.job.key)
        return True

    def _least(self, team: int, donor: RoleAllocation) -> int:
        """How many replicas a donor keeps at least: all, where its team would fall below `team`."""
        charge = donor.quota_request.team if donor.quota_request else None
        if charge is None:
            return donor.size
        if self._version != self.balance.version:
            self._version = self.balance.version
            self._stay_above.clear()
        asked = (team, donor.team, charge.amounts)
        stays = self._stay_above.get(asked)
        if stays is None:
            stays = self._stay_above[asked] = self._stays_above(team, charge)
        return donor.min_replicas if stays else donor.size

    def _stays_above(self, team: int, charge: TeamCharge) -> bool:
        """Whether a team that gives one replica has more than another all the same."""
        pair = self._parted(team, charge.team)
        if pair is None or not self._may_lose(team, charge.team):
            return False
        return self.balance.share_with(pair[1], charge, -1) > self.balance.share(pair[0])

    def _may_lose(self, team: int, other: int) -> bool:
        """Whether a team borrows at each level at which another is beside it, and has more."""
        return self._gives(team, other) and self.balance.all_borrow(team, other)

    def _teams(self) -> set[int]:
        return {one.team for one in self.snapshot.allocations}


def _has_budget(recipient: RoleAllocation) -> bool:
    """A role without it takes nothing from any donor: it holds back no other role."""
    return recipient.quota_request is None or recipient.quota_request.allows(FUTURE_IDLE)


def _may_give(donor: RoleAllocation) -> bool:
    stays = donor.manual or donor.cooling_down or donor.nearly_done or donor.job.missing
    return donor.resizable and not (stays or donor.starts)
