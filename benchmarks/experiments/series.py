"""The replays of one report: which runs, in which order, and which of them are still to do."""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from benchmarks.experiments.experiments import ARMS, EXPERIMENTS
from benchmarks.experiments.record import Record

SET_UP: Final = 60.0
"""Seconds until a run's cluster stands, and until it is gone: about."""
ATTEMPTS: Final = 3
"""So often a run is tried whose nodes fell behind."""


class Run(NamedTuple):
    """One replay."""

    experiment: str
    arm: str
    seed: int

    @property
    def name(self) -> str:
        """As its record is called."""
        return f"{self.experiment}-replay-{self.arm}-{self.seed}"


def runs(
    seeds: int, arms: Collection[str] = ARMS, experiments: Collection[str] = tuple(EXPERIMENTS)
) -> list[Run]:
    """Each arm of each experiment with each seed; none of them always comes first."""
    found = []
    for seed in range(1, seeds + 1):
        for name in sorted(experiments):
            turn = [*ARMS[seed % len(ARMS) :], *ARMS[: seed % len(ARMS)]]
            found += [Run(name, arm, seed) for arm in turn if arm in arms]
    return found


def due(wanted: Iterable[Run], kept: Iterable[Record], aside: Iterable[Record]) -> list[Run]:
    """Those without a record, unless they have been set aside too often."""
    there, tries = {found.name for found in kept}, [found.name for found in aside]
    return [run for run in wanted if run.name not in there and tries.count(run.name) < ATTEMPTS]


def foreign_records(found: Iterable[Record], commit: str) -> list[str]:
    """Names of records that are of another commit: they cannot stand in one report."""
    return sorted({one.name for one in found if one.circumstances.commit != commit})


def seconds(wanted: Iterable[Run]) -> float:
    """How long they take, one after the other."""
    return sum(EXPERIMENTS[run.experiment].horizon + SET_UP for run in wanted)


def spoken(duration: float) -> str:
    """Hours and minutes."""
    hours, minutes = divmod(round(duration / 60), 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min"
