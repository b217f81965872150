"""Selects few victims that suffice for a claim, lowest in order first."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from edl.feasibility.horizon import Horizon
from edl.planner.packing.node_capacity import Ints
from edl.planner.packing.pod_class import PodSetRequest, pack
from edl.planner.passes.preemption.victim_order import Victim, add_holdings


class FreedCapacity:
    """Whether requests fit while victims are evicted or restored one by one.

    A change recounts only the victim's own nodes, so its cost does not depend on other victims.
    """

    def __init__(self, room: Ints, requests: Sequence[PodSetRequest]) -> None:
        self._available, self._requests = room, requests
        self._capacity = [request.pod_class.pods_by_resources(room) for request in requests]
        self._total = [int(found.sum()) for found in self._capacity]
        self._exact = len(requests) == 1 and requests[0].pod_class.is_unconstrained

    def change(self, victim: Victim, sign: int) -> None:
        add_holdings(self._available, victim, sign)
        for held in victim.holdings:
            for at, request in enumerate(self._requests):
                capacity = self._capacity[at]
                found = request.pod_class.pods_by_resources(
                    self._available[:, held.nodes], held.nodes
                )
                self._total[at] += int(found.sum()) - int(capacity[held.nodes].sum())
                capacity[held.nodes] = found

    def may_suffice(self) -> bool:
        """Whether each request by itself fits: necessary, and cheap to check."""
        return all(
            total >= request.pods
            for total, request in zip(self._total, self._requests, strict=True)
        )

    def suffices(self) -> bool:
        if self._exact or not self.may_suffice():
            return self.may_suffice()
        placed = pack(self._available, self._requests, Horizon.EMPTY)
        return placed == [request.pods for request in self._requests]


class TriedCapacity(NamedTuple):
    """Checks the claim by evicting and restoring victims in the snapshot itself."""

    change: Callable[[Victim, int], None]
    suffices: Callable[[], bool]

    def may_suffice(self) -> bool:
        return True


def select_victims(found: Sequence[Victim], relief: FreedCapacity | TriedCapacity) -> list[Victim]:
    """The shortest sufficient prefix of the victims, less those that can be reprieved.

    The highest in order are reprieved first, as in kube-scheduler's preemption.
    """
    chosen = found[: _prefix(found, relief)]
    kept: list[Victim] = []
    at, step = len(chosen), 1
    while at > 0:
        batch = chosen[max(at - step, 0) : at]
        for victim in batch:
            relief.change(victim, -1)
        spares = relief.suffices()
        if not spares:
            for victim in batch:
                relief.change(victim, 1)
        if spares or step == 1:
            at -= len(batch)
            kept += [] if spares else batch
        step = 2 * step if spares else max(step // 2, 1)
    return kept[::-1]


def _prefix(found: Sequence[Victim], relief: FreedCapacity | TriedCapacity) -> int:
    """The length of the shortest prefix that suffices; on return, just that prefix is evicted."""
    at, count, step = 0, len(found), 1
    while at < count and not (at and relief.may_suffice()):
        at = _move(found, relief, at, at + 1)
    low = high = at
    while high < count and not relief.suffices():
        low, high, step = high + 1, min(high + step, count), 2 * step
        at = _move(found, relief, at, high)
    while low < high:
        middle = (low + high) // 2
        at = _move(found, relief, at, middle)
        if relief.suffices():
            high = middle
        else:
            low = middle + 1
    return _move(found, relief, at, high)


def _move(found: Sequence[Victim], relief: FreedCapacity | TriedCapacity, at: int, to: int) -> int:
    for victim in found[at:to]:
        relief.change(victim, 1)
    for victim in found[to:at]:
        relief.change(victim, -1)
    return to
