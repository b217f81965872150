"""What is written down while the simulation runs: steps in time, each valid until the next."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Generic, TypeVar

from edl.model import JobKey

_Value = TypeVar("_Value")


class StepSeries(Generic[_Value]):
    """A value that changes at times; before its first entry it is `first`."""

    __slots__ = ("first", "times", "values")

    def __init__(self, first: _Value) -> None:
        self.first = first
        self.times: list[float] = []
        self.values: list[_Value] = []

    def put(self, at: float, value: _Value) -> None:
        """From `at` on; of several values at one time the last counts."""
        if self.times and self.times[-1] == at:
            self.times.pop()
            self.values.pop()
        if value != (self.values[-1] if self.values else self.first):
            self.times.append(at)
            self.values.append(value)

    def at(self, time: float) -> _Value:
        place = bisect_right(self.times, time)
        return self.values[place - 1] if place else self.first

    def spans(self, since: float, until: float) -> list[tuple[float, float, _Value]]:
        """(from, to, value) that cover all of it."""
        inner = [time for time in self.times if since < time < until]
        edges = [since, *inner, until]
        return [(begin, end, self.at(begin)) for begin, end in pairwise(edges) if end > begin]


@dataclass(slots=True)
class Track:
    """What became of one training job. Times are None where it never came to that."""

    key: JobKey
    arrived: float
    admitted: float | None = None
    """Its Jobs were first released."""
    placed: float | None = None
    """All roles had their minimum on nodes for the first time."""
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By role, the nodes of its pods then."""
    running: float | None = None
    """The same, ready: its work begins."""
    ended: float | None = None
    size: StepSeries[int] = field(default_factory=lambda: StepSeries(0))
    """Replicas of the counted role on nodes."""
    wanted: StepSeries[int] = field(default_factory=lambda: StepSeries(0))
    """What the counted role's Job asks for; 0 while it is suspended."""
    short: StepSeries[bool] = field(default_factory=lambda: StepSeries(first=False))
    """Some of its pods are on nodes, and of some role fewer than its minimum."""
    speed: StepSeries[float] = field(default_factory=lambda: StepSeries(0.0))
    """Work that is done in a second, in seconds of one replica; of work items, pods at work."""
    stops: int = 0
    """How often it was suspended as a whole after it had started."""
    resizes: int = 0
    pod_stops: int = 0
    """Pods that were ended, or lost, before the job's own end."""
    lost_work: float = 0
    """Done and lost, in seconds of one replica."""
    reason: str = ""
    """Why it waits or does not grow, as the last plan said."""


@dataclass(slots=True)
class Timeline:
    """The cluster's own lines; those of jobs are in `tracks`."""

    tracks: dict[JobKey, Track] = field(default_factory=dict)
    queue: StepSeries[int] = field(default_factory=lambda: StepSeries(0))
    """Jobs that have arrived and hold no minimum yet, or not any more."""
    used: StepSeries[Mapping[str, int]] = field(
        default_factory=lambda: StepSeries[Mapping[str, int]]({})
    )
    """Requests of bound pods over all nodes, by resource; what leaves counts until it is gone."""
    offered: StepSeries[Mapping[str, int]] = field(
        default_factory=lambda: StepSeries[Mapping[str, int]]({})
    )
    """What all nodes have together."""
    nodes: StepSeries[Mapping[str, int]] = field(
        default_factory=lambda: StepSeries[Mapping[str, int]]({})
    )
    """Nodes by pool, "" for those of none; of pools those that are on their way too."""
    services: dict[str, StepSeries[int]] = field(default_factory=dict)
    """Replicas of each service that are ready."""
    decisions: int = 0
