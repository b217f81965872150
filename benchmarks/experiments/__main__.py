"""`python -m benchmarks.experiments simulate|replay|report`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from benchmarks.experiments import figures, report
from benchmarks.experiments.experiments import EXPERIMENTS
from benchmarks.experiments.mix import SETTINGS, WAYS, MixFigures, Setting, simulate_mix
from benchmarks.experiments.plots import draw
from benchmarks.experiments.record import ASIDE, RESULTS, load_all, save
from benchmarks.experiments.replay import replay as play
from benchmarks.experiments.simulation import simulate as run

_MIX: Final = "mix"
_MIXES: Final = RESULTS / "simulated" / "mix.json"
FEW: Final = 3
"""Runs of each further setting of the mix."""
COMPARED: Final = (*WAYS[:2], "fair", "throughput")
"""Ways that are looked at there."""
_without = click.option("--without", is_flag=True, help="As users have it today: fixed sizes.")


@click.group()
def main() -> None:
    """The published experiments, simulated and replayed, and the report about them."""


@main.command()
@click.argument("name", type=click.Choice(sorted(EXPERIMENTS)))
@click.option("--runs", default=3, show_default=True)
@click.option("--first", default=1, show_default=True, help="The first run's seed.")
@_without
@click.option("--logs", type=click.Path(path_type=Path), help="A folder for all processes' logs.")
def replay(name: str, *, runs: int, first: int, without: bool, logs: Path | None) -> None:
    """On a real control plane in real time: ten minutes a run.

    On a machine that does other work too, `nice -n -8` (as root) keeps that from the figures.
    """
    way = "without" if without else "with"
    for seed in range(first, first + runs):
        kept = logs / f"{name}-{way}-{seed}" if logs else None
        print(save(play(EXPERIMENTS[name], way, seed, kept)), flush=True)


@main.command()
@click.argument("name", type=click.Choice([*sorted(EXPERIMENTS), _MIX]))
@click.option("--runs", default=10, show_default=True)
@_without
def simulate(name: str, *, runs: int, without: bool) -> None:
    """In the simulator: seconds a run. Of the mix, all ways."""
    seeds = range(1, runs + 1)
    if name == _MIX:
        print(_simulate_mixes(runs))
        return
    way = "without" if without else "with"
    found = [figures.figures(run(EXPERIMENTS[name], way, seed)) for seed in seeds]
    print(figures.write(found, _simulated(name, way)))


def _simulate_mixes(runs: int) -> Path:
    """The first setting closely, the others a few times: what figures depend on."""
    asked = [(SETTINGS[0], way, runs) for way in WAYS]
    asked += [(found, way, min(runs, FEW)) for found in SETTINGS[1:] for way in COMPARED]
    mixes = [
        asdict(simulate_mix(way, seed, setting))
        for setting, way, count in asked
        for seed in range(1, count + 1)
    ]
    lines = [json.dumps(found, separators=(",", ":")) for found in mixes]
    _MIXES.parent.mkdir(parents=True, exist_ok=True)
    _MIXES.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    return _MIXES


@main.command(name="report")
def write_report() -> None:
    """README.md and the plots, from all that has been run."""
    records = load_all()
    found = [figures.figures(record) for record in records]
    for name in sorted(EXPERIMENTS):
        for way in ("with", "without"):
            found += figures.read(_simulated(name, way))
    rows = json.loads(_MIXES.read_text()) if _MIXES.exists() else []
    mixes = [MixFigures(**row | {"setting": Setting(**row["setting"])}) for row in rows]
    aside = [figures.figures(record) for record in load_all(ASIDE)]
    for path in (*draw(records, mixes, RESULTS), report.write(found, aside, mixes)):
        print(path)


def _simulated(name: str, way: str) -> Path:
    return RESULTS / "simulated" / f"{name}-{way}.json"


if __name__ == "__main__":
    main()
