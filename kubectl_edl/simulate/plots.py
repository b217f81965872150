"""Plots of simulations: sizes over time, the queue, utilisation, and a Gantt chart of jobs.

matplotlib is an extra (`plots`) that only this module needs.
"""

from collections.abc import Sequence
from datetime import timedelta
from math import isfinite
from pathlib import Path
from typing import Any, Final

from edl.quantities import PODS
from edl.simulator import JobResult, Result
from edl.simulator.timeline import StepSeries
from kubectl_edl.cli.command_errors import Misused, Refused
from kubectl_edl.output.age import duration
from kubectl_edl.simulate.run_variants import Run

ENDINGS: Final = (".png", ".svg", ".pdf")
_MISSING: Final = (
    "plots need matplotlib in the plugin's environment: pipx inject kubectl-edl matplotlib,"
    " or pip install matplotlib in its environment"
)
_MAX_BARS: Final = 60
"""The most jobs in a Gantt chart; more bars would be too thin to read."""
_COLOURS: Final = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677", "#aa3377", "#bbbbbb")
"""Paul Tol's bright scheme, which is distinguishable for colour-blind readers."""
_HOUR: Final = 3600
_MINUTE: Final = 60
_WAITS: Final = "waits"
_RUNS: Final = ((0.25, "runs, a quarter of its max"), (0.5, "half"), (1.0, "its max"))
"""Shades in the Gantt chart's legend: fractions of a job's max."""


def check(path: str) -> None:
    """Raise Misused or Refused before the simulation if the plot cannot be written."""
    if Path(path).suffix not in ENDINGS:
        raise Misused(f"--plot {path}: not a picture; one that ends with {', '.join(ENDINGS)}")
    if Path(path).is_dir():
        raise Refused(f"--plot {path}: is a folder; a file in it, such as {Path(path, 'day.svg')}")
    if not Path(path).absolute().parent.is_dir():
        raise Refused(f"--plot {path}: there is no folder {Path(path).parent}")
    _pyplot()


def plot(runs: Sequence[Run], path: str) -> None:
    """Write the plot, a column of four panels per run. Raises Refused if it cannot be written."""
    figure = drawn(runs)
    try:
        figure.savefig(path, metadata={} if path.endswith(".png") else {"Date": None})
    except OSError as error:
        raise Refused(f"--plot {path}: cannot be written: {error.strerror or error}") from error
    finally:
        _pyplot().close(figure)


def drawn(runs: Sequence[Run]) -> Any:  # noqa: ANN401 - an extra's class
    """The figure; compared runs share their axes."""
    figure, axes = _pyplot().subplots(
        4,
        len(runs),
        figsize=(8 * len(runs), 13),
        squeeze=False,
        sharex=True,
        sharey="row",
        gridspec_kw={"height_ratios": [3, 1, 1.5, 4]},
        layout="constrained",
    )
    for run, column in zip(runs, axes.T, strict=True):
        scale, unit = (_HOUR, "hours") if run.result.until >= 2 * _HOUR else (_MINUTE, "minutes")
        panel = _Panels(run.result, scale)
        column[0].set_title(f"{run.name}: {summary(run.result)}", loc="left")
        panel.sizes(column[0])
        panel.queue(column[1])
        panel.utilisation(column[2])
        panel.gantt(column[3])
        column[3].set_xlabel(f"time ({unit})")
    return figure


def _pyplot() -> Any:  # noqa: ANN401 - an extra's module
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        mpl.rcParams["svg.hashsalt"] = "kubectl-edl"
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise Refused(_MISSING) from error
    return plt


def summary(result: Result) -> str:
    least = ">" if result.never else ""
    mean = result.wait_times.mean
    wait = f"mean wait {least}{duration(timedelta(seconds=mean)) if isfinite(mean) else mean}"
    return f"{wait}, {result.ended} of {len(result.jobs)} jobs ended"


