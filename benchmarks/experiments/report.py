"""This folder's README.md, generated from the records."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from benchmarks.experiments import tables
from benchmarks.experiments.ceiling import Others, most_trainers
from benchmarks.experiments.experiments import START_SECONDS, STOP_SECONDS, T1, T2
from benchmarks.experiments.figures import Figures
from benchmarks.experiments.metrics import packing_ceiling
from benchmarks.experiments.mix import SETTINGS, MixFigures
from benchmarks.experiments.published import DRAGON
from benchmarks.experiments.record import LAG_LIMIT
from benchmarks.experiments.series import ATTEMPTS
from benchmarks.report import circumstances

README: Final = Path(__file__).parent / "README.md"
_NO_REPLAYS: Final = """\
No replay of this version is recorded: every figure above is simulated. Earlier replays recorded
no time from bound to Running, had unequal horizons and were of several commits; they are left out.\
"""
_TEMPLATE: Final = Path(__file__).parent / "template.md"


def write(found: Sequence[Figures], aside: Sequence[Figures], mixes: Sequence[MixFigures]) -> Path:
    t1, t2 = (tables.columns(found, one.name) for one in (T1, T2))
    seeds = {one.seed for one in mixes if one.setting == SETTINGS[0]}
    README.write_text(
        _TEMPLATE.read_text().format(
            machine=circumstances.machine(),
            horizons=_horizons(),
            t2_horizon=T2.horizon,
            limit=LAG_LIMIT,
            attempts=ATTEMPTS,
            simulated=_simulated(found),
            start=START_SECONDS,
            stop=STOP_SECONDS,
            t1_trainers=most_trainers(Others(T1.jobs * T1.pservers, 0, T1.jobs)),
            t1_ceiling=packing_ceiling(T1),
            t1=tables.t1(t1),
            t2=tables.t2(t2),
            t2_steps=tables.t2_steps(t2),
            dragon=DRAGON,
            mix=tables.mixes(mixes),
            mix_runs=len(seeds),
            mix_told=_told({(one.date, one.commit) for one in mixes}),
            settings=tables.settings(mixes),
            replays=_replays(found, aside),
            t1_drawn=_drawn(found, T1.name),
            t2_drawn=_drawn(found, T2.name),
        )
    )
    return README


def _simulated(found: Sequence[Figures]) -> str:
    told = (one.circumstances for one in found if one.circumstances.source == "simulation")
    return _told({(one.date, one.commit) for one in told})


def _told(found: Collection[tuple[str, str]]) -> str:
    """The dates and commits of the records."""
    named = (
        f"{date[:10]}, commit `{commit}`" if commit else "date and commit were not recorded"
        for date, commit in found
    )
    return "; ".join(sorted(set(named)))


def _horizons() -> str:
    return ", ".join(f"{one.name} {one.horizon:.0f} s" for one in (T1, T2))


def _drawn(found: Sequence[Figures], experiment: str) -> str:
    """Which runs of an experiment its plot shows."""
    told = (one.circumstances for one in found)
    replayed = any(one.source == "replay" and one.experiment == experiment for one in told)
    return "all replays" if replayed else "the first simulated run of each arm"


def _replays(found: Sequence[Figures], aside: Sequence[Figures]) -> str:
    if not any(one.circumstances.source == "replay" for one in (*found, *aside)):
        return _NO_REPLAYS
    parts = [tables.runs(found)]
    if aside:
        parts += ["Set aside, of all arms:", tables.runs(aside)]
    return "\n\n".join(parts)
