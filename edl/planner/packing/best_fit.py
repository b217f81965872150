"""Best fit: the fullest node that still fits the next pod of a shape, and its reservation."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import IDLE, Horizon
from edl.planner.packing.node_capacity import ALL_NODES, NO_NODE, NodeCapacity, ResourceAmounts

if TYPE_CHECKING:
    from edl.planner.packing.pod_class import PodClass

_BATCH_SIZE: Final = 256
"""How many nodes are read in one batch."""

_SCANNED: Final = 64
"""Up to this many nodes are examined one by one; if no more are eligible, by every search."""

CursorPosition: TypeAlias = tuple[int, ...]
"""The position of a search, opaque to callers."""


class CapacityView:
    """A cursor over the nodes with capacity for one pod class at one horizon, best fit first.

    Capacity only shrinks while pods are placed, so a node that was full is examined again only
    after capacity was freed on it (`NodeCapacity.freed_nodes`). If the nodes are few (`_SCANNED`),
    all are examined each time. The first search fixes the order of the nodes.
    """

    def __init__(self, capacity: NodeCapacity, pod_class: "PodClass", horizon: Horizon) -> None:
        self._capacity, self._pod_class, self.horizon = capacity, pod_class, horizon
        self._cells = capacity.cells_to_compare(pod_class.amounts, horizon)
        self._order: Ints | None = None

    def _start(self) -> None:
        capacity, pod_class = self._capacity, self._pod_class
        nodes = pod_class.nodes
        few = len(nodes) <= _SCANNED
        self._order = pod_class.in_order(nodes if few else self._candidates(nodes))
        self._all: list[int] = self._order.tolist() if few else []
        """All eligible nodes, if they are few; else empty."""
        self._ahead: list[int] = []
        """The rest of the current batch of nodes with capacity, in reverse order."""
        if not self._all:
            self._separate_devices()
        self._batch_end = 0
        """The index in the order after the current batch."""
        # How many freed nodes were examined: before those in the order, and after them.
        self._seen = self._seen_last = len(capacity.freed_nodes)

    def _separate_devices(self) -> None:
        """Separate the nodes on which freed capacity is used first from those used last."""
        eligible = self._pod_class.eligible
        kinds = self._pod_class.other_idle_devices(ALL_NODES, self._capacity.future_idle)
        self._freed_last: memoryview[int] | None = None
        if kinds is not None:
            self._freed_last = memoryview(eligible & (kinds > 0))  # type: ignore[arg-type]
            eligible = eligible & (kinds == 0)
        self._freed_first = memoryview(eligible)  # type: ignore[arg-type]

    def _candidates(self, nodes: Ints) -> Ints:
        """Those of `nodes` to examine, in the same order."""
        return nodes_that_fit(self._capacity, self._pod_class.amounts, self.horizon, nodes)

    def find(self) -> int:
        """The fullest node on which one more pod fits, or NO_NODE."""
        if self._order is None:
            self._start()
        if self._all:
            return self._find_in_all()
        freed, ahead = self._capacity.freed_nodes, self._ahead
        if self._seen < len(freed):
            self._seen = self._first_freed(self._seen, self._freed_first)
            if self._seen < len(freed):
                return freed[self._seen]
        cells, plain = self._cells, self._pod_class.share_allocator is None
        while ahead or self._look_ahead():
            node = ahead[-1]
            for idle, amount in cells:  # the innermost loop: `fits` would double its cost
                if idle[node] < amount:
                    break
            else:
                if plain or self.allows(node):
                    return node
            ahead.pop()
        if self._freed_last is None:
            return NO_NODE
        self._seen_last = self._first_freed(self._seen_last, self._freed_last)
        return freed[self._seen_last] if self._seen_last < len(freed) else NO_NODE

    def _first_freed(self, seen: int, eligible: "memoryview[int]") -> int:
        """The first index in `freed_nodes`, from `seen` on, of an eligible node that fits a pod.

        The length of `freed_nodes` if none does.
        """
        freed, full = self._capacity.freed_nodes, set[int]()
        for index in range(seen, min(seen + _SCANNED, len(freed))):
            node = freed[index]
            if node in full:
                continue
            if eligible[node] and self.fits(node):
                return index
            full.add(node)
        # Deferred growth frees a node once per replica, which may be 100,000.
        rest = freed[seen + _SCANNED :]
        fitting = self._candidates(np.array(rest, dtype=np.int64)).tolist() if rest else []
        for node in dict.fromkeys(fitting):
            if eligible[node] and self.allows(node):
                return freed.index(node, seen + _SCANNED)
        return len(freed)

    def _find_in_all(self) -> int:
        """`find` among few nodes."""
        cells, plain = self._cells, self._pod_class.share_allocator is None
        for node in self._all:
            for idle, amount in cells:
                if idle[node] < amount:
                    break
            else:
                if plain or self.allows(node):
                    return node
        return NO_NODE

    @property
    def is_exhausted(self) -> bool:
        """Whether a search has found no node, and no capacity was freed since."""
        return (
            self._order is not None
            and not (self._all or self._ahead)
            and self._batch_end >= len(self._order)
            and self._seen == len(self._capacity.freed_nodes)
            and (self._freed_last is None or self._seen_last == self._seen)
        )

    def _look_ahead(self) -> bool:
        """Read the next batch of nodes with capacity; False if no node is left."""
        order = self._order
        while order is not None and not self._ahead and self._batch_end < len(order):
            nodes = order[self._batch_end : self._batch_end + _BATCH_SIZE]
            self._ahead += self._candidates(nodes)[::-1].tolist()
            self._batch_end += _BATCH_SIZE
        return bool(self._ahead)

    def position(self) -> CursorPosition:
        """The position of the search, for `restore` when reservations are undone."""
        if self._order is None:
            self._start()
        return max(self._batch_end - _BATCH_SIZE, 0), self._seen, self._seen_last

    def restore(self, position: CursorPosition) -> None:
        self._batch_end, self._seen, self._seen_last = position
        self._ahead.clear()

    def _has_room(self, node: int) -> bool:
        for idle, amount in self._cells:  # noqa: SIM110 - the innermost loop: all() costs three times as much
            if idle[node] < amount:
                return False
        return True

    def allows(self, node: int) -> bool:
        """Whether placement constraints and shared GPUs allow one more pod on this node.

        Resource amounts are not compared.
        """
        pod_class = self._pod_class
        if pod_class.constraints and not pod_class.constraints.allows(node, self.horizon):
            return False
        allocator = pod_class.share_allocator
        return allocator is None or allocator.allows(node, self.horizon)

    def fits(self, node: int) -> bool:
        """Whether one more pod fits on this node, which must be eligible."""
        return self._has_room(node) and self.allows(node)

    def admits(self, node: int) -> bool:
        """Whether a node is eligible, and one more pod fits on it."""
        return bool(self._pod_class.eligible[node]) and self.fits(node)

    def readmits(self, node: int, *, bound: bool) -> bool:
        """Whether a replica that was released from this node still fits on it.

        Placement constraints are not checked. `bound`: its pod is bound to the node.
        """
        allocator = self._pod_class.share_allocator
        returns = allocator is None or allocator.readmits(node, self.horizon, bound=bound)
        return returns and self._has_room(node)

    def reserve(self, node: int) -> None:
        self._pod_class.reserve(node, self.horizon)

    def unreserve(self, node: int) -> None:
        """Undo a `reserve` after which no search has run."""
        self._pod_class.reserve(node, self.horizon, -1)

    def release(self, node: int) -> None:
        """Free a pod's capacity at this horizon; searches examine the node again."""
        self.unreserve(node)
        self._capacity.freed_nodes.append(node)

    def reserve_pods(self, pods: int) -> list[int]:
        """Reserve capacity for as many pods as fit, at most `pods`; the node of each."""
        nodes: list[int] = []
        while len(nodes) < pods and (node := self.find()) >= 0:
            self.reserve(node)
            nodes.append(node)
        return nodes

    def unreserve_pods(self, nodes: Sequence[int]) -> None:
        """Undo `reserve_pods`; the caller must also `restore` the position of the search."""
        for node in nodes:
            self.unreserve(node)


def nodes_that_fit(
    capacity: NodeCapacity, amounts: ResourceAmounts, horizon: Horizon, nodes: Ints
) -> Ints:
    """Those of `nodes` with capacity for one more pod, by resource amounts."""
    for row, amount in amounts:  # `take` costs a third of indexing both axes
        nodes = nodes[capacity.future_idle[row].take(nodes) >= amount]
        if horizon is IDLE:
            nodes = nodes[capacity.idle[row].take(nodes) >= amount]
    return nodes
