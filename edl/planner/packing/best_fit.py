"""Best fit: nodes for the next pod of a shape, the fullest first."""

from collections.abc import Iterator
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from edl.feasibility.constraints import AffinityConstraint, ConstraintState
from edl.feasibility.eligibility import Mask
from edl.feasibility.gpu_shares import ShareAllocator
from edl.feasibility.horizon import IDLE, Horizon
from edl.planner.packing.node_capacity import (
    Ints,
    NodeCapacity,
    ResourceAmounts,
    by_scarcest_resource,
)

if TYPE_CHECKING:
    from edl.planner.packing.pod_class import PodClass

_NO_NODE: Final = -1
_FEW: Final = 16
"""Nodes are looked at apart by labels with at most as many values (zones)."""

_MANY: Final = 256
"""The nodes that are looked at in one go."""

_SCANNED: Final = 64
"""With at most this many nodes, none is remembered as full."""

_least: Final = itemgetter(0)

CursorPosition: TypeAlias = tuple[int, ...]
"""Where a cursor stands."""


class BestFitCursor:
    """The nodes where one more pod fits, fullest first (best fit).

    Room only shrinks while pods are placed, so a node that was full is never looked at again,
    unless room came back to it (`NodeCapacity.freed_nodes`). Few nodes are looked at anew.
    """

    __slots__ = (
        "_ahead",
        "_all",
        "_at",
        "_cells",
        "_eligible",
        "_freed_nodes",
        "_order",
        "_seen",
        "_that_fit"
    )  # fmt: skip

    def __init__(
        self, capacity: NodeCapacity, amounts: ResourceAmounts, eligible: Mask, horizon: Horizon
    ) -> None:
        self._cells = capacity.cells_to_compare(amounts, horizon)
        self._eligible = memoryview(eligible)  # type: ignore[arg-type]
        self._freed_nodes = capacity.freed_nodes
        self._that_fit = partial(nodes_that_fit, capacity, amounts, horizon)
        nodes = np.flatnonzero(eligible)
        few = len(nodes) <= _SCANNED
        self._order = _fullest_first(
            amounts, nodes if few else self._among(nodes), capacity.future_idle
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
        return self._that_fit(nodes)

    def find(self) -> int:
        """The next node that takes one more pod; -1 if there is none."""
        freed, fits, ahead = self._freed_nodes, self._fits, self._ahead
        if self._all:
            return next(filter(fits, self._all), _NO_NODE)
        while self._seen < len(freed):
            node = freed[self._seen]
            if self._eligible[node] and fits(node):
                return node
            self._seen += 1
        while ahead or self._look_ahead():
            if fits(ahead[-1]):
                return ahead[-1]
            ahead.pop()
        return _NO_NODE

    def _look_ahead(self) -> bool:
        """Whether any node is left; of many at once it takes less time than of each."""
        while not self._ahead and self._at < len(self._order):
            nodes = self._order[self._at : self._at + _MANY]
            self._ahead += self._that_fit(nodes)[::-1].tolist()
            self._at += _MANY
        return bool(self._ahead)

    def position(self) -> CursorPosition:
        """Where it stands, for `restore` when reservations are undone."""
        return max(self._at - _MANY, 0), self._seen

    def restore(self, mark: CursorPosition) -> None:
        self._at, self._seen = mark
        self._ahead.clear()

    def _fits(self, node: int) -> bool:
        for cells, amount in self._cells:  # noqa: SIM110 (the innermost loop: all() costs three times as much)
            if cells[node] < amount:
                return False
        return True


class SharedGpuCursor(BestFitCursor):
    """The same for a shape with a share: a node without a device for it has no room."""

    __slots__ = ("_allocator", "_horizon")

    def __init__(
        self,
        capacity: NodeCapacity,
        pod_class: "PodClass",
        allocator: ShareAllocator,
        horizon: Horizon,
    ) -> None:
        super().__init__(capacity, pod_class.amounts, pod_class.eligible, horizon)
        self._allocator, self._horizon = allocator, horizon

    def _fits(self, node: int) -> bool:
        return super()._fits(node) and self._allocator.allows(node, self._horizon)


class _NodeGroup:
    """Nodes that share the domains of all rules over few domains, as places in the order."""

    __slots__ = ("at", "back", "ease", "next", "places")

    def __init__(self, places: list[int]) -> None:
        self.places = places
        self.at = 0
        """All before have no room."""
        self.next = 0
        """All before have no room, or other rules forbid them as long as `ease` stands."""
        self.ease = -1
        self.back: set[int] = set()
        """Earlier nodes that have room again."""

    def least(self, ease: int) -> int:
        """A place before which none of its own is found."""
        at = self.next if self.ease == ease else self.at
        at = min((at, *self.back)) if self.back else at
        return self.places[min(at, len(self.places) - 1)]

    def start(self, at: int) -> None:
        self.at = self.next = at
        self.ease = -1
        self.back.clear()


class ConstrainedCursor(BestFitCursor):
    """The same for a shape with rules: what they forbid now they may allow after a later pod.

    Only nodes without room are passed for good. A node that rules forbid is looked at again once
    one of them has eased; what forbids a zone is asked of the zone, not of each of its nodes.
    """

    __slots__ = (
        "_capacity",
        "_coarse",
        "_fine",
        "_group_of",
        "_groups",
        "_horizon",
        "_nodes",
        "_pod_class",
    )

    def __init__(self, capacity: NodeCapacity, pod_class: "PodClass", horizon: Horizon) -> None:
        super().__init__(capacity, pod_class.amounts, pod_class.eligible, horizon)
        self._nodes: list[int] = self._order.tolist()
        self._capacity, self._pod_class, self._horizon = capacity, pod_class, horizon
        self._coarse, self._fine = (pod_class.constraints or ConstraintState()).split_by_domains(
            _FEW
        )
        self._groups = self._parted()
        self._group_of: dict[int, tuple[_NodeGroup, int]] = {}

    def _among(self, nodes: Ints) -> Ints:
        """All nodes, also full ones: capacity may be released on them."""
        return nodes

    def _parted(self) -> list[_NodeGroup]:
        shared = [
            domains.of
            for domains in {id(c.domains): c.domains for c in self._coarse.counts}.values()
        ]
        groups: dict[tuple[int, ...], list[int]] = {}
        for place, node in enumerate(self._nodes):
            groups.setdefault(tuple([of[node] for of in shared]), []).append(place)
        return [_NodeGroup(places) for places in groups.values()]

    def find(self) -> int:
        if self._seen < len(self._freed_nodes):
            self._return_freed()
        near = self._pod_class.constraints.affinity if self._pod_class.constraints else None
        if near is not None and near.has_no_match(self._horizon):
            return next(filter(self._takes, self._most_room_first(near)), _NO_NODE)
        ease = self._fine.eased
        best = len(self._nodes)
        for least, group in sorted(
            ((group.least(ease), group) for group in self._groups), key=_least
        ):
            if least < best and (place := self._first(group, ease)) >= 0:
                best = min(best, place)
        return self._nodes[best] if best < len(self._nodes) else _NO_NODE

    def position(self) -> CursorPosition:
        return (self._seen, *(min((group.at, *group.back)) for group in self._groups))

    def restore(self, mark: CursorPosition) -> None:
        self._seen, *places = mark
        for group, at in zip(self._groups, places, strict=True):
            group.start(at)

    def _first(self, group: _NodeGroup, ease: int) -> int:
        """The first place of a group that takes one more pod; -1 if there is none."""
        places, order, count = group.places, self._nodes, len(group.places)
        while group.at < count and not self._fits(order[places[group.at]]):
            group.at += 1
        if not self._coarse.allows(order[places[0]], self._horizon):
            return _NO_NODE
        if group.ease != ease:
            group.ease, group.next = ease, group.at
        for at in sorted(group.back):
            if at < group.at and not self._fits(order[places[at]]):
                group.back.discard(at)
            elif self._takes(order[places[at]]):
                return places[at]
        group.next = max(group.next, group.at)
        while group.next < count and not self._takes(order[places[group.next]]):
            group.next += 1
        return places[group.next] if group.next < count else _NO_NODE

    def _takes(self, node: int) -> bool:
        # Rules first: what they forbid mostly has the room.
        return self._pod_class.at(self._horizon).allows(node) and self._fits(node)

    def _return_freed(self) -> None:
        """Room came back to nodes."""
        if not self._group_of:
            self._group_of = {
                self._nodes[place]: (group, at)
                for group in self._groups
                for at, place in enumerate(group.places)
            }
        for node in self._freed_nodes[self._seen :]:
            group, at = self._group_of.get(node, (None, 0))
            if group is not None and at < max(group.at, group.next):
                group.back.add(at)
        self._seen = len(self._freed_nodes)
        for group in self._groups:
            if len(group.back) > _FEW:
                group.start(min(group.back))

    def _most_room_first(self, near: AffinityConstraint) -> Iterator[int]:
        """Where the first pod decides for all others: the domain with the most room first."""
        domains = near.counts[0].domains
        room = self._capacity.idle if self._horizon is IDLE else self._capacity.future_idle
        capacity = self._pod_class.pods_per_node(room, self._horizon)
        inside = domains.of_nodes >= 0
        total = np.bincount(domains.of_nodes[inside], capacity[inside], domains.size + 1)
        nodes = self._order
        return iter(nodes[np.argsort(-total[domains.of_nodes[nodes]], kind="stable")].tolist())


def nodes_that_fit(
    capacity: NodeCapacity, amounts: ResourceAmounts, horizon: Horizon, nodes: Ints
) -> Ints:
    """The nodes among these with room for one more pod."""
    found = np.ones(len(nodes), dtype=np.bool_)
    for resource, amount in amounts:
        found &= capacity.future_idle[resource, nodes] >= amount
        if horizon is IDLE:
            found &= capacity.idle[resource, nodes] >= amount
    return nodes[found]


def _fullest_first(amounts: ResourceAmounts, nodes: Ints, room: Ints) -> Ints:
    if not amounts or not nodes.size:
        return nodes
    left = by_scarcest_resource(room[resource, nodes] // amount for resource, amount in amounts)
    return nodes[np.argsort(left, kind="stable")]
