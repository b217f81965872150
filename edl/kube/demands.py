"""Pending pods of other owners by what they ask for, kept pod by pod."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from edl.kube.facts import PodFacts
from edl.kube.observe import example, in_order
from edl.model import Demand, Shape


class _Ask(NamedTuple):
    shape: Shape
    priority: int


class _Group:
    """The names of pods that ask for the same; the first of them is found quickly."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._heap: list[str] = []

    def add(self, name: str) -> None:
        if name not in self.names:
            self.names.add(name)
            heappush(self._heap, name)

    def drop(self, name: str) -> None:
        """It stays on the heap until it comes first, or until most of the heap is gone."""
        self.names.discard(name)
        if len(self._heap) > 2 * len(self.names) + 8:
            self._heap = list(self.names)
            heapify(self._heap)

    def first(self) -> str:
        while self._heap[0] not in self.names:
            heappop(self._heap)
        return self._heap[0]


class Demands:
    """A pod asks once, however often it is added."""

    def __init__(self) -> None:
        self._groups: dict[_Ask, _Group] = {}
        self._made: tuple[Demand, ...] | None = ()

    def add(self, pod: PodFacts) -> None:
        ask = _Ask(pod.shape, pod.priority)
        self._groups.setdefault(ask, _Group()).add(example(pod))
        self._made = None

    def drop(self, pod: PodFacts) -> None:
        ask = _Ask(pod.shape, pod.priority)
        group = self._groups.get(ask)
        if group:
            group.drop(example(pod))
            self._made = None
            if not group.names:
                del self._groups[ask]

    def values(self) -> tuple[Demand, ...]:
        if self._made is None:
            self._made = in_order(self._demands())
        return self._made

    def _demands(self) -> Iterator[Demand]:
        for (shape, priority), group in self._groups.items():
            yield Demand(shape, priority, len(group.names), group.first())
