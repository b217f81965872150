"""The nodes of a claim's pods, chosen as if all extras within its reach had left.

The choice is a heuristic: each packing places one request after the other and takes nothing back,
so it may find no nodes for pods of several shapes although they would fit.
"""

from collections.abc import Callable, Sequence

import numpy as np

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import Horizon
from edl.planner.packing.pack_order import pack_orders
from edl.planner.packing.pod_class import PodClass, PodSetRequest, pack


def choose_nodes(
    idle: Ints, room: Ints, requests: Sequence[PodSetRequest]
) -> list[list[int]] | None:
    """For each request, the nodes of its pods; None if no order places all of them.

    `idle`: what is idle; `room`: what would be idle without the extras; both
    int64[resources, nodes]. Whether all pods fit is decided by the tightest packings alone; those
    that use idle capacity first are only compared with them, as less may have to leave for them.
    """
    if _exceeds(room, requests):
        return None
    orders = [*pack_orders(requests)]

    def whole(fill: Callable[[_Packing, Sequence[int]], bool]) -> list[_Packing]:
        packings = [(_Packing(idle, room, requests), order) for order in orders]
        return [packing for packing, order in packings if fill(packing, order)]

    if not (tightest := whole(_Packing.fill_tightest_first)):
        return None
    best = min([*tightest, *whole(_Packing.fill_idle_first)], key=_Packing.lack)
    nodes = np.arange(room.shape[1])
    return [np.repeat(nodes, pods).tolist() for pods in best.pods]


def _exceeds(room: Ints, requests: Sequence[PodSetRequest]) -> bool:
    """Whether all pods together, or those of one request, are too many for sure; cheap to find."""
    left = np.maximum(room, 0).sum(axis=1)
    for pod_class, pods in requests:
        for row, amount in pod_class.amounts:
            left[row] -= amount * pods
    alone = (pack(room, [request], Horizon.EMPTY) != [request.pods] for request in requests)
    return bool((left < 0).any()) or any(alone)


class _Packing:
    """Nodes for all requests, placed one after the other."""

    def __init__(self, idle: Ints, room: Ints, requests: Sequence[PodSetRequest]) -> None:
        self._requests, self._at_first = requests, (idle, room)
        self._idle, self._room = idle.copy(), room.copy()
        self.pods = [np.zeros(room.shape[1], dtype=np.int64) for _ in requests]
        """For each request, its pods by node: int64[nodes]."""

    def fill_tightest_first(self, order: Sequence[int]) -> bool:
        """Place on the fullest nodes first, as on idle capacity; whether all pods fit."""
        for index in order:
            pod_class, _ = self._requests[index]
            self._place(index, self._room, _tightest_first(pod_class, self._at_first[1]))
        return self._is_whole()

    def fill_idle_first(self, order: Sequence[int]) -> bool:
        """Place on idle capacity first, then where least lacks; whether all pods fit."""
        for index in order:
            pod_class, _ = self._requests[index]
            now = np.minimum(self._idle, self._room)
            self._place(index, now, _tightest_first(pod_class, now))
            self._place(index, self._room, _least_lack_first(pod_class, self._idle))
        return self._is_whole()

    def lack(self) -> float:
        """What has to leave its nodes, in fractions of all that is idle without the extras."""
        before, room = self._at_first
        leaves = np.minimum(before, 0) - np.minimum(self._idle, 0)
        return float((leaves.sum(axis=1) / np.maximum(room.sum(axis=1), 1)).sum())

    def _place(self, index: int, room: Ints, nodes: Ints) -> None:
        pod_class, count = self._requests[index]
        most = pod_class.pods_per_node(room, Horizon.EMPTY)[nodes]
        before = np.cumsum(most) - most
        left = count - int(self.pods[index].sum())
        placed = np.zeros_like(self.pods[index])
        placed[nodes] = np.minimum(np.maximum(left - before, 0), most)
        self.pods[index] += placed
        pod_class.subtract(self._room, placed)
        pod_class.subtract(self._idle, placed)

    def _is_whole(self) -> bool:
        pairs = zip(self._requests, self.pods, strict=True)
        return all(pods.sum() == request.pods for request, pods in pairs)


def _tightest_first(pod_class: PodClass, room: Ints) -> Ints:
    return pod_class.in_order(pod_class.nodes, room)


def _least_lack_first(pod_class: PodClass, idle: Ints) -> Ints:
    nodes = pod_class.nodes
    lack = np.zeros(len(nodes))
    for row, amount in pod_class.amounts:
        lack += np.maximum(amount - idle[row, nodes], 0) / amount
    return nodes[np.argsort(lack, kind="stable")]
