"""The amount of work of a training job, and its speed-up by replicas."""

from bisect import bisect_left
from math import inf
from typing import Final, Protocol

import msgspec


class Curve(Protocol):
    """The speed of this many replicas, relative to one."""

    def __call__(self, replicas: int) -> float: ...


class Amdahl(msgspec.Struct, frozen=True):
    """Amdahl's law: replicas do not speed up the fraction `serial` (0 to 1) of the work."""

    serial: float

    def __post_init__(self) -> None:
        if not 0 <= self.serial <= 1:
            raise ValueError(f"serial: {self.serial}; a number from 0 to 1")

    def __call__(self, replicas: int) -> float:
        return 1 / (self.serial + (1 - self.serial) / replicas) if replicas else 0.0


LINEAR: Final = Amdahl(0)
CONSTANT: Final = Amdahl(1)
"""Any number of replicas is as fast as one, so the job has a fixed duration."""


class Measured(msgspec.Struct, frozen=True):
    """A table of (replicas, relative speed), ascending; interpolated linearly from (0, 0).

    Constant after the last entry.
    """

    table: tuple[tuple[int, float], ...]

    def __post_init__(self) -> None:
        sizes = [size for size, _ in self.table]
        if not sizes or sizes != sorted(set(sizes)) or sizes[0] < 1:
            raise ValueError(f"table: {sizes}; ascending numbers of replicas, at least one")
        if min(speed for _, speed in self.table) <= 0:
            raise ValueError("table: speeds are above 0")

    def __call__(self, replicas: int) -> float:
        place = bisect_left(self.table, (replicas, 0.0))
        if place == len(self.table):
            return self.table[-1][1]
        low, slow = self.table[place - 1] if place else (0, 0.0)
        high, fast = self.table[place]
        return slow + (fast - slow) * (replicas - low) / (high - low)


class Work(msgspec.Struct, frozen=True):
    """The `seconds` that one replica alone would need; inf for a job that never ends."""

    seconds: float
    curve: Curve = LINEAR

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise ValueError(f"seconds: {self.seconds}; a number above 0")


ENDLESS: Final = Work(inf, CONSTANT)


def length(seconds: float) -> Work:
    """The work of a job that runs for this long at any size."""
    return Work(seconds, CONSTANT)
