"""Results of a simulation: figures, computed from the recorded time series."""

from collections.abc import Iterable, Mapping, Sequence
from math import inf, nan
from statistics import fmean, median
from typing import Final

import msgspec

from edl.domain_counts import DomainCounts, NodeLabels, counted, labels_of
from edl.model import JobKey
from edl.simulator.environment import Environment
from edl.simulator.scenario import Training
from edl.simulator.timeline import Timeline, Track

_HOUR: Final = 3600


class RoleResult(msgspec.Struct, frozen=True):
    """One role; `size` is that of its Job at the end of the simulation, 0 if it does not run."""

    name: str
    min: int
    max: int
    size: int


class JobResult(msgspec.Struct, frozen=True):
    """One training job. Times are None for events that did not occur before the end."""

    key: JobKey
    role: str
    """The counted role, which does the work; `min` and `max` are its bounds."""
    min: int
    max: int
    track: Track
    until: float
    """When the simulation ended."""
    domains: tuple[DomainCounts, ...] = ()
    """The domains of its first start, by the labels of its topology."""
    roles: tuple[RoleResult, ...] = ()

    @property
    def wait(self) -> float:
        """Seconds from its arrival until its minimum was ready; until the end if it never was."""
        running = self.track.running
        return (self.until if running is None else running) - self.track.arrived

    @property
    def completion(self) -> float | None:
        """Seconds from its arrival to its end."""
        return None if self.track.ended is None else self.track.ended - self.track.arrived

    @property
    def below_min(self) -> float:
        """Seconds in which it had bound pods, but some role fewer than its minimum."""
        spans = self.track.short.spans(self.track.arrived, self.until)
        return sum(end - begin for begin, end, short in spans if short)


class Summary(msgspec.Struct, frozen=True):
    """Mean, median and maximum of durations in seconds; nan if there are none."""

    mean: float
    median: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Summary":
        if not values:
            return cls(nan, nan, nan)
        return cls(fmean(values), median(values), max(values))


class Result(msgspec.Struct, frozen=True):
    """`jobs` are in order of arrival. `until`: when the simulation ended, in seconds."""

    jobs: tuple[JobResult, ...]
    timeline: Timeline
    until: float
    prices: Mapping[str, float] = msgspec.field(default_factory=dict)
    """The price of a node per hour, by node pool."""

    @property
    def ended(self) -> int:
        return sum(job.track.ended is not None for job in self.jobs)

    @property
    def never(self) -> int:
        """The number of jobs that arrived but never had their whole minimum ready."""
        return sum(job.track.running is None for job in self.jobs)

    @property
    def wait_times(self) -> Summary:
        """The waits of all jobs that arrived; a job that never ran counts until the end."""
        return Summary.of([job.wait for job in self.jobs])

    @property
    def completions(self) -> Summary:
        """The completion times of all jobs that ended."""
        return Summary.of([job.completion for job in self.jobs if job.completion is not None])

    @property
    def makespan(self) -> float:
        """Seconds from the first arrival to the last end; inf if a job did not end."""
        if self.ended < len(self.jobs):
            return inf
        ends = [job.track.ended for job in self.jobs if job.track.ended is not None]
        return max(ends, default=0) - min((job.track.arrived for job in self.jobs), default=0)

    @property
    def last(self) -> float:
        """When the last job ended; the end of the simulation if a job did not."""
        ends = [job.track.ended for job in self.jobs]
        return max((self.until if end is None else end for end in ends), default=self.until)

    @property
    def node_hours(self) -> float:
        """Node hours until `last`; pool nodes count until their removal."""
        pools = {name for counts in self.timeline.nodes.values for name in counts}
        return sum(map(self._hours, pools))

    @property
    def cost(self) -> float:
        """The cost of pool nodes, in the unit of their prices."""
        return sum(self._hours(name) * price for name, price in self.prices.items())

    def _hours(self, pool: str) -> float:
        until = self.until if pool else self.last
        return _area(self.timeline.nodes.spans(0, until), pool) / _HOUR

    def utilisation(self, resource: str, since: float = 0, until: float | None = None) -> float:
        """The mean fraction of a resource that bound pods requested; by default until `last`."""
        until = self.last if until is None else until
        taken = _area(self.timeline.used.spans(since, until), resource)
        offered = _area(self.timeline.offered.spans(since, until), resource)
        return taken / offered if offered else 0.0

    @property
    def below_min(self) -> float:
        return sum(job.below_min for job in self.jobs)

    @property
    def stops(self) -> int:
        """Suspensions of jobs that had started: restarts for a size, or back to the queue."""
        return sum(job.track.stops for job in self.jobs)

    @property
    def pod_stops(self) -> int:
        return sum(job.track.pod_stops for job in self.jobs)


def _area(spans: Iterable[tuple[float, float, Mapping[str, int]]], resource: str) -> float:
    return sum((end - begin) * amounts.get(resource, 0) for begin, end, amounts in spans)


def finished(env: Environment, trainings: Iterable[Training], until: float) -> Result:
    """The result when a simulation ends, with only the jobs that have arrived."""
    tracks = env.timeline.tracks
    arrived = sorted(
        (training.at, training.key, training) for training in trainings if training.key in tracks
    )
    scenario = env.scenario
    labels = labels_of((*scenario.nodes, *(event.node for event in scenario.events)))
    outcomes = tuple(
        _outcome(training, tracks[training.key], until, labels) for *_, training in arrived
    )
    return Result(outcomes, env.timeline, until, {pool.name: pool.price for pool in scenario.pools})


def _outcome(training: Training, track: Track, until: float, labels: NodeLabels) -> JobResult:
    role = training.counted
    return JobResult(
        key=training.key,
        role=role.name,
        min=role.spec.min,
        max=role.spec.max,
        track=track,
        until=until,
        domains=counted(training.job.topology, track.nodes, labels),
        roles=tuple(
            RoleResult(other.name, other.spec.min, other.spec.max, track.sizes.get(other.name, 0))
            for other in training.job.roles
        ),
    )
