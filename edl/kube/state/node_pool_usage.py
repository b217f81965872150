"""The capacity of the nodes of each Karpenter NodePool, updated node by node."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from edl import contract
from edl.kube.cluster import Delta
from edl.kube.provisioning.node_pool_facts import NodePoolFacts
from edl.model import Node, NodePoolHeadroom
from edl.model.nodes import NODES


@dataclass(slots=True)
class NodePoolUsage:
    """A node counts as soon as it exists: Karpenter reports it in its NodePool up to 5 s later.

    Its allocatable resources count. They are less than its capacity, so no pool seems fuller than
    it is.
    """

    _nodes: defaultdict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    """Sums by pool and resource."""

    def apply_node(self, change: Delta[Node]) -> None:
        for node, sign in change.signed():
            if pool := _counting_pool(node):
                self._nodes[pool, NODES] += sign
                for name, amount in node.allocatable:
                    self._nodes[pool, name] += sign * amount

    def headroom(self, pools: Iterable[NodePoolFacts]) -> tuple[NodePoolHeadroom, ...]:
        """What may be added to each pool, sorted by name."""
        headrooms = (
            NodePoolHeadroom(tuple(self._left(pool)), pool.name, pool.template) for pool in pools
        )
        return tuple(sorted(headrooms, key=lambda pool: (pool.name, pool.limited)))

    def _left(self, pool: NodePoolFacts) -> Iterator[tuple[str, int]]:
        for name, limit in pool.limits:
            used = max(pool.used.get(name), self._nodes.get((pool.name, name), 0))
            yield name, max(limit - used, 0)


def _counting_pool(node: Node) -> str:
    """The pool whose limits count the node; Karpenter no longer counts one that it removes."""
    removed = any(taint.key == contract.DISRUPTED for taint in node.taints)
    return "" if removed else (node.labels or {}).get(contract.NODE_POOL, "")
