"""The figures of one run, computed from the observed Jobs and pods.

A job is evicted if all of its pods end before its work does: for each of its pods the work since
the last checkpoint is lost. A job that only becomes smaller loses nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from statistics import fmean, median
from typing import Final, NamedTuple, TypeAlias

from benchmarks.scheduling.teams.trace import CAPACITY, Submission, Trace, fair_shares

CHECKPOINT: Final = 60.0
"""The seconds between two checkpoints of a job, counted from its start."""
TICK: Final = 0.5

Key: TypeAlias = tuple[str, str]
"""The namespace and the name of a training job."""


@dataclass(slots=True)
class PodSpan:
    """When a pod was bound, ran and ended; seconds since the trace began."""

    bound: float
    running: float | None = None
    ended: float | None = None


@dataclass(slots=True)
class JobTrack:
    """The observations of one training job."""

    submission: Submission
    pods: dict[str, PodSpan] = field(default_factory=dict)
    evictions: list[float] = field(default_factory=list)
    resizes: int = 0
    started: float | None = None
    """When all pods of its minimum first ran."""
    finished: float | None = None

    def see_running(self, now: float) -> None:
        running = sum(pod.running is not None and pod.ended is None for pod in self.pods.values())
        if self.started is None and running >= self.submission.least:
            self.started = now

    def active(self, at: float) -> bool:
        """Whether it is submitted and not finished."""
        return self.submission.at <= at and (self.finished is None or at < self.finished)

    def lost(self) -> float:
        """The replica-seconds between each eviction and the checkpoint before it."""
        return sum(self._lost_at(at) for at in self.evictions)

    def _lost_at(self, at: float) -> float:
        spans = [
            pod
            for pod in self.pods.values()
            if pod.running is not None
            and pod.running < at
            and (pod.ended is None or pod.ended >= at - GRACE)
        ]
        begun = min((pod.running for pod in spans if pod.running is not None), default=at)
        checkpoint = begun + (at - begun) // CHECKPOINT * CHECKPOINT
        return sum(at - max(checkpoint, pod.running or at) for pod in spans)


GRACE: Final = 2.0
"""The seconds before an eviction was seen within which pods that ended count as evicted."""


class Figures(NamedTuple):
    """Means over the run; times in seconds."""

    gangs: int
    gangs_started: int
    owner_median: float
    """The median time from an owner's submission until all pods of its gang run."""
    owner_worst: float
    evicted: int
    """Evictions: the number of times that a job ended before its work was done."""
    lost: float
    """The lost replica-seconds of work since the last checkpoint."""
    resizes: int
    utilisation: float
    """The GPUs of bound pods as a share of all GPUs, or of the demand if that is smaller."""
    jain: float
    """Jain's index of each team's GPUs relative to its fair share, over teams with demand."""


def figures(given: Trace, tracks: Mapping[Key, JobTrack]) -> Figures:
    owners = [track for track in tracks.values() if track.submission.seconds is not None]
    waits = [one.started - one.submission.at for one in owners if one.started is not None]
    moments = list(_moments(given, tracks))
    return Figures(
        gangs=len(owners),
        gangs_started=len(waits),
        owner_median=median(waits) if waits else float("nan"),
        owner_worst=max(waits, default=float("nan")),
        evicted=sum(len(one.evictions) for one in tracks.values()),
        lost=sum(one.lost() for one in tracks.values()),
        resizes=sum(one.resizes for one in tracks.values()),
        utilisation=fmean(used for used, _ in moments),
        jain=fmean(index for _, index in moments),
    )


def jain(values: Sequence[float]) -> float:
    """(Σx)² / (n Σx²): 1 if all are equal, 1/n if one has everything; nan without values."""
    if not values:
        return nan
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def _moments(given: Trace, tracks: Mapping[Key, JobTrack]) -> Iterator[tuple[float, float]]:
    """(utilisation, Jain's index) at times from a minute after the trace's beginning."""
    at = 60.0
    while at < given.lasts:
        demands, held = defaultdict[str, int](int), defaultdict[str, int](int)
        for track in tracks.values():
            if track.active(at):
                demands[track.submission.team] += track.submission.pods
            held[track.submission.team] += _holding(track.pods.values(), at)
        fair = fair_shares(dict(demands))
        yield (
            sum(held.values()) / min(CAPACITY, sum(demands.values())),
            jain([held[team] / share for team, share in fair.items() if share]),
        )
        at += TICK


def _holding(pods: Iterable[PodSpan], at: float) -> int:
    return sum(pod.bound <= at and (pod.ended is None or at < pod.ended) for pod in pods)
