"""What Karpenter's NodePools may still add, against what a gang needs on new nodes.

The sizes of nodes and DaemonSets are ignored: what exceeds the limits here cannot start, but a gang
that does not exceed them may still be impossible.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from edl.feasibility import node_pools
from edl.feasibility.eligibility import Ints
from edl.model import NodePoolHeadroom, ProvisionalPod, Reason, Shape
from edl.model.causes.scarcity import NodePoolLimit
from edl.model.nodes import NODES
from edl.planner.gangs.gang import Gang
from edl.planner.gangs.topology_placement import AttainedCapacity
from edl.planner.packing.missing_pods import still_missing
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.passes.admission.provisional_room import MAX_PODS, allowed_pods, has_room_for
from edl.planner.passes.provisioning_turns import is_missing_late
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.restarts.job_restart import lacking
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.quantities import Resources

_FULL: Final = {NODES: 0}


@dataclass(slots=True)
class PoolHeadroom:
    """The headroom of the NodePools that pods may use.

    If pods may use none, all count: Karpenter says why in its Events.
    """

    pools: Sequence[NodePoolHeadroom]
    _usable: dict[object, frozenset[int]] = field(default_factory=dict)
    """By the rules of a shape: many gangs have the same."""

    def exceeded(self, requests: Iterable[PodSetRequest]) -> NodePoolLimit | None:
        """A resource of which the pods request more than the headroom, if there is one.

        Of all pods, and of those that may use only some of the NodePools.
        """
        if not any(pool.limited for pool in self.pools):
            return None
        asked = [
            (self._places(pod_class.shape), pod_class.shape.requests * pods)
            for pod_class, pods in requests
            if pods
        ]
        groups = {places for places, _ in asked}
        groups.add(frozenset[int]().union(*groups))
        limits = (
            NodePoolLimit(name, needs, add)
            for group in sorted(groups, key=lambda places: (len(places), sorted(places)))
            for name, add in self._total(group).items()
            if (needs := _needs(name, [one for places, one in asked if places <= group])) > add
        )
        return next(limits, None)

    def limiting(self, shapes: Iterable[Shape], resource: str) -> Iterator[str]:
        """The names of the NodePools a higher limit of which lets pods of these shapes start."""
        of_all = resource == NODES
        places = (self._places(one) for one in shapes if of_all or one.requests.get(resource))
        for place in sorted(frozenset[int]().union(*places)):
            pool, limited = self.pools[place], dict(self.pools[place].limited)
            if pool.name and resource in limited and (of_all or limited.get(NODES, 1)):
                yield pool.name

    def _places(self, shape: Shape) -> frozenset[int]:
        rules = (shape.tolerations, shape.node_selector, shape.affinity)
        if rules not in self._usable:
            places = node_pools.usable(self.pools, shape)
            self._usable[rules] = places or frozenset(range(len(self.pools)))
        return self._usable[rules]

    def _total(self, places: Iterable[int]) -> Mapping[str, int]:
        """What these NodePools may add, of the resources that each of them limits.

        One with its most nodes adds nothing.
        """
        limited = [dict(self.pools[place].limited) for place in places]
        growing = [amounts for amounts in limited if amounts.get(NODES, 1)]
        if not growing:
            return _FULL if limited else {}
        names = set(growing[0]).intersection(*growing[1:]) - {NODES}
        return {name: sum(amounts[name] for amounts in growing) for name in sorted(names)}


def _needs(name: str, amounts: Iterable[Resources]) -> int:
    """What pods need of a resource; of nodes one at least."""
    return 1 if name == NODES else sum(one.get(name) for one in amounts)


@dataclass(slots=True)
class RequestLimits:
    """What the requests of one plan exceed of the limits of NodePools."""

    snapshot: Snapshot
    _headroom: PoolHeadroom = field(init=False)
    _above: dict[Hashable, NodePoolLimit] = field(default_factory=dict)
    """Gangs that exceed the limits, by what they need and why they do not fit."""

    def __post_init__(self) -> None:
        self._headroom = PoolHeadroom(self.snapshot.state.node_pools)

    def exceeded(
        self, gang: Gang, reason: Reason, attained: Callable[[], AttainedCapacity]
    ) -> NodePoolLimit | None:
        """The limit that a gang's first request would exceed.

        Not of a later one: nodes that were created for the gang count in the usage of their pools.
        """
        if gang.job.provisioning.has_requests:
            return None
        if not self._headroom.exceeded(gang.requests):
            return None  # fast path: it would fit even if it got no capacity of existing nodes
        limit = self._above.get(key := (gang.signature, reason))
        if limit is None and (limit := self._headroom.exceeded(needed(gang, attained().room))):
            self._above[key] = limit
        return limit

    def exceeded_by_raise(
        self, roles: Sequence[RoleAllocation], room: Ints
    ) -> NodePoolLimit | None:
        """The limit that nodes for the raised minimums of these roles of one job would exceed.

        room: int64[resources, nodes] that they may use.
        """
        return self._headroom.exceeded(
            [PodSetRequest(role.pod_class, self._added(role, room)) for role in roles]
        )

    def _added(self, role: RoleAllocation, room: Ints) -> int:
        """The pods that a role lacks and that need nodes for which no provisional pod exists.

        After the timeout no nodes are on their way for those that have none.
        """
        most = allowed_pods(role.quota_request, min(lacking(role), MAX_PODS))
        fitting = int(role.pod_class.pods_by_resources(room).sum())
        asked = [pod for pod in role.job.provisioning.pods if pod.role == role.role.name]
        late = is_missing_late(self.snapshot, asked)
        waiting = 0 if late else sum(not has_room_for(self.snapshot, pod) for pod in asked)
        return max(most - fitting - waiting, 0)

    def kept_in_raise(self, roles: Sequence[RoleAllocation]) -> dict[RoleAllocation, int]:
        """What stays requested for raised minimums of one job that exceed a limit.

        All of it until the timeout, while nodes may be on their way; then nothing.
        """
        asked = {role: requested_pods(role) for role in roles}
        coming = any(not pod.node for pods in asked.values() for pod in pods)
        if not coming or any(is_missing_late(self.snapshot, pods) for pods in asked.values()):
            return {}
        return {role: min(len(pods), lacking(role)) for role, pods in asked.items() if pods}


def requested_pods(allocation: RoleAllocation) -> list[ProvisionalPod]:
    """The provisional pods of a started role."""
    name, pods = allocation.role.name, allocation.job.provisioning.pods
    return [pod for pod in pods if pod.role == name and not pod.gone]


def needed(gang: Gang, room: Ints) -> list[PodSetRequest]:
    """The pods of its minimum that need new nodes at least; room: int64[resources, nodes].

    Each pod set counts as if the others used no capacity, and constraints between pods as met.
    """
    fitting = (int(pod_class.pods_by_resources(room).sum()) for pod_class, _ in gang.requests)
    return still_missing(gang.requests, fitting)
