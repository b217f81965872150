"""Best fit for pods with placement constraints: topology spread, pod affinity, host ports."""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

import numpy as np

from edl.feasibility.constraints import AffinityConstraint, ConstraintState
from edl.feasibility.eligibility import Ints, Mask
from edl.feasibility.horizon import IDLE
from edl.planner.packing.best_fit import CapacityView, CursorPosition, nodes_that_fit
from edl.planner.packing.node_capacity import NO_NODE

_FEW: Final = 16
"""Nodes are grouped by the labels that have at most this many values (zones)."""

_NO_NODES: Final[Ints] = np.empty(0, dtype=np.int64)

_least: Final = itemgetter(0)


class _NodeGroup:
    """Nodes in the same domains of all coarse constraints, as ascending places in the order."""

    def __init__(self, places: Sequence[int], first: int) -> None:
        self.places = places
        self.first = first
        """Places before this index have no capacity."""
        self.next = first
        """Places before this index have no capacity, or fine constraints forbid them at `ease`."""
        self.ease = -1
        """The version of the fine constraints (`eased`) for which `next` holds."""
        self.freed: set[int] = set()
        """Earlier indexes on which capacity was freed."""

    def least(self, ease: int) -> int:
        """A lower bound of the place that a search of this group finds."""
        index = self.next if self.ease == ease else self.first
        index = min((index, *self.freed)) if self.freed else index
        return self.places[min(index, len(self.places) - 1)]

    def restart(self, index: int) -> None:
        self.first = self.next = index
        self.ease = -1
        self.freed.clear()


class ConstrainedView(CapacityView):
    """A `CapacityView` for a shape with constraints, which a later pod may relax again.

    Only nodes without capacity are skipped for good. A node that constraints forbid is examined
    again once a constraint has eased. Coarse constraints (over few domains, such as zones) are
    checked once per group of nodes, fine ones per node.
    """

    def _start(self) -> None:
        super()._start()
        self._nodes = _ints(_NO_NODES if self._order is None else self._order)
        rules = self._pod_class.constraints or ConstraintState()
        self._coarse, self._fine = rules.split_by_domains(_FEW)
        self._groups = self._node_groups()
        self._groups_by_node: dict[int, tuple[_NodeGroup, int]] = {}

    @property
    def is_exhausted(self) -> bool:
        """False, as a constraint may always ease."""
        return False

    def _candidates(self, nodes: Ints) -> Ints:
        """All nodes, also full ones, since capacity may be freed on them."""
        return nodes

    def _node_groups(self) -> list[_NodeGroup]:
        order = self._order
        if order is None or not order.size:
            return []
        fits = np.zeros(len(self._pod_class.eligible), dtype=np.bool_)
        fits[nodes_that_fit(self._capacity, self._pod_class.amounts, self.horizon, order)] = True
        has_room = fits[order]
        shared = {id(count.domains): count.domains.of_nodes for count in self._coarse.counts}
        if not shared:
            return [_NodeGroup(range(len(order)), _first_of(has_room))]
        domains = np.stack([of_nodes[order] for of_nodes in shared.values()])
        groups = np.unique(domains, axis=1, return_inverse=True)[1].ravel()
        places = np.argsort(groups, kind="stable")
        parts = np.split(places, np.cumsum(np.bincount(groups))[:-1])
        return [_NodeGroup(_ints(part), _first_of(has_room[part])) for part in parts]

    def find(self) -> int:
        if self._order is None:
            self._start()
        if self._seen < len(self._capacity.freed_nodes):
            self._note_freed()
        affinity = self._pod_class.constraints.affinity if self._pod_class.constraints else None
        if affinity is not None and affinity.has_no_match(self.horizon):
            return next(filter(self.fits, self._most_room_first(affinity)), NO_NODE)
        ease = self._fine.eased
        best = len(self._nodes)
        for least, group in sorted(
            ((group.least(ease), group) for group in self._groups), key=_least
        ):
            if least < best and (place := self._first(group, ease)) >= 0:
                best = min(best, place)
        return self._nodes[best] if best < len(self._nodes) else NO_NODE

    def position(self) -> CursorPosition:
        if self._order is None:
            self._start()
        return (self._seen, *(min((group.first, *group.freed)) for group in self._groups))

    def restore(self, position: CursorPosition) -> None:
        self._seen, *indexes = position
        for group, index in zip(self._groups, indexes, strict=True):
            group.restart(index)

    def _first(self, group: _NodeGroup, ease: int) -> int:
        """The first place of a group on which one more pod fits, or NO_NODE."""
        places, order, count = group.places, self._nodes, len(group.places)
        while group.first < count and not self._has_room(order[places[group.first]]):
            group.first += 1
        if not self._coarse.allows(order[places[0]], self.horizon):
            return NO_NODE
        if group.ease != ease:
            group.ease, group.next = ease, group.first
        for index in sorted(group.freed):
            if index < group.first and not self._has_room(order[places[index]]):
                group.freed.discard(index)
            elif self.fits(order[places[index]]):
                return places[index]
        group.next = max(group.next, group.first)
        while group.next < count and not self.fits(order[places[group.next]]):
            group.next += 1
        return places[group.next] if group.next < count else NO_NODE

    def fits(self, node: int) -> bool:
        # Constraints first: most of the nodes that they forbid do have capacity.
        return self.allows(node) and self._has_room(node)

    def _note_freed(self) -> None:
        """Let the groups examine the nodes again on which capacity was freed."""
        if not self._groups_by_node:
            self._groups_by_node = {
                self._nodes[place]: (group, index)
                for group in self._groups
                for index, place in enumerate(group.places)
            }
        for node in self._capacity.freed_nodes[self._seen :]:
            group, index = self._groups_by_node.get(node, (None, 0))
            if group is not None and index < max(group.first, group.next):
                group.freed.add(index)
        self._seen = len(self._capacity.freed_nodes)
        for group in self._groups:
            if len(group.freed) > _FEW:
                group.restart(min(group.freed))

    def _most_room_first(self, affinity: AffinityConstraint) -> Iterator[int]:
        """Nodes of the domain with most capacity first, as the first pod fixes the domain."""
        domains = affinity.counts[0].domains
        room = self._capacity.idle if self.horizon is IDLE else self._capacity.future_idle
        capacity = self._pod_class.pods_per_node(room, self.horizon)
        labelled = domains.of_nodes >= 0
        total = np.bincount(domains.of_nodes[labelled], capacity[labelled], domains.size + 1)
        nodes = np.array(self._nodes, dtype=np.int64)
        return iter(nodes[np.argsort(-total[domains.of_nodes[nodes]], kind="stable")].tolist())


def _ints(array: Ints) -> Sequence[int]:
    """A view of the array, with plain ints: a list takes four times the memory for each shape."""
    return memoryview(array)  # type: ignore[arg-type]


def _first_of(mask: Mask) -> int:
    """The first index that is True; the length if none is. bool[places]."""
    first = int(mask.argmax())
    return first if mask[first] else len(mask)
