"""The record of a run: compact JSON, from which every figure of the report is computed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from benchmarks.experiments.ceiling import Rooms
from benchmarks.experiments.course import Course, Sample, Track

RESULTS: Final = Path(__file__).parent / "results"
ASIDE: Final = RESULTS / "aside"
"""The folder of replays that `is_late` has rejected."""
LAG_LIMIT: Final = 3.0
"""The limit on the 99th percentile of a pod's seconds from bound to Running; nodes are configured
to take 2. Waits are read to the second, so nodes may add one. Fixed before any run, for all arms.
"""
EVERY: Final = 5.0
"""The seconds between two recorded samples."""


class JobRecord(msgspec.Struct, frozen=True, array_like=True):
    """The fields of `course.Track`; times in seconds since the run began."""

    created: float | None
    minimum: float | None
    whole: float | None
    finished: float | None
    lacking: float
    work: float


class Step(msgspec.Struct, frozen=True, array_like=True):
    """When the service was asked for `replicas`, and when it had them (None: not in this step).

    The free CPU at the step's end, as `ceiling.Rooms`: `rooms` beside base load and service,
    `left` beside pservers and masters as well. Without a service, a run is one step until the
    window's end.
    """

    asked: float
    replicas: int
    reached: float | None
    rooms: Rooms = ()
    left: Rooms = ()


@dataclass(frozen=True, slots=True)
class Lag:
    """The seconds from bound to Running over `pods` pods, which show whether the nodes kept up."""

    pods: int
    p50: float
    p99: float
    most: float


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The circumstances of a run. `source` is replay or simulation, `way` one of `ARMS`.

    `load` is the machine's load average: before the run, and its mean and maximum during it.
    `nice`: the niceness of all processes of the run, compared with other work of the machine.
    """

    experiment: str
    source: str
    way: str
    seed: int
    date: str = ""
    commit: str = ""
    load: tuple[float, ...] = ()
    nice: int = 0
    machine: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """`stops`: running pods that were stopped before their job was done, by kind.

    `lag`: only of replays; None if no pod was bound or the lag was not measured.
    """

    circumstances: Circumstances
    jobs: tuple[JobRecord, ...]
    steps: tuple[Step, ...]
    stops: dict[str, int]
    samples: tuple[Sample, ...]
    lag: Lag | None = None

    @property
    def is_late(self) -> bool:
        """Whether the simulated nodes fell behind, so that the run measures the machine."""
        return self.lag is None or self.lag.p99 > LAG_LIMIT

    @property
    def name(self) -> str:
        found = self.circumstances
        return f"{found.experiment}-{found.source}-{found.way}-{found.seed}"


def job_record(track: Track) -> JobRecord:
    return JobRecord(
        created=_rounded(track.created),
        minimum=_rounded(track.minimum),
        whole=_rounded(track.whole),
        finished=_rounded(track.finished),
        lacking=round(track.lacking, 2),
        work=track.arrival.work,
    )


def lag_of(seconds: list[float]) -> Lag | None:
    """Percentiles by the nearest-rank method; None without any pods."""
    if not seconds:
        return None
    found = sorted(seconds)
    p50, p99 = (found[ceil(share * len(found)) - 1] for share in (0.5, 0.99))
    return Lag(len(found), *(round(value, 2) for value in (p50, p99, found[-1])))


def _rounded(time: float | None) -> float | None:
    return None if time is None else round(time, 2)


def record(
    circumstances: Circumstances,
    course: Course,
    steps: tuple[Step, ...],
    stops: dict[str, int],
    lags: list[float],
) -> Record:
    jobs = tuple(job_record(track) for track in course.tracks.values())
    samples = tuple(_thinned(course.samples))
    return Record(circumstances, jobs, steps, stops, samples, lag_of(lags))


def _thinned(samples: list[Sample]) -> Iterator[Sample]:
    due = 0.0
    for sample in samples:
        if sample.at >= due:
            yield replace(sample, at=round(sample.at, 1))
            due = (sample.at // EVERY + 1) * EVERY


def keep(found: Record, folder: Path = RESULTS) -> Path:
    """Write the record; a late replay goes to `ASIDE`, numbered. Returns the path."""
    if not found.is_late:
        return save(found, folder)
    aside = folder / ASIDE.name
    number = len(list(aside.glob(f"{found.name}.*.json"))) + 1
    return save(found, aside, f"{found.name}.{number}")


def save(found: Record, folder: Path, name: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name or found.name}.json"
    parts = {
        "circumstances": line(found.circumstances),
        "stops": line(found.stops),
        "lag": line(found.lag),
        "jobs": rows(found.jobs),
        "steps": rows(found.steps),
        "samples": rows(found.samples),
    }
    texts = [f'"{name}": {text}' for name, text in parts.items()]
    path.write_text("{\n" + ",\n".join(texts) + "\n}\n")
    return path


def rows(found: Iterable[object]) -> str:
    """A list in JSON, one element per line; jobs, steps and samples are lists without names."""
    return "[\n" + ",\n".join(map(line, found)) + "\n]"


def line(value: object) -> str:
    return msgspec.json.encode(value).decode()


def load(path: Path) -> Record:
    return msgspec.json.decode(path.read_bytes(), type=Record)


def load_all(folder: Path = RESULTS) -> list[Record]:
    return [load(path) for path in sorted(folder.glob("*.json"))]
