"""The packing ceiling: the exact maximum of trainers that fit beside the other pods.

Dynamic programming over the nodes: `most[p, n, m]` is the largest number of trainers on the nodes
so far, if these also hold p pservers, n nginx and m masters. Every way to fill a node is tried, so
no scheduler can do better; one that does not know future pods may do worse.

Only CPU counts, because no filling by CPU needs more memory than any of these nodes has.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiments.cluster import (
    BASE,
    LOAD_CEILING,
    MACHINES,
    MASTER,
    NGINX,
    PSERVER,
    TOTAL_CPU,
    TRAINER,
)

_IMPOSSIBLE: Final = -30_000
_PLACED: Final = (PSERVER, NGINX, MASTER)

Rooms = tuple[tuple[int, int], ...]
"""(free CPU in thousandths, number of nodes) for each amount of free CPU; sorted."""

IDLE: Final[Rooms] = tuple((machines.cpu - BASE.cpu, machines.count) for machines in MACHINES)
"""The free CPU with only the base load."""


class Others(NamedTuple):
    """The numbers of pods other than trainers, which may be on any node."""

    pservers: int
    nginx: int
    masters: int


class Ceiling(NamedTuple):
    """The number of trainers that fit; all pods' requested CPU as a share of the cluster's."""

    trainers: int
    utilisation: float


class Filling(NamedTuple):
    """One way to fill a node: the number of pods of each kind."""

    trainers: int
    others: Others


def rooms(free: Mapping[str, int]) -> Rooms:
    """The nodes grouped by their free CPU."""
    values = sorted(free.values())
    return tuple((room, values.count(room)) for room in sorted(set(values)))


def ceiling(others: Others, wanted: int, free: Rooms = IDLE, most: Others | None = None) -> Ceiling:
    """The ceiling with up to `wanted` trainers; the load ceiling limits the cluster's total.

    `most`: the largest others of later calls with the same nodes; saves time.
    """
    taken = TOTAL_CPU - sum(room * count for room, count in free)
    taken += sum(kind.cpu * count for kind, count in zip(_PLACED, others, strict=True))
    by_load = int(LOAD_CEILING * TOTAL_CPU - taken) // TRAINER.cpu
    fit = int(_table(most or others, free)[tuple(others)])
    trainers = max(0, min(wanted, by_load, fit))
    return Ceiling(trainers, (taken + trainers * TRAINER.cpu) / TOTAL_CPU)


def most_trainers(others: Others, free: Rooms = IDLE) -> int:
    """The trainers that fit without a load ceiling; negative if not even the others fit."""
    return int(_table(others, free)[tuple(others)])


@cache
def _table(most: Others, free: Rooms) -> NDArray[np.int16]:
    """The table `most`, for all numbers of others up to these."""
    table: NDArray[np.int16] = np.full([count + 1 for count in most], _IMPOSSIBLE, np.int16)
    table[0, 0, 0] = 0
    for room, count in free:
        ways = _useful(fillings(room), most)
        for _ in range(count):
            table = _one_node_more(table, ways)
    return table


def _useful(ways: Iterable[Filling], asked: Others) -> tuple[Filling, ...]:
    """The fillings that hold no more others than asked for, each with the most trainers."""
    best: dict[Others, int] = {}
    for trainers, held in ways:
        counts = Others(*map(min, held, asked))
        best[counts] = max(trainers, best.get(counts, 0))
    return tuple(Filling(trainers, held) for held, trainers in best.items())


def _one_node_more(most: NDArray[np.int16], ways: tuple[Filling, ...]) -> NDArray[np.int16]:
    better = np.full_like(most, _IMPOSSIBLE)
    for trainers, others in ways:
        # What a node could hold beyond what is asked for stays empty.
        before = np.ix_(
            *(
                np.maximum(np.arange(size) - count, 0)
                for size, count in zip(most.shape, others, strict=True)
            )
        )
        np.maximum(better, most[before] + np.int16(trainers), out=better)
    return better


@cache
def fillings(room: int) -> tuple[Filling, ...]:
    """All ways to fill a node with this much free CPU, without those contained in others."""
    kinds = (TRAINER, *_PLACED)
    counts = [range(room // kind.cpu + 1) for kind in kinds]
    fit = {
        way
        for way in product(*counts)
        if sum(kind.cpu * count for kind, count in zip(kinds, way, strict=True)) <= room
    }
    largest = [way for way in fit if not any(_with(way, place) in fit for place in range(4))]
    return tuple(Filling(way[0], Others(*way[1:])) for way in sorted(largest))


def _with(way: tuple[int, ...], place: int) -> tuple[int, ...]:
    return (*way[:place], way[place] + 1, *way[place + 1 :])
