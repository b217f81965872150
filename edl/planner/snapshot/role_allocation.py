"""One role while a plan is made: its placements, and how far it may be resized."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.model import Pod, Reason, ResizePolicy, Role, TrainingJob
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.quota_balance import NOT_COUNTED, QuotaRequest
from edl.planner.teams.reclaim_priority import Margin, ReclaimPriority
from edl.planner.teams.team_balance import NO_TEAM

NO_NODE = -1
ROLES_PER_JOB: Final = 1000
"""More roles than a cast has: a role's rank is its job's place times this, plus its own."""
RESIZABLE = (ResizePolicy.LIVE, ResizePolicy.ITEMS, ResizePolicy.RESTART)
"""Roles that take a new size: while they run, or by a restart of their training job."""


class Placement(NamedTuple):
    """The placement of one replica; NO_NODE takes no capacity."""

    node: int
    holds_idle: bool
    """It takes idle capacity too; that of a bound pod comes back once the pod is gone."""
    is_new: bool
    """Given in this plan: the replica does not exist yet."""
    counts_in_quota: bool = True
    """Whether it counts in quotas; not a replica that has succeeded or has no work left."""

    @property
    def horizon(self) -> Horizon:
        """From when its room is there."""
        return IDLE if self.holds_idle else FUTURE_IDLE

    @property
    def quota_horizon(self) -> Horizon:
        """From when it counts no more once it is taken away: a pod counts until it is gone."""
        return IDLE if self.is_new and self.holds_idle else FUTURE_IDLE


@lru_cache(maxsize=2**17)
def _new_placement(node: int, horizon: Horizon) -> Placement:
    """A plan may give a hundred thousand: one value a node."""
    return Placement(node, holds_idle=horizon is IDLE, is_new=True)


def first_placement(
    pod_class: PodClass,
    nodes: Sequence[int] | None = None,
    horizons: Sequence[Horizon] = (IDLE, FUTURE_IDLE),
) -> Placement | None:
    """Where a replica that exists goes, of these nodes: at once, else when pods have left."""
    for horizon in horizons:
        view = pod_class.at(horizon)
        node = view.find() if nodes is None else next(filter(view.fits, nodes), NO_NODE)
        if node != NO_NODE:
            return Placement(node, horizon is IDLE, is_new=False)
    return None


class Unscheduled(NamedTuple):
    """A replica without a node; `since` is None if it does not wait for scheduling."""

    position: int
    since: datetime | None
    pod: Pod | None = None
    """Its pod, if that is made."""


@dataclass(slots=True)
class GrowthHold:
    """What holds a role at its size in this plan."""

    reason: Reason | None = None
    """Why it may not grow; None where it may."""
    until: datetime | None = None
    """When the hold ends, where time alone ends it."""
    reserves_capacity: bool = True
    """While held, room for its growth is kept for it (a cooldown ends soon)."""
    cooling_down: bool = False
    """It gives no replica for an equal share either."""
    nearly_done: bool = False
    """It is nearly finished: it keeps its size, unless a job above it needs the room."""


@dataclass(slots=True, eq=False)
class RoleAllocation:
    """Mutable within one decision.

    `placements` in the order of keeping: the last one is removed first, new ones are appended.
    """

    job: TrainingJob
    role: Role
    rank: int
    """Its place in the total order of all roles; unique."""
    pod_class: PodClass
    placements: list[Placement] = field(default_factory=list)
    unscheduled: list[Unscheduled] = field(default_factory=list)
    min_replicas: int = 0
    max_replicas: int = 0
    hold: GrowthHold = field(default_factory=GrowthHold)
    starts: bool = False
    """It is started by this plan."""
    reason: Reason | None = None
    """Why its size changes in this plan."""
    created: int = 0
    """Replicas that this plan makes: new placements whose room is taken now."""
    pipelined: int = 0
    """Replicas for which room is reserved that leaving pods will free: the other new ones."""
    changed: bool = False
    """Its placements were changed in this plan, perhaps changed back."""
    quota_request: QuotaRequest = NOT_COUNTED
    """What one more replica counts in quotas."""

    @property
    def team(self) -> int:
        """The number of its team, where teams are configured."""
        charge = self.quota_request.team
        return charge.team if charge else NO_TEAM

    @property
    def cluster_fraction(self) -> float:
        """The part of the cluster that one replica takes."""
        return self.pod_class.cluster_fraction

    @property
    def size(self) -> int:
        return len(self.placements)

    @property
    def extras(self) -> int:
        """Replicas that claims may take: none of a role that takes no new size."""
        return max(self.size - self.min_replicas, 0) if self.resizable and not self.starts else 0

    @property
    def queue_rank(self) -> int:
        """Its job's place in the total order."""
        return self.rank // ROLES_PER_JOB

    @property
    def allocated(self) -> int:
        """Replicas after this plan: without those that wait for room to come."""
        return len(self.placements) - self.pipelined

    @property
    def gave_replicas(self) -> bool:
        """Whether a replica leaves its node: what it takes in this plan comes after that one.

        Else its size would be the same, and no replica would leave.
        """
        return not self.starts and len(self.placements) - self.pipelined < self.role.status.size

    @property
    def planned_size(self) -> int:
        """Its Job's size in the plan: one restart for a whole scale-up, once capacity is free."""
        lasting, before = self.allocated, self.role.status.size
        waits = self.restarts_to_resize and not self.starts and lasting > before and self.pipelined
        return before if waits else lasting

    @property
    def manual(self) -> bool:
        return self.role.request.replicas is not None

    @property
    def resizable(self) -> bool:
        """A job with a problem stays as it is: no step would be taken for it."""
        return self.role.spec.resizing in RESIZABLE and not self.job.problem

    @property
    def may_donate(self) -> bool:
        """Whether it may give a replica for an equal share.

        A job that cannot be planned keeps what it has, and so does one that is nearly finished.
        """
        held = self.hold.cooling_down or self.hold.nearly_done
        return self.resizable and not (self.manual or held or self.job.missing)

    @property
    def restarts_to_resize(self) -> bool:
        """Its whole training job is stopped for a new size."""
        return self.role.spec.resizing is ResizePolicy.RESTART

    @property
    def reclaim_priority(self) -> ReclaimPriority:
        """Claims of this and above may take its extras; manual sizes: only a priority above.

        A nearly finished job leaves soon: a queued job of its priority waits a while for that.
        """
        margin = Margin.NEARLY_DONE if self.hold.nearly_done else Margin.NONE
        return ReclaimPriority(self.job.priority, Margin.MANUAL if self.manual else margin)

    def place(self, node: int, horizon: Horizon) -> None:
        """One replica more."""
        self.changed = True
        self.pod_class.at(horizon).reserve(node)
        self.placements.append(_new_placement(node, horizon))
        self.created += horizon is IDLE
        self.pipelined += horizon is not IDLE
        if self.quota_request is not NOT_COUNTED:  # mostly, and growth places a hundred thousand
            self.quota_request.reserve(horizon)

    def place_pipelined(self, node: int) -> None:
        """One replica more, for which a claim has taken the room."""
        self.changed = True
        self.placements.append(_new_placement(node, FUTURE_IDLE))
        self.pipelined += 1

    def assign(self, position: int, placement: Placement) -> None:
        """A replica on its way is expected there; its room is taken already."""
        self.changed = True
        self.placements[position] = placement

    def move(self, position: int, to: Placement) -> None:
        """One replica goes to another node; the room that it leaves is there once it is gone."""
        placement = self.placements[position]
        self.pod_class.at(placement.horizon).release(placement.node)
        self.pod_class.at(to.horizon).reserve(to.node)
        self.assign(position, to)

    @property
    def growth(self) -> int:
        """How many replicas it takes now, above its min; negative if it has fewer than it had."""
        return self.allocated - max(self.role.status.size, self.role.spec.min)

    @property
    def grows(self) -> bool:
        return self.growth > 0

    def defer(self, count: int) -> None:
        """Turn the last replicas that it takes now into room that is kept for them."""
        placements, count, nodes = self.placements, max(min(count, self.created), 0), []
        self.created -= count
        self.pipelined += count
        places = (at for at in reversed(range(len(placements))) if placements[at].holds_idle)
        for place in islice(places, count):
            nodes.append(placements[place].node)
            placements[place] = _new_placement(nodes[-1], FUTURE_IDLE)
        self.pod_class.defer(nodes)
        self.quota_request.count_terminating(-count)

    def _count(self, placement: Placement, pods: int) -> None:
        if placement.is_new and placement.holds_idle:
            self.created += pods
        elif placement.is_new:
            self.pipelined += pods

    def evict(self) -> Placement:
        """One replica less: the last placement's room comes back."""
        self.changed = True
        placement = self.placements.pop()
        self._count(placement, -1)
        if placement.node != NO_NODE:
            self.pod_class.at(placement.horizon).release(placement.node)
        if placement.counts_in_quota:
            self.quota_request.release(placement.quota_horizon)
        return placement

    def forget_evicted_pods(self) -> None:
        """Replicas that yielded wait for no node."""
        self.unscheduled = [one for one in self.unscheduled if one.position < self.size]

    def restore(self, placement: Placement) -> None:
        """Undo `evict` where nothing has taken its place: it stays, whatever constraints say."""
        if placement.node != NO_NODE:
            self.pod_class.at(placement.horizon).reserve(placement.node)
        if placement.counts_in_quota:
            self.quota_request.reserve(placement.quota_horizon)
        self.placements.append(placement)
        self._count(placement, 1)


def manual_size(role: Role) -> int | None:
    """The manual size, within the bounds."""
    wanted = role.request.replicas
    return None if wanted is None else min(max(wanted, role.spec.min), role.spec.max)


def start_size(role: Role) -> int:
    """Replicas that a gang needs of this role before anything starts."""
    wanted = manual_size(role)
    size = role.spec.min if wanted is None else wanted
    return max(with_work(role, size), 1) if role.status.remaining is not None else size


def most_replicas(role: Role) -> int:
    """Its manual size, else its max."""
    wanted = manual_size(role)
    return role.spec.max if wanted is None else wanted


def with_work(role: Role, replicas: int) -> int:
    """As many of these replicas as have work: no more than items are left."""
    remaining = role.status.remaining
    return replicas if remaining is None else min(replicas, remaining)
