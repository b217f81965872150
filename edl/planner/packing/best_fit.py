"""Best fit: nodes for the next pod of a shape, the fullest first, and the room that it takes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from edl.feasibility.horizon import IDLE, Horizon
from edl.planner.packing.node_capacity import (
    Ints,
    NodeCapacity,
    ResourceAmounts,
    by_scarcest_resource,
)

if TYPE_CHECKING:
    from edl.planner.packing.pod_class import PodClass

NO_NODE: Final = -1
_MANY: Final = 256
"""The nodes that are looked at in one go."""

_SCANNED: Final = 64
"""With at most this many nodes, none is remembered as full."""

CursorPosition: TypeAlias = tuple[int, ...]
"""Where a search stands."""


class CapacityView:
    """The room for pods of one class at one horizon: a cursor over its nodes, fullest first.

    Room only shrinks while pods are placed, so a node that was full is never looked at again,
    unless room came back to it (`NodeCapacity.freed_nodes`). Few nodes are looked at anew.
    Nodes stay in the order that they have at the first look.
    """

    __slots__ = (
        "_ahead",
        "_all",
        "_at",
        "_capacity",
        "_cells",
        "_eligible",
        "_order",
        "_pod_class",
        "_seen",
        "horizon",
    )

    def __init__(self, capacity: NodeCapacity, pod_class: "PodClass", horizon: Horizon) -> None:
        self._capacity, self._pod_class, self.horizon = capacity, pod_class, horizon
        self._cells = capacity.cells_to_compare(pod_class.amounts, horizon)
        self._order: Ints | None = None

    def _start(self) -> None:
        capacity, pod_class = self._capacity, self._pod_class
        self._eligible = memoryview(pod_class.eligible)  # type: ignore[arg-type]
        nodes = np.flatnonzero(pod_class.eligible)
        few = len(nodes) <= _SCANNED
        self._order = _fullest_first(
            pod_class.amounts, nodes if few else self._among(nodes), capacity.future_idle
        )
        self._all: list[int] = self._order.tolist() if few else []
        """All of its nodes, where they are few."""
        self._ahead: list[int] = []
        """The next nodes that had room, the last one first."""
        self._at = 0
        """Where in order those end."""
        self._seen = len(capacity.freed_nodes)

    def _among(self, nodes: Ints) -> Ints:
        """Its nodes to try, in order."""
        return nodes_that_fit(self._capacity, self._pod_class.amounts, self.horizon, nodes)

    def find(self) -> int:
        """The next node that takes one more pod, the fullest first; -1 if there is none."""
        if self._order is None:
            self._start()
        fits = self._has_room if self._pod_class.share_allocator is None else self.fits
        if self._all:
            return next(filter(fits, self._all), NO_NODE)
        freed, ahead = self._capacity.freed_nodes, self._ahead
        while self._seen < len(freed):
            node = freed[self._seen]
            if self._eligible[node] and fits(node):
                return node
            self._seen += 1
        while ahead or self._look_ahead():
            if fits(ahead[-1]):
                return ahead[-1]
            ahead.pop()
        return NO_NODE

    def _look_ahead(self) -> bool:
        """Whether any node is left; of many at once it takes less time than of each."""
        order = self._order
        while order is not None and not self._ahead and self._at < len(order):
            nodes = order[self._at : self._at + _MANY]
            self._ahead += self._among(nodes)[::-1].tolist()
            self._at += _MANY
        return bool(self._ahead)

    def position(self) -> CursorPosition:
        """Where the search stands, for `restore` when reservations are undone."""
        if self._order is None:
            self._start()
        return max(self._at - _MANY, 0), self._seen

    def restore(self, position: CursorPosition) -> None:
        self._at, self._seen = position
        self._ahead.clear()

    def _has_room(self, node: int) -> bool:
        for cells, amount in self._cells:  # noqa: SIM110 (the innermost loop: all() costs three times as much)
            if cells[node] < amount:
                return False
        return True

    def allows(self, node: int) -> bool:
        """Whether rules and devices let one more pod come to this node, whatever its sums."""
        pod_class = self._pod_class
        if pod_class.constraints and not pod_class.constraints.allows(node, self.horizon):
            return False
        allocator = pod_class.share_allocator
        return allocator is None or allocator.allows(node, self.horizon)

    def fits(self, node: int) -> bool:
        """Whether a node that it may use has the room, and rules let it come there."""
        return self._has_room(node) and self.allows(node)

    def readmits(self, node: int, *, bound: bool) -> bool:
        """Whether a node to which others came has room for a pod that has left it.

        `bound`: its pod is bound to the node.
        """
        allocator = self._pod_class.share_allocator
        returns = allocator is None or allocator.readmits(node, self.horizon, bound=bound)
        return returns and self._has_room(node)

    def reserve(self, node: int) -> None:
        self._capacity.reserve(node, self._pod_class, self.horizon)

    def unreserve(self, node: int) -> None:
        """Undo a `reserve` that no search has seen since."""
        self._capacity.reserve(node, self._pod_class, self.horizon, -1)

    def release(self, node: int) -> None:
        """The opposite of `reserve`; a bound pod's capacity is idle again only once it is gone."""
        self.unreserve(node)
        self._capacity.freed_nodes.append(node)

    def reserve_pods(self, pods: int) -> list[int]:
        """Reserve room for as many pods as fit, at most this many; the node of each."""
        nodes: list[int] = []
        while len(nodes) < pods and (node := self.find()) >= 0:
            self.reserve(node)
            nodes.append(node)
        return nodes

    def unreserve_pods(self, nodes: Sequence[int]) -> None:
        """Undo `reserve_pods`; the search must be brought back to where it stood (`restore`)."""
        for node in nodes:
            self.unreserve(node)


def nodes_that_fit(
    capacity: NodeCapacity, amounts: ResourceAmounts, horizon: Horizon, nodes: Ints
) -> Ints:
    """The nodes among these with room for one more pod."""
    for resource, amount in amounts:
        nodes = nodes[capacity.future_idle[resource, nodes] >= amount]
        if horizon is IDLE:
            nodes = nodes[capacity.idle[resource, nodes] >= amount]
    return nodes


def _fullest_first(amounts: ResourceAmounts, nodes: Ints, room: Ints) -> Ints:
    if not amounts or not nodes.size:
        return nodes
    left = by_scarcest_resource(room[resource, nodes] // amount for resource, amount in amounts)
    return nodes[np.argsort(left, kind="stable")]
