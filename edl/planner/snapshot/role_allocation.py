"""One role while a plan is made: its placements, and how far the plan may resize it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from edl.feasibility.horizon import IDLE, Horizon
from edl.model import Reason, ResizePolicy, Role, TrainingJob
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.placement import Placement, Unscheduled, on_idle, pipelined
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.growth_hold import GrowthHold
from edl.planner.snapshot.quota_balance import NOT_COUNTED, QuotaRequest
from edl.planner.teams.reclaim_priority import Margin, ReclaimPriority
from edl.planner.teams.team_charge import TeamCharge
from edl.planner.teams.team_guarantees import NO_TEAM
from edl.spec.allowed_sizes import RESIZABLE

if TYPE_CHECKING:
    from edl.planner.snapshot.restarts.job_restart import JobRestart

ROLES_PER_JOB: Final = 1000
"""More than any job's roles: a role's rank is its job's queue rank times this, plus its index."""


@dataclass(slots=True, eq=False)
class RoleAllocation:
    """Mutable within one decision.

    `placements` are in the order in which they are kept: the last is evicted first, new ones are
    appended.
    """

    job: TrainingJob
    role: Role
    rank: int
    """Unique place in the total order of all roles."""
    pod_class: PodClass
    placements: list[Placement] = field(default_factory=list)
    unscheduled: list[Unscheduled] = field(default_factory=list)
    min_replicas: int = 0
    max_replicas: int = 0
    hold: GrowthHold = field(default_factory=GrowthHold)
    restart: "JobRestart | None" = None
    """The restart of its job by which it resizes; None if it resizes live, or not at all."""
    starts: bool = False
    """This plan starts it."""
    reason: Reason | None = None
    """Why its size changes in this plan."""
    created: int = 0
    """New placements on idle capacity: replicas that this plan creates."""
    pipelined: int = 0
    """New placements on capacity that terminating pods will free."""
    changed: bool = False
    """This plan has changed its placements, perhaps back again."""
    quota_request: QuotaRequest = NOT_COUNTED
    """What one replica counts in quotas."""

    @property
    def team(self) -> int:
        """The number of its team; NO_TEAM if no teams are configured."""
        charge = self.quota_request.team
        return charge.team if charge else NO_TEAM

    @property
    def cluster_fraction(self) -> float:
        return self.pod_class.cluster_fraction

    @property
    def size(self) -> int:
        return len(self.placements)

    @property
    def extras(self) -> int:
        """The number of replicas that claims may take; 0 if it is not resizable."""
        return max(self.size - self.min_replicas, 0) if self.resizable and not self.starts else 0

    def needs(self, replica: Unscheduled) -> bool:
        """Whether this replica without a node belongs to the minimum."""
        restart = self.restart
        least = restart.least_to_place(self) if restart else self.min_replicas
        return replica.position < min(least, self.size) and not replica.is_spare

    @property
    def queue_rank(self) -> int:
        """Its job's place in the total order of jobs."""
        return self.rank // ROLES_PER_JOB

    @property
    def allocated(self) -> int:
        """Replicas after this plan, without pipelined ones."""
        return len(self.placements) - self.pipelined

    @property
    def gave_replicas(self) -> bool:
        """Whether the plan evicts a replica of it: new ones are pipelined behind that.

        Otherwise its size would stay the same and the Job controller would delete no pod.
        """
        return not self.starts and self.allocated < self.role.status.size

    @property
    def planned_size(self) -> int:
        """The size to write to its Job."""
        keeps = not self.starts and (self.awaits_growth or not self.changed)
        return self.role.status.size if keeps else self.allocated

    @property
    def awaits_growth(self) -> bool:
        """Whether its growth, or that of its whole job if that restarts, waits to be one step."""
        if not self.changed or self.size <= self.role.status.size:
            return False
        return self.restart.waits if self.restart else self.awaits_all_growth

    @property
    def awaits_all_growth(self) -> bool:
        """Whether it keeps its size until terminating pods have left its pipelined part.

        A role that restarts, or rests for long after growth, grows in one step, for which its
        capacity stays reserved. It waits at most as long as it would rest, and not for its minimum,
        below which no restart leaves it.
        """
        before, after, least = self.role.status.size, self.allocated, self.role.spec.min
        if self.starts or not self.pipelined or before >= after or before < least <= after:
            return False
        stays_below = self.restarts_to_resize and after < least
        return stays_below or self.hold.patience > timedelta()

    @property
    def may_pipeline(self) -> bool:
        """Whether it may wait for capacity that is not idle yet, beyond what it starts with.

        A job that restarts to resize and starts now would have to restart soon, and until then
        the capacity would be of use to no job.
        """
        return not (self.starts and self.restarts_to_resize and not self.hold.reason)

    @property
    def manual(self) -> bool:
        return self.role.request.replicas is not None

    @property
    def resizable(self) -> bool:
        """Whether a plan may resize it; not if its job has a problem, as no step would run.

        Nor a closed work queue, whose pods Kubernetes does not remove for a smaller size.
        """
        live = not (self.job.problem or self.role.queue_closed)
        return live and self.role.spec.resizing in RESIZABLE

    @property
    def may_donate(self) -> bool:
        """Whether it may donate a replica to rebalancing.

        Not if stranded replicas would be lost with it (`JobRestart`): it would want them back.
        """
        held = self.hold.cooling_down or self.hold.nearly_done or self.lacks_places
        return self.resizable and not (self.manual or held or self.job.missing)

    @property
    def restarts_to_resize(self) -> bool:
        """Whether its whole training job restarts for a new size."""
        return self.role.spec.resizing is ResizePolicy.RESTART

    @property
    def lacks_places(self) -> bool:
        """Whether a restart of its job needs other places than those where its pods are."""
        return self.restart is not None and self.restart.lacks_places

    @property
    def reclaim_priority(self) -> ReclaimPriority:
        """The least priority of claims that may take its extras.

        A queued job of equal priority takes none of a manual size, and those of a nearly finished
        job only after `queue_patience`, as that job frees its capacity soon anyway.
        """
        margin = Margin.NEARLY_DONE if self.hold.nearly_done else Margin.NONE
        return ReclaimPriority(self.job.priority, Margin.MANUAL if self.manual else margin)

    def place(self, node: int, horizon: Horizon) -> None:
        """Add a replica, and reserve capacity and quota for it."""
        self.changed = True
        self.pod_class.reserve(node, horizon)
        self.placements.append((on_idle if horizon is IDLE else pipelined)(node))
        if horizon is IDLE:
            self.created += 1
        else:
            self.pipelined += 1
        self.quota_request.reserve(horizon)

    def place_pipelined(self, node: int) -> None:
        """Add a pipelined replica whose capacity a claim has reserved already."""
        self.changed = True
        self.placements.append(pipelined(node))
        self.pipelined += 1

    def assign(self, position: int, placement: Placement) -> None:
        """Set the placement of an existing replica, whose capacity is reserved already."""
        self.changed = True
        self.placements[position] = placement

    def move(self, position: int, to: Placement) -> int:
        """Move a replica's reservation. Returns the node that its pod leaves, or NO_NODE."""
        placement = self.placements[position]
        self._class_of(placement).at(placement.horizon).release(placement.node)
        self._class_of(to).reserve(to.node, to.horizon)
        self.charge_devices(placement, -1)
        self.assign(position, to)
        unbound = {replica.position for replica in self.unscheduled}
        return NO_NODE if position in unbound else placement.node

    @property
    def growth(self) -> int:
        """Replicas beyond both its current size and its min; negative if it scales down."""
        return self.allocated - max(self.role.status.size, self.role.spec.min)

    def pipeline_last(self, count: int) -> None:
        """Turn the last `count` created replicas into pipelined ones."""
        placements, count = self.placements, max(min(count, self.created), 0)
        self.created -= count
        self.pipelined += count
        idle = (
            index for index in range(len(placements) - 1, -1, -1) if placements[index].holds_idle
        )
        indexes = [*islice(idle, count)]
        self.pod_class.defer([placements[index].node for index in indexes])
        for index in indexes:
            placements[index] = pipelined(placements[index].node)
        self.quota_request.count_terminating(-count)

    def _count(self, placement: Placement, pods: int) -> None:
        if placement.is_new and placement.holds_idle:
            self.created += pods
        elif placement.is_new:
            self.pipelined += pods

    def charge_devices(self, placement: Placement, pods: int) -> None:
        """Count in its team what the devices of a replica count as beyond its requests."""
        if charge := self.device_charge(placement):
            charge.reserve(pods)

    def device_charge(self, placement: Placement) -> TeamCharge | None:
        """What its devices count in its team beyond its requests; None if it is not known."""
        charge = self.quota_request.team
        if charge is None or placement.taken is None:
            return None
        counted, names = dict(self.role.template.shape.counted), self.pod_class.resources
        taken = dict.fromkeys((row for row, _ in self.pod_class.amounts), 0) | dict(placement.taken)
        more = ((names[row], amount - counted.get(names[row], 0)) for row, amount in taken.items())
        return charge.with_amounts((name, amount) for name, amount in more if amount)

    def _class_of(self, placement: Placement) -> PodClass:
        return self.pod_class.with_amounts(placement.taken)

    def evict(self) -> Placement:
        """Remove the last replica, and release its capacity and quota."""
        self.changed = True
        placement = self.placements.pop()
        self._count(placement, -1)
        if placement.node != NO_NODE:
            variant = self.pod_class if placement.taken is None else self._class_of(placement)
            variant.at(placement.horizon).release(placement.node)
        if placement.counts_in_quota:
            self.quota_request.release(placement.quota_horizon)
            if placement.taken is not None:
                self.charge_devices(placement, -1)
        return placement

    def forget_evicted_pods(self) -> None:
        """Drop evicted replicas from `unscheduled`."""
        self.unscheduled = [replica for replica in self.unscheduled if replica.position < self.size]

    def restore(self, placement: Placement) -> None:
        """Undo `evict` while its capacity is unused; placement constraints are not checked."""
        if placement.node != NO_NODE:
            variant = self.pod_class if placement.taken is None else self._class_of(placement)
            variant.reserve(placement.node, placement.horizon)
        if placement.counts_in_quota:
            self.quota_request.reserve(placement.quota_horizon)
            if placement.taken is not None:
                self.charge_devices(placement, 1)
        self.placements.append(placement)
        self._count(placement, 1)


def by_job(allocations: Iterable[RoleAllocation]) -> list[list[RoleAllocation]]:
    """The roles of each job, in the total order."""
    ordered = sorted(allocations, key=attrgetter("rank"))
    return [list(roles) for _, roles in groupby(ordered, key=attrgetter("queue_rank"))]
