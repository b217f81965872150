"""Devices that are parts of one: what one of them holds, the others no longer have.

A pool names counters, and each device of it how much it takes of them (KEP-4815). Devices of one
kind count as the number that can be allocated together, taken in the order of their slices.
"""

from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple, TypeAlias

from edl.kube.dra.dra_schemas import CounterSet
from edl.quantities import quantity

Name: TypeAlias = tuple[str, str, str, str]
"""The name of a counter: driver, pool, counter set, counter."""
Amounts: TypeAlias = tuple[tuple[Name, Decimal], ...]


class Partition(NamedTuple):
    """A device, and what it takes of the counters of its pool."""

    resources: tuple[str, ...]
    takes: Amounts
    held: bool = False
    leaving: bool = False
    """Held by claims that come free."""


class PartitionCounts(NamedTuple):
    """By resource, as `NodeDevices` says it."""

    has: Tally[str]
    used: Tally[str]
    leaving: Tally[str]


def amounts(driver: str, pool: str, found: Iterable[CounterSet] | None) -> Amounts:
    return tuple(
        ((driver, pool, one.counter_set or one.name, name), _amount(amount.value))
        for one in found or ()
        for name, amount in sorted((one.counters or {}).items())
    )


def count(parts: Sequence[Partition], shared: Mapping[Name, Decimal]) -> PartitionCounts:
    """What the devices of a node are that are parts of others."""
    names = sorted({name for part in parts for name in part.resources})
    has, used, leaving = Tally[str](), Tally[str](), Tally[str]()
    for name in names:
        has[name] = _fitting(name, parts, [], shared)
        now = _fitting(name, parts, [part for part in parts if part.held], shared)
        stay = [part for part in parts if part.held and not part.leaving]
        used[name] = max(has[name] - now, 0)
        leaving[name] = min(max(_fitting(name, parts, stay, shared) - now, 0), used[name])
    return PartitionCounts(has, used, leaving)


def _fitting(
    name: str, parts: Sequence[Partition], held: Sequence[Partition], shared: Mapping[Name, Decimal]
) -> int:
    """How many more of one kind can be allocated beside those that are."""
    left = dict(shared)
    for part in held:
        _take(left, part)
    there = {id(part) for part in held}
    found = 0
    for part in parts:
        if name in part.resources and id(part) not in there and _fits(left, part):
            _take(left, part)
            found += 1
    return found


def _fits(left: Mapping[Name, Decimal], part: Partition) -> bool:
    return all(left.get(name, Decimal(0)) >= amount for name, amount in part.takes)


def _take(left: dict[Name, Decimal], part: Partition) -> None:
    for name, amount in part.takes:
        left[name] = left.get(name, Decimal(0)) - amount


def _amount(text: str) -> Decimal:
    try:
        return quantity(text)
    except ValueError:
        return Decimal(0)
