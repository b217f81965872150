"""Counts partitions of devices: what one partition takes, the others of its device lack.

A pool names counters, and each device of it how much it takes of them (KEP-4815). The count of a
kind is the number of devices that can be allocated together, taken in the order of their slices.
"""

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from edl.kube.dra.dra_schemas import CounterSet

CounterName: TypeAlias = tuple[str, str, str, str]
"""The name of a counter: driver, pool, counter set, counter."""
CounterAmounts: TypeAlias = tuple[tuple[CounterName, Decimal], ...]
_Part: TypeAlias = tuple[tuple[str, ...], tuple[tuple[int, Decimal], ...], bool, bool]
"""(resources, amounts by counter number, whether it is held, whether it is about to be freed)."""
_Figures: TypeAlias = tuple[str, int, int, int]
_NONE: Final = Decimal(0)


class Partition(NamedTuple):
    """A device, its resources, and the amounts that it takes of its pool's counters."""

    resources: tuple[str, ...]
    takes: CounterAmounts
    held: bool = False
    leaving: bool = False
    """The claims that hold it are about to release it."""


class PartitionCounts(NamedTuple):
    """Numbers of devices by resource, as in `NodeDevices`."""

    has: Tally[str]
    used: Tally[str]
    leaving: Tally[str]


def amounts(driver: str, pool: str, sets: Iterable[CounterSet] | None) -> CounterAmounts:
    return tuple(
        ((driver, pool, counters.counter_set or counters.name, name), counter.amount)
        for counters in sets or ()
        for name, counter in sorted((counters.counters or {}).items())
    )


def count(parts: Sequence[Partition], shared: Mapping[CounterName, Decimal]) -> PartitionCounts:
    """The numbers of a node's devices that are partitions; `shared` has the counters' amounts."""
    total = PartitionCounts(Tally(), Tally(), Tally())
    for alike in _apart(parts):
        names = sorted({name for part in alike for name, _ in part.takes})
        local = {name: number for number, name in enumerate(names)}
        figures = _counted(
            tuple(_local(part, local) for part in alike),
            tuple(shared.get(name, _NONE) for name in names),
        )
        for resource, has, used, leaving in figures:
            total.has[resource] += has
            total.used[resource] += used
            total.leaving[resource] += leaving
    return total


def _local(part: Partition, numbers: Mapping[CounterName, int]) -> _Part:
    takes = tuple((numbers[name], amount) for name, amount in part.takes)
    return part.resources, takes, part.held, part.leaving


def _apart(parts: Sequence[Partition]) -> Iterable[Sequence[Partition]]:
    """Groups of partitions without a common counter, usually one per device and counter set.

    All partitions are one group if any of them takes from several counter sets.
    """
    sets: defaultdict[tuple[str, ...], list[Partition]] = defaultdict(list)
    for part in parts:
        first, *others = {name[:-1] for name, _ in part.takes}
        if others:
            return (parts,)
        sets[first].append(part)
    return sets.values()


@lru_cache(maxsize=4096)
def _counted(parts: tuple[_Part, ...], shared: tuple[Decimal, ...]) -> tuple[_Figures, ...]:
    """(resource, total, used, of those about to be freed) for each resource.

    The result is cached: a cluster's GPUs are alike, and so are the partitions held of most of
    them.
    """
    whole = list(shared)
    now, stay = list(shared), list(shared)
    free = [part for part in parts if not part[2]]
    back = [part for part in parts if not part[2] or part[3]]
    for _, takes, held, leaving in parts:
        if held:
            _take(now, takes)
            _take(stay, [] if leaving else takes)
    figures = []
    for name in sorted({name for part in parts for name in part[0]}):
        has, left, later = (
            _fitting(name, among, state)
            for among, state in ((parts, whole), (free, now), (back, stay))
        )
        used = max(has - left, 0)
        figures.append((name, has, used, min(max(later - left, 0), used)))
    return tuple(figures)


def _fitting(name: str, parts: Iterable[_Part], left: Sequence[Decimal]) -> int:
    """How many partitions of one kind can be allocated together from these counters."""
    left, count = list(left), 0
    for resources, takes, _, _ in parts:
        if name in resources and all(left[number] >= amount for number, amount in takes):
            _take(left, takes)
            count += 1
    return count


def _take(left: list[Decimal], takes: Iterable[tuple[int, Decimal]]) -> None:
    for number, amount in takes:
        left[number] -= amount
