"""Small clusters with jobs whose best sizes can be found by exhaustive search."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from random import Random
from typing import NamedTuple

Room = tuple[int, ...]
"""Capacity: CPU in halves, GPUs."""


class Wish(NamedTuple):
    """A job: the request of one pod, and its bounds."""

    need: Room
    min: int
    max: int

    def size(self, fulfilment: Fraction) -> int:
        """The smallest size with at least this fulfilment."""
        return self.min + -(-fulfilment.numerator * (self.max - self.min) // fulfilment.denominator)


@dataclass(frozen=True)
class Puzzle:
    """A small cluster with jobs whose minimums fit together."""

    nodes: tuple[Room, ...]
    wishes: tuple[Wish, ...]

    def fits(self, sizes: Sequence[int], free: Sequence[Room] | None = None) -> bool:
        """Whether `sizes` pods of each job can be packed, by exhaustive search."""
        needs = [wish.need for wish in self.wishes]
        order = sorted(range(len(sizes)), key=lambda job: (-sum(needs[job]), job))
        start = tuple(sorted(self.nodes if free is None else free))

        @cache
        def packs(place: int, free: tuple[Room, ...]) -> bool:
            if place == len(order):
                return True
            job = order[place]
            left = _spread(free, needs[job], sizes[job])
            return any(packs(place + 1, tuple(sorted(rooms))) for rooms in left)

        return packs(0, start)

    def least(self, sizes: Sequence[int]) -> Fraction:
        """The fulfilment of the least satisfied job of those that run."""
        pairs = zip(self.wishes, sizes, strict=True)
        found = (Fraction(size - wish.min, wish.max - wish.min) for wish, size in pairs if size)
        return min(found, default=Fraction(1))


def _spread(free: Sequence[Room], need: Room, count: int) -> Iterator[list[Room]]:
    """The free capacity after each way to pack `count` equal pods onto the nodes."""
    if not free:
        if not count:
            yield []
        return
    first, rest = free[0], free[1:]
    most = min(room // amount for room, amount in zip(first, need, strict=True) if amount)
    for here in range(min(most, count), -1, -1):
        left = tuple(room - amount * here for room, amount in zip(first, need, strict=True))
        for others in _spread(rest, need, count - here):
            yield [left, *others]


def puzzles(random: Random) -> Iterator[Puzzle]:
    """Puzzles with 2 to 4 unequal nodes and 2 to 4 jobs, some of both with GPUs."""
    while True:
        nodes = tuple(
            (random.choice((8, 12, 14, 24)), random.choice((0, 0, 2, 4)))
            for _ in range(random.randint(2, 4))
        )
        wishes = []
        for _ in range(random.randint(2, 4)):
            low = random.randint(1, 3)
            need = (random.choice((1, 2, 3, 4, 6)), random.choice((0, 0, 0, 1)))
            wishes.append(Wish(need, low, low + random.randint(1, 8)))
        puzzle = Puzzle(nodes, tuple(wishes))
        if puzzle.fits([wish.min for wish in wishes]):
            yield puzzle
