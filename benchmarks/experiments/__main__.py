"""`python -m benchmarks.experiments simulate|replay|report`."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click
import msgspec

from benchmarks.experiments import figures, metrics, report, series
from benchmarks.experiments.experiments import ARMS, EXPERIMENTS
from benchmarks.experiments.mix import SETTINGS, WAYS, MixFigures, simulate_mix
from benchmarks.experiments.plots import draw
from benchmarks.experiments.record import ASIDE, RESULTS, Record, keep, load_all, rows, save
from benchmarks.experiments.replay import replay as play
from benchmarks.experiments.series import Run
from benchmarks.experiments.simulation import simulate as run
from benchmarks.report.circumstances import changed, commit

ALL: Final = tuple(sorted(EXPERIMENTS))
COURSES: Final = RESULTS / "simulated" / "courses"
"""The first simulated run of each arm, in the format of a replay, for the plots."""
_MIX: Final = "mix"
_MIXES: Final = RESULTS / "simulated" / "mix.json"
FEW: Final = 3
"""The number of runs of each further setting of the mix."""
COMPARED: Final = (*WAYS[:2], "fair", "throughput")
"""The ways that are compared in these settings."""


@click.group()
def main() -> None:
    """The published experiments, simulated and replayed, and the report about them."""


@main.command()
@click.option("--seeds", default=3, show_default=True, help="Runs of each arm.")
@click.option("--arm", "arms", type=click.Choice(ARMS), multiple=True, default=ARMS)
@click.option("--experiment", "names", type=click.Choice(ALL), multiple=True, default=ALL)
@click.option("--smoke", type=float, help="Seconds per run; nothing is recorded.")
@click.option("--logs", type=click.Path(path_type=Path), help="A folder for all processes' logs.")
def replay(
    *, seeds: int, arms: Sequence[str], names: Sequence[str], smoke: float | None, logs: Path | None
) -> None:
    """On a real control plane in real time, one run after the other; again: what is still to do.

    A run whose nodes fell behind is set aside and tried again. On a machine that does other work
    too, `nice -n -8` (as root) keeps that from the figures.
    """
    wanted = series.runs(seeds, arms, names)
    if smoke is not None:
        for run in wanted:
            experiment = replace(EXPERIMENTS[run.experiment], horizon=smoke)
            _tell(play(experiment, run.arm, run.seed, _kept(logs, run)))
        return
    while left := series.due(wanted, load_all(), load_all(ASIDE)):
        _demand_one_commit()
        duration = series.seconds(left)
        ends = datetime.now(UTC) + timedelta(seconds=duration)
        print(f"{len(left)} runs, {series.spoken(duration)}: until about {ends:%H:%M} UTC")
        found = play(EXPERIMENTS[left[0].experiment], *left[0][1:], _kept(logs, left[0]))
        _tell(found)
        print(keep(found), flush=True)


def _kept(logs: Path | None, run: Run) -> Path | None:
    return logs / run.name if logs else None


def _tell(found: Record) -> None:
    waits, sizes = metrics.waits(found), found.samples[-1].trainers
    print(f"{found.name}: {found.lag}, set aside: {found.is_late}; {waits}; trainers {sizes}")


def _demand_one_commit() -> None:
    """Require a clean commit, shared by all records, so that a report's code can be found."""
    if files := changed():
        raise click.ClickException("commit first; differs from its commit:\n" + "\n".join(files))
    if others := series.foreign_records([*load_all(), *load_all(ASIDE)], commit()):
        raise click.ClickException(
            f"not of commit {commit()}: {', '.join(others)}; remove them, or check that out"
        )


@main.command()
@click.argument("names", type=click.Choice([*ALL, _MIX]), nargs=-1)
@click.option("--runs", default=10, show_default=True)
@click.option("--arm", "arms", type=click.Choice(ARMS), multiple=True, default=ARMS)
def simulate(*, names: Sequence[str], runs: int, arms: Sequence[str]) -> None:
    """In the simulator: seconds a run. All experiments, or these; of the mix always all ways."""
    for name in names or (*ALL, _MIX):
        if name == _MIX:
            print(_simulate_mixes(runs))
            continue
        for arm in arms:
            records = [run(EXPERIMENTS[name], arm, seed) for seed in range(1, runs + 1)]
            save(records[0], COURSES)
            found = [figures.figures(record) for record in records]
            print(figures.write(found, _simulated(name, arm)), flush=True)


def _simulate_mixes(runs: int) -> Path:
    """Simulate the first setting often and the others a few times, for comparison."""
    asked = [(SETTINGS[0], way, runs) for way in WAYS]
    asked += [(found, way, min(runs, FEW)) for found in SETTINGS[1:] for way in COMPARED]
    mixes = [
        simulate_mix(way, seed, setting)
        for setting, way, count in asked
        for seed in range(1, count + 1)
    ]
    _MIXES.parent.mkdir(parents=True, exist_ok=True)
    _MIXES.write_text(rows(mixes) + "\n")
    return _MIXES


@main.command(name="report")
def write_report() -> None:
    """README.md and the plots, from all that has been run."""
    records = load_all()
    if len(commits := {one.circumstances.commit for one in records}) > 1:
        raise click.ClickException(f"replays of several commits: {', '.join(sorted(commits))}")
    found = [figures.figures(record) for record in records]
    for name in ALL:
        for arm in ARMS:
            found += figures.read(_simulated(name, arm))
    stored = _MIXES.read_bytes() if _MIXES.exists() else b"[]"
    mixes = msgspec.json.decode(stored, type=list[MixFigures])
    aside = [figures.figures(record) for record in load_all(ASIDE)]
    replayed = {one.circumstances.experiment for one in records}
    simulated = load_all(COURSES)
    drawn = [*records, *(one for one in simulated if one.circumstances.experiment not in replayed)]
    for path in (*draw(drawn, mixes, RESULTS), report.write(found, aside, mixes)):
        print(path)


def _simulated(name: str, arm: str) -> Path:
    return RESULTS / "simulated" / f"{name}-{arm}.json"


if __name__ == "__main__":
    main()
