"""The report's plots, each a small PNG."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.experiments import metrics
from benchmarks.experiments.cluster import TOTAL_CPU
from benchmarks.experiments.experiments import EDL, T1, T2, WITH, WITHOUT
from benchmarks.experiments.mix import SETTINGS, WAYS, MixFigures, alone
from benchmarks.experiments.record import Record
from benchmarks.experiments.tables import NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {WITH: "tab:blue", EDL: "tab:green", WITHOUT: "tab:orange"}


def draw(records: Sequence[Record], mixes: Sequence[MixFigures], folder: Path) -> list[Path]:
    """Draw the runs and the mix; returns the written files."""
    by_name: dict[str, Callable[[Any], None]] = {
        "t1": lambda axes: _t1(axes, _of(records, T1.name)),
        "t2": lambda axes: _t2(axes, _of(records, T2.name)),
        "mix": lambda axes: _mix(axes, mixes),
    }
    return [_save(paint, folder / f"{name}.png") for name, paint in by_name.items()]


def _of(records: Sequence[Record], experiment: str) -> list[Record]:
    return [found for found in records if found.circumstances.experiment == experiment]


def _save(paint: Callable[[Any], None], path: Path) -> Path:
    # Only here: the extra `plots` need not be there for anything else.
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib import pyplot as plt  # noqa: PLC0415

    mpl.use("agg")
    mpl.rcParams.update({"font.size": 8})
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    paint(axes)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)
    plt.close(figure)
    return path


def _t1(axes: "Sequence[Axes]", records: Sequence[Record]) -> None:
    _utilisation(axes[0], records)
    axes[0].axhline(metrics.packing_ceiling(T1), color="grey", ls=":", label="packing ceiling")
    axes[0].legend()
    axes[1].set(title="Running trainers of each job, with us (first run)", xlabel="s")
    for record in [one for one in records if one.circumstances.way == WITH][:1]:
        times = [sample.at for sample in record.samples]
        axes[1].plot(times, [sample.trainers for sample in record.samples], lw=0.8)


def _t2(axes: "Sequence[Axes]", records: Sequence[Record]) -> None:
    _utilisation(axes[0], records)
    starts = [at for at, _ in T2.nginx]
    ceilings = [metrics.packing_ceiling(T2, count) for _, count in T2.nginx]
    edges = [*starts, T2.horizon]
    axes[0].stairs(ceilings, edges, baseline=None, color="grey", ls=":", label="packing ceiling")
    axes[0].legend()
    axes[1].set(title="nginx and trainers that run", xlabel="s")
    axes[1].stairs([count for _, count in T2.nginx], edges, baseline=None, color="grey", ls=":")
    for record in records:
        colour, times = _COLOURS[record.circumstances.way], [one.at for one in record.samples]
        trainers = [sum(one.trainers) for one in record.samples]
        axes[1].plot(times, [one.nginx for one in record.samples], color=colour, lw=0.8)
        axes[1].plot(times, trainers, color=colour, lw=0.8, ls="--")


def _utilisation(axes: "Axes", records: Sequence[Record]) -> None:
    axes.set(title="CPU that running pods ask for", xlabel="s", ylim=(0, 1))
    labelled = set()
    for record in records:
        way = record.circumstances.way
        times = [sample.at for sample in record.samples]
        shares = [sample.cpu / TOTAL_CPU for sample in record.samples]
        label = None if way in labelled else NAMES[way]
        labelled.add(way)
        axes.plot(times, shares, color=_COLOURS[way], lw=0.8, label=label)


def _mix(axes: "Sequence[Axes]", mixes: Sequence[MixFigures]) -> None:
    titles = ("Job times, s, all runs", "… by the time alone in the cluster")
    for plot, title in zip(axes, titles, strict=True):
        plot.set(title=title, ylabel="part of the jobs", xscale="log")
    for way in WAYS:
        of = [one for one in mixes if one.way == way and one.setting == SETTINGS[0]]
        times = [time for one in of for time in one.completions]
        fastest = [time for one in of for time in alone(one.setting, one.seed)]
        slowdowns = [time / best for time, best in zip(times, fastest, strict=True)]
        for plot, values in ((axes[0], list[float](times)), (axes[1], slowdowns)):
            parts = [number / len(values) for number in range(1, len(values) + 1)]
            plot.plot(sorted(values), parts, lw=0.8, label=way)
    axes[1].legend(loc="lower right")