class _Panels:
    """Draws one result; `scale` is the number of seconds per unit of the time axis."""

    def __init__(self, result: Result, scale: float) -> None:
        self._result = result
        self._scale = scale
        self._until = result.last

    def _steps(self, line: StepSeries[Any], read: Any) -> tuple[list[float], list[float]]:  # noqa: ANN401
        """Corner points for a step plot."""
        spans = line.spans(0, self._until)
        times = [begin / self._scale for begin, _, _ in spans]
        values = [read(value) for *_, value in spans]
        return [*times, self._until / self._scale], [*values, *values[-1:]]

    def sizes(self, axis: Any) -> None:  # noqa: ANN401
        """Scheduled replicas of each job; jobs are named if there are enough colours."""
        jobs = self._result.jobs
        few = len(jobs) <= len(_COLOURS)
        for number, job in enumerate(jobs):
            times, sizes = self._steps(job.track.size, float)
            name = job.key.name if few else "" if number else f"each of {len(jobs)} jobs"
            look = {"color": _COLOURS[number]} if few else {"color": _COLOURS[0], "alpha": 0.5}
            axis.step(times, sizes, where="post", lw=1, label=name, **look)
        axis.set_ylabel("replicas of each job")
        _legend(axis)

    def queue(self, axis: Any) -> None:  # noqa: ANN401
        times, waiting = self._steps(self._result.timeline.queue, float)
        axis.fill_between(times, waiting, step="post", color=_COLOURS[3])
        axis.set_ylabel("jobs waiting")

    def utilisation(self, axis: Any) -> None:  # noqa: ANN401
        """Requests of bound pods as a fraction of allocatable at that time."""
        timeline = self._result.timeline
        offered = timeline.offered.values[-1] if timeline.offered.values else {}
        names = [name for name in offered if name != PODS and self._result.utilisation(name)]
        for number, name in enumerate(names):
            times, parts = self._steps(timeline.used, lambda used, of=name: used.get(of, 0))
            most = [timeline.offered.at(time * self._scale).get(name, 0) or 1 for time in times]
            shares = [100 * part / full for part, full in zip(parts, most, strict=True)]
            axis.step(times, shares, where="post", label=name, color=_COLOURS[number])
        axis.set_ylim(0, 105)
        axis.set_ylabel("requested (%)")
        _legend(axis)

    def gantt(self, axis: Any) -> None:  # noqa: ANN401
        """One bar per job, in the legend's colours."""
        jobs = self._result.jobs[:_MAX_BARS]
        for number, job in enumerate(jobs):
            self._bar(axis, number, job)
        axis.set_ylim(len(jobs) - 0.5, -0.5)
        axis.set_yticks(range(len(jobs)), [job.key.name for job in jobs], fontsize=6)
        more = len(self._result.jobs) - len(jobs)
        axis.set_ylabel(f"jobs (and {more} more)" if more else "jobs")
        for part, label in ((0, _WAITS), *_RUNS):
            axis.bar(0, 0, color=[_shade(part)], label=label)
        _legend(axis)

    def _bar(self, axis: Any, number: int, job: JobResult) -> None:  # noqa: ANN401
        end = self._until if job.track.ended is None else job.track.ended
        spans = job.track.size.spans(job.track.arrived, end)
        axis.broken_barh(
            [(begin / self._scale, (until - begin) / self._scale) for begin, until, _ in spans],
            (number - 0.4, 0.8),
            facecolors=[_shade(size / job.max) for *_, size in spans],
            linewidth=0,
        )


def _legend(axis: Any) -> None:  # noqa: ANN401
    """Place the legend above the panel, where it covers no line; none without labels."""
    if axis.get_legend_handles_labels()[1]:
        place = {"loc": "lower right", "bbox_to_anchor": (1, 1), "borderaxespad": 0.2}
        axis.legend(**place, ncols=4, fontsize=8, frameon=False)


def _shade(part: float) -> tuple[str, float]:
    """(colour, opacity): grey for 0, and darker for larger fractions."""
    return (_COLOURS[0], 0.25 + 0.75 * min(part, 1)) if part else (_COLOURS[6], 0.5)
