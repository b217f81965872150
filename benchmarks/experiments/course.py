"""The course of one run: what each job has received and done so far, at each sample."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from benchmarks.experiments.cluster import KINDS, MASTER, NGINX, PSERVER, TRAINER
from benchmarks.experiments.experiments import Arrival, Experiment
from benchmarks.experiments.observe import RUNNING, Group
from benchmarks.experiments.work import Work


@dataclass(slots=True)
class Track:
    """One job; times are seconds since the run began, None for what has not happened.

    `minimum`: when its master, its pservers and its minimum of trainers first ran.
    `whole`: when as many trainers as without kubectl-edl first ran as well.
    `lacking`: the total time for which it had less than its minimum after that.
    """

    arrival: Arrival
    work: Work
    created: float | None = None
    minimum: float | None = None
    whole: float | None = None
    finished: float | None = None
    lacking: float = 0.0
    trainers: int = 0
    served: bool = False
    seen: float = 0.0

    @property
    def live(self) -> bool:
        return self.created is not None and self.finished is None


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """The cluster at one time: CPU of running pods in thousandths, running trainers by job.

    `below`: how many jobs that exist and are not done have less than their minimum.
    """

    at: float
    cpu: int
    nginx: int
    trainers: tuple[int, ...]
    below: int


@dataclass(slots=True)
class Course:
    """Follows the counts of pods; `tracks` by the jobs' names, in the order of the trace."""

    experiment: Experiment
    tracks: dict[str, Track]
    samples: list[Sample] = field(default_factory=list)

    def look(self, now: float, counts: Mapping[Group, int]) -> list[Track]:
        """Record the running pods; returns the jobs completed since the last call."""
        done = []
        for track in self.tracks.values():
            if track.live and self._goes_on(track, now, counts):
                track.finished, track.trainers = now, 0
                done.append(track)
        return done

    def sample(self, now: float, counts: Mapping[Group, int]) -> None:
        running: Counter[str] = Counter()
        for group, count in counts.items():
            running[group.kind] += count * (group.state == RUNNING)
        tracks = self.tracks.values()
        self.samples.append(
            Sample(
                at=now,
                cpu=sum(KINDS[kind].cpu * count for kind, count in running.items()),
                nginx=running[NGINX.name],
                trainers=tuple(track.trainers for track in tracks),
                below=sum(track.live and not self._has_minimum(track) for track in tracks),
            )
        )

    def _goes_on(self, track: Track, now: float, counts: Mapping[Group, int]) -> bool:
        def running(kind: str) -> int:
            return counts.get(Group(track.arrival.name, kind, RUNNING), 0)

        if track.minimum is not None and not self._has_minimum(track):
            track.lacking += now - track.seen
        track.seen = now
        track.trainers = running(TRAINER.name)
        asked = self.experiment.pservers
        track.served = running(MASTER.name) >= 1 and running(PSERVER.name) >= asked
        if self._has_minimum(track) and track.minimum is None:
            track.minimum = now
        if track.served and track.trainers >= self.experiment.fixed and track.whole is None:
            track.whole = now
        return track.work.go_on(now, track.trainers if track.served else 0)

    def _has_minimum(self, track: Track) -> bool:
        return track.served and track.trainers >= self.experiment.min


def begin(experiment: Experiment, arrivals: tuple[Arrival, ...]) -> Course:
    tracks = {found.name: Track(found, Work(found.work)) for found in arrivals}
    return Course(experiment, tracks)
