"""Places that a job which restarts to resize needs beyond those where its pods run.

A restart stops all pods of a training job and places them anew. Two kinds of replicas have no place
then: stranded ones, on a node that would not take their pods again (it is cordoned, tainted, not
ready, no longer selected, or overcommitted), and those that a role lacks of a minimum that its user
has raised. Without places for all of them the job would stop, and wait for capacity.

So it restarts only if each has a place, or if the minimums have and the other stranded replicas are
given up. Until then the job grows by nothing less than all of them, and keeps what it would need.
Nor is it stopped if a quota has become too small for its minimums, which removes no pods that run.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap

from edl import reasons
from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.model import JobKey, Reason
from edl.model.causes.scarcity import Lack, ResourceNeed, Scarce, Shortage
from edl.planner.packing.pack_order import pack_in_best_order, reserve_idle, reserve_nodes
from edl.planner.packing.placement import Placement
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.quota_balance import QuotaLine, QuotaRequest
from edl.planner.snapshot.restarts.stranded_replicas import StrandedSearch, Unplaced
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.spec.allowed_sizes import with_work


@dataclass(slots=True, eq=False)
class RestartNeeds:
    """Shared by all started roles of one job, until the places are reserved."""

    snapshot: Snapshot
    roles: Sequence[RoleAllocation]
    stranded: Mapping[RoleAllocation, Counter[int]]
    """By role, how many of its replicas on each node are stranded."""
    given_back: dict[QuotaLine, int]
    """What extras of all jobs use of quotas that take it back; shared by the jobs of a plan."""
    least: dict[RoleAllocation, int] = field(default_factory=dict)
    """By role, the smallest size at which it may come back."""
    moves: bool = False
    """Extras may be taken although minimums need other places, because these were idle."""
    keeps_size: bool = False
    """No claim takes extras of the job, nor is it scaled down for its user."""
    over: tuple[QuotaLine, int] | None = None
    """A quota in which its smallest sizes exceed what is left, and what they count there."""
    awaited: bool = False
    """A raised minimum waits until there are places for all that it lacks."""

    def unplaced(self, grown: RoleAllocation | None = None) -> list[Unplaced]:
        """What needs places, the hardest to place first; with one more replica of `grown`."""
        groups = (
            Unplaced(role, self._positions(role), lacking(role) or int(role is grown))
            for role in self.roles
        )
        return sorted(
            (group for group in groups if group.request.pods),
            key=lambda group: (
                group.allocation.pod_class.follows_others,
                -group.allocation.cluster_fraction,
            ),
        )

    def _positions(self, allocation: RoleAllocation) -> list[int]:
        left, placements = Counter(self.stranded.get(allocation)), allocation.placements
        positions = []
        for position in range(len(placements) - 1, -1, -1) if left else ():
            placement = placements[position]
            if left[placement.node] > 0 and not placement.is_new:
                left[placement.node] -= 1
                positions.append(position)
        return positions

    def quota_request(self, unplaced: Sequence[Unplaced]) -> QuotaRequest:
        """What the new ones of these replicas count together."""
        new = [(group.allocation.role, group.new) for group in unplaced]
        return self.snapshot.quotas.request_of(self.roles[0].job, new)

    def reserve(self, grown: RoleAllocation) -> bool:
        """Reserve idle capacity for all, and for one more replica of `grown` at or above its min.

        False, and no change, if it does not suffice.
        """
        unplaced = self.unplaced(grown)
        if not self.quota_request(unplaced).allows(IDLE):
            return False
        if (nodes := reserve_idle([group.request for group in unplaced])) is None:
            return False
        self.place(unplaced, nodes, IDLE)
        return True

    def place(
        self, unplaced: Sequence[Unplaced], nodes: Sequence[Sequence[int]], reserved: Horizon
    ) -> None:
        """Place replicas on nodes where their capacity is `reserved`; new ones idle if possible.

        Stranded replicas stay, and all new ones are pipelined, while any place is not idle yet.
        """
        moves = any(group.stranded for group in unplaced) and reserved is FUTURE_IDLE
        waits = moves and not self._is_idle(unplaced, nodes)
        for group, there in zip(unplaced, nodes, strict=True):
            for position, node in zip(() if waits else group.stranded, there, strict=False):
                group.allocation.pod_class.at(reserved).release(node)
                to = Placement(node, holds_idle=True, is_new=False)
                group.allocation.move(position, to)
        for group, there in zip(unplaced, nodes, strict=True):
            allocation = group.allocation
            for node in there[len(group.stranded) :]:
                allocation.pod_class.at(reserved).release(node)
                idle = allocation.pod_class.idle.fits(node) and not waits
                at_once = idle and allocation.quota_request.allows(IDLE)
                allocation.place(node, IDLE if at_once else FUTURE_IDLE)
            if allocation.size <= allocation.role.spec.min:
                allocation.min_replicas = allocation.size
        if waits:
            self.awaited = True
            self.deny_growth(reasons.leaving(sum(group.request.pods for group in unplaced)))
        else:
            self.clear()

    def _is_idle(self, unplaced: Sequence[Unplaced], nodes: Sequence[Sequence[int]]) -> bool:
        """Whether future idle places that are reserved are idle, and the quotas allow their use."""
        requests = [group.request for group in unplaced]
        for request, there in zip(requests, nodes, strict=True):
            request.pod_class.future_idle.unreserve_pods(there)
        idle = reserve_nodes(requests, nodes, IDLE)
        for request, there in zip(requests, nodes, strict=True):
            if idle:
                request.pod_class.idle.unreserve_pods(there)
            for node in there:
                request.pod_class.future_idle.reserve(node)
        return idle and self.quota_request(unplaced).allows(IDLE)

    def clear(self) -> None:
        """The job comes back from a restart: each replica has a place."""
        for allocation in self.roles:
            allocation.hold.restart_needs = None

    def deny_growth(self, why: Reason) -> None:
        """Deny growth to all roles that restart the job."""
        for allocation in self.roles:
            if allocation.restarts_to_resize:
                allocation.hold.deny_as_well(why)

    def keep_what_it_needs(self, *, moves: bool, held: bool) -> None:
        """Keep extras of the job from yielding if its minimums would have no places without them.

        Stranded replicas come last, so that they yield first and none counts as the minimum if
        others suffice; or first, if idle capacity has places for them (`moves`). `held`: it keeps
        its size in any case.
        """
        missing = [self._set_least(allocation) for allocation in self.roles]
        self.over = self._exceeded_quota()
        lacks = any(missing) or self.over is not None
        self.moves = moves and not held and lacks and self._fits_elsewhere()
        self.keeps_size = (lacks or held) and not self.moves
        if held and not lacks:
            self.deny_growth(self._why_not_again())
        for allocation in self.roles:
            if allocation.restarts_to_resize:
                self._put_last(allocation, stranded=not self.moves)
                if self.keeps_size:
                    self._keep_size(allocation)

    def _why_not_again(self) -> Reason:
        """The reason that rules between pods would not let its pods start again."""
        sizes = ((role.role.name, role.size, role.pod_class.shape.requests) for role in self.roles)
        return reasons.gang(Shortage(tuple(starmap(ResourceNeed, sizes)), 0, Lack(Scarce.RULES)))

    def _set_least(self, allocation: RoleAllocation) -> int:
        """How many replicas of the smallest size have no places."""
        least = max(allocation.min_replicas, _least(allocation))
        if not allocation.restarts_to_resize:
            least = max(least, allocation.size)
        self.least[allocation] = least
        return max(least - allocation.size + self.stranded_of(allocation), 0)

    def _fits_elsewhere(self) -> bool:
        """Whether idle capacity has places for all stranded replicas of the smallest sizes."""
        if any(map(lacking, self.roles)) or self.over:
            return False
        moved = (min(self.stranded_of(role), self.least[role]) for role in self.roles)
        requests = [
            PodSetRequest(role.pod_class, pods)
            for role, pods in zip(self.roles, moved, strict=True)
        ]
        placed = pack_in_best_order(self.snapshot.capacity.idle, requests, IDLE)
        return placed == [request.pods for request in requests]

    def _exceeded_quota(self) -> tuple[QuotaLine, int] | None:
        """A quota that its smallest sizes exceed without what it uses now, and what they count."""
        if not exceeds_quota(self.roles):
            return None
        job, request_of = self.roles[0].job, self.snapshot.quotas.request_of
        least = request_of(job, [(role.role, self.least[role]) for role in self.roles])
        uses = request_of(job, [(role.role, role.size) for role in self.roles])
        return next(
            (
                (quota, cost)
                for quota, cost in least.amounts
                if cost > quota.future_remaining + uses.amount(quota) + self._taken_back(quota)
            ),
            None,
        )

    def _taken_back(self, quota: QuotaLine) -> int:
        """What extras of other jobs use of a quota that takes back what exceeds it."""
        if not quota.spec.takes_back:
            return 0
        if quota not in self.given_back:
            self.given_back[quota] = _extras_in(quota, self.snapshot.allocations)
        return self.given_back[quota] - _extras_in(quota, self.roles)

    def _keep_size(self, allocation: RoleAllocation) -> None:
        """Let no claim take a replica; one without a node is none of the minimum (`needs`)."""
        given = allocation.extras
        allocation.min_replicas = max(allocation.min_replicas, allocation.size)
        allocation.max_replicas = max(allocation.max_replicas, allocation.min_replicas)
        for quota in self.given_back:
            self.given_back[quota] -= given * allocation.quota_request.amount(quota)

    def least_to_place(self, allocation: RoleAllocation) -> int:
        """How many of its replicas are the minimum, of which each needs a node."""
        return min(allocation.min_replicas, self.least.get(allocation, allocation.size))

    def stranded_of(self, allocation: RoleAllocation) -> int:
        """How many replicas of a role were stranded."""
        return sum(self.stranded.get(allocation, Counter()).values())

    def _put_last(self, allocation: RoleAllocation, *, stranded: bool) -> None:
        """Put the stranded replicas last, or the others."""
        if allocation.unscheduled or allocation not in self.stranded:
            return
        placements, moved = allocation.placements, set(self._positions(allocation))
        order = sorted(range(len(placements)), key=lambda index: (index in moved) is stranded)
        allocation.placements = [placements[index] for index in order]


def lacking(allocation: RoleAllocation) -> int:
    """How many replicas a started role lacks of its minimum, or of its remaining work items."""
    return 0 if allocation.starts else max(_least(allocation) - allocation.size, 0)


def exceeds_quota(roles: Iterable[RoleAllocation]) -> bool:
    """Whether any quota in which these roles count is exceeded."""
    counted = (role.quota_request.amounts for role in roles)
    return any(quota.future_remaining < 0 for amounts in counted for quota, _ in amounts)


def _least(allocation: RoleAllocation) -> int:
    return with_work(allocation.role, allocation.role.spec.min)


def _extras_in(quota: QuotaLine, roles: Iterable[RoleAllocation]) -> int:
    """What extras of these roles use of a quota."""
    return sum(role.extras * role.quota_request.amount(quota) for role in roles)


def set_restart_needs(
    snapshot: Snapshot,
    started: Iterable[Sequence[RoleAllocation]],
    *,
    stuck: Container[JobKey],
    moves: bool,
) -> None:
    """Note what restarts of jobs need; call it once capacity is complete.

    `started`: the started roles of each job. `stuck`: jobs that could not come back, as others take
    the places, or by rules between pods: no claim takes what they have. `moves`: others may.
    """
    search, given_back = StrandedSearch(snapshot), dict[QuotaLine, int]()
    for roles in started:
        if not any(role.restarts_to_resize and role.resizable for role in roles):
            continue
        stranded = search.by_role(roles)
        ruled = any(role.pod_class.constraints for role in roles)
        held = roles[0].job.key in stuck or (ruled and not moves)
        if held or stranded or any(map(lacking, roles)) or exceeds_quota(roles):
            needs = RestartNeeds(snapshot, roles, stranded, given_back)
            for allocation in roles:
                allocation.hold.restart_needs = needs
            needs.keep_what_it_needs(moves=moves, held=held)
