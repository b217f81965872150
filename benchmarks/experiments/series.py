"""The replays of one report: which runs, in which order, and which of them are still to do."""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from benchmarks.experiments.experiments import ARMS, EXPERIMENTS
from benchmarks.experiments.record import Record

SET_UP: Final = 60.0
"""The approximate seconds that starting and ending a run's cluster take."""
ATTEMPTS: Final = 3
"""How often a run is tried whose nodes fell behind."""


class Run(NamedTuple):
    """One replay."""

    experiment: str
    arm: str
    seed: int

    @property
    def name(self) -> str:
        """The name of its record."""
        return f"{self.experiment}-replay-{self.arm}-{self.seed}"


def runs(
    seeds: int, arms: Collection[str] = ARMS, experiments: Collection[str] = tuple(EXPERIMENTS)
) -> list[Run]:
    """Each arm of each experiment with each seed; the arms take turns in coming first."""
    found = []
    for seed in range(1, seeds + 1):
        for name in sorted(experiments):
            turn = [*ARMS[seed % len(ARMS) :], *ARMS[: seed % len(ARMS)]]
            found += [Run(name, arm, seed) for arm in turn if arm in arms]
    return found


def due(wanted: Iterable[Run], kept: Iterable[Record], aside: Iterable[Record]) -> list[Run]:
    """The runs without a record, except those that were set aside too often."""
    there, tries = {found.name for found in kept}, [found.name for found in aside]
    return [run for run in wanted if run.name not in there and tries.count(run.name) < ATTEMPTS]


def foreign_records(found: Iterable[Record], commit: str) -> list[str]:
    """The names of records of another commit, which cannot be part of the same report."""
    return sorted({one.name for one in found if one.circumstances.commit != commit})


def seconds(wanted: Iterable[Run]) -> float:
    """The total duration of these runs, one after another."""
    return sum(EXPERIMENTS[run.experiment].horizon + SET_UP for run in wanted)


def spoken(duration: float) -> str:
    """The duration in hours and minutes."""
    hours, minutes = divmod(round(duration / 60), 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min"
