"""What Karpenter's NodePools may still add, against what a gang needs on new nodes.

The sizes of nodes and DaemonSets are ignored: what exceeds the limits here cannot start, but a gang
that does not exceed them may still be impossible.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from edl.feasibility import node_pools
from edl.feasibility.eligibility import Ints
from edl.model import NodePoolHeadroom, Shape
from edl.model.causes.scarcity import NodePoolLimit
from edl.model.nodes import NODES
from edl.planner.gangs.gang import Gang
from edl.planner.packing.missing_pods import still_missing
from edl.planner.packing.pod_class import PodSetRequest
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


def needed(gang: Gang, room: Ints) -> list[PodSetRequest]:
    """The pods of its minimum that need new nodes at least; room: int64[resources, nodes].

    Each pod set counts as if the others used no capacity, and constraints between pods as met.
    """
    fitting = (int(pod_class.pods_by_resources(room).sum()) for pod_class, _ in gang.requests)
    return still_missing(gang.requests, fitting)
