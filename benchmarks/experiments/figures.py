"""The figures of a run, which the report shows; of simulated runs nothing else is kept."""

from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import msgspec

from benchmarks.experiments import metrics
from benchmarks.experiments.metrics import StepFigures
from benchmarks.experiments.record import Circumstances, Lag, Record, rows

FAIR_AT = 500.0
"""The second at which the published logs were evaluated for fairness."""
FAIR_FROM = 200.0
"""All jobs of T1 exist from this second on; `fair` is the mean from then until `FAIR_AT`."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Times in seconds, shares as fractions. None: the run has no such figure.

    `below`: the most jobs at once that had less than their minimum, in the steady window.
    `lacking`: seconds below the minimum after having had it, summed over all jobs.
    """

    circumstances: Circumstances
    wait: float
    longest: float
    unmet: int
    whole: float
    jain: float
    below: int
    lacking: float
    stops: dict[str, int]
    completion: float | None
    done: int
    makespan: float | None
    back: bool
    steps: tuple[StepFigures, ...]
    lag: Lag | None = None
    fair: float | None = None


def figures(record: Record) -> Figures:
    experiment = metrics.experiment_of(record)
    waits, done = metrics.waits(record), metrics.completion(record)
    return Figures(
        circumstances=record.circumstances,
        wait=waits.mean,
        longest=waits.longest,
        unmet=waits.unmet,
        whole=metrics.waits(record, whole=True).mean,
        jain=metrics.jain(metrics.sizes_at(record, FAIR_AT)),
        below=metrics.most_below(record, experiment.window),
        lacking=metrics.lacking(record),
        stops=record.stops,
        completion=mean(done) if done else None,
        done=len(done),
        makespan=metrics.makespan(record),
        back=metrics.is_back(record),
        steps=tuple(metrics.steps(record)),
        lag=record.lag,
        fair=metrics.mean_jain(record, (FAIR_FROM, FAIR_AT)),
    )


def write(found: list[Figures], path: Path) -> Path:
    """Write the figures, one run per line; returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(rows(_rounded(msgspec.to_builtins(one)) for one in found) + "\n")
    return path


def read(path: Path) -> list[Figures]:
    """The figures of simulated runs, which have no lag."""
    return msgspec.json.decode(path.read_bytes(), type=list[Figures]) if path.exists() else []


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {name: _rounded(found) for name, found in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(found) for found in value]
    return value
