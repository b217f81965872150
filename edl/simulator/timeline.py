"""Records of a running simulation: time series of values that hold until the next one."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic, TypeVar

from edl.model import JobKey

_Value = TypeVar("_Value")


class StepSeries(Generic[_Value]):
    """A piecewise constant value; `first` before the first entry."""

    __slots__ = ("first", "times", "values")

    def __init__(self, first: _Value) -> None:
        self.first = first
        self.times: list[float] = []
        self.values: list[_Value] = []

    def put(self, time: float, value: _Value) -> None:
        """Set the value from `at` on; of several values at one time the last counts."""
        if self.times and self.times[-1] == time:
            self.times.pop()
            self.values.pop()
        if value != (self.values[-1] if self.values else self.first):
            self.times.append(time)
            self.values.append(value)

    def at(self, time: float) -> _Value:
        place = bisect_right(self.times, time)
        return self.values[place - 1] if place else self.first

    def spans(self, since: float, until: float) -> list[tuple[float, float, _Value]]:
        """(from, to, value) of consecutive spans that cover `since` to `until`."""
        inner = [time for time in self.times if since < time < until]
        edges = [since, *inner, until]
        return [(begin, end, self.at(begin)) for begin, end in pairwise(edges) if end > begin]


@dataclass(slots=True)
class Track:
    """The record of one training job. Times are None for events that have not occurred."""

    key: JobKey
    arrived: float
    placed: float | None = None
    """When the minimum of all roles was bound for the first time."""
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By role, the nodes of its pods at `placed`."""
    started: float | None = None
    """The same for its last start from the queue; None while it is queued or paused."""
    running: float | None = None
    """When enough pods were ready for its work to begin."""
    ended: float | None = None
    size: StepSeries[int] = field(default_factory=lambda: StepSeries(0))
    """Bound replicas of the counted role."""
    wanted: StepSeries[int] = field(default_factory=lambda: StepSeries(0))
    """The size of the counted role's Job; 0 while it is suspended."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """The latest sizes of all roles' Jobs, by role; 0 while they are suspended."""
    short: StepSeries[bool] = field(default_factory=lambda: StepSeries(first=False))
    """Whether some of its pods are bound, but fewer than the minimum of some role."""
    speed: StepSeries[float] = field(default_factory=lambda: StepSeries(0.0))
    """Work per second, in seconds of one replica; with work items, the number of working pods."""
    stops: int = 0
    """How often the whole job was suspended after it had started."""
    resizes: int = 0
    pod_stops: int = 0
    """Pods that were deleted or lost before the job's end."""
    lost_work: float = 0
    """Work that was done but lost, in seconds of one replica."""
    reason: str = ""
    """Why it waits or does not grow, by the last plan."""


@dataclass(slots=True)
class Timeline:
    """Time series of the cluster; those of jobs are in `tracks`."""

    tracks: dict[JobKey, Track] = field(default_factory=dict)
    queue: StepSeries[int] = field(default_factory=lambda: StepSeries(0))
    """The number of jobs that have arrived and do not have their minimum bound."""
    used: StepSeries[Mapping[str, int]] = field(
        default_factory=lambda: StepSeries[Mapping[str, int]]({})
    )
    """Requests of bound pods over all nodes, by resource; terminating pods count."""
    offered: StepSeries[Mapping[str, int]] = field(
        default_factory=lambda: StepSeries[Mapping[str, int]]({})
    )
    """Allocatable capacity of all nodes together, by resource."""
    nodes: StepSeries[Mapping[str, int]] = field(
        default_factory=lambda: StepSeries[Mapping[str, int]]({})
    )
    """Nodes by pool, requested ones included; "" for nodes of no pool."""
    services: dict[str, StepSeries[int]] = field(default_factory=dict)
    """Ready replicas of each service."""
    decisions: int = 0
