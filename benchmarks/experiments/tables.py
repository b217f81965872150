"""The report's tables in Markdown."""

from collections.abc import Callable, Iterable, Sequence
from statistics import mean
from typing import Final, NamedTuple

from benchmarks.experiments import metrics, published
from benchmarks.experiments.experiments import ARMS, EDL, WITH, WITHOUT
from benchmarks.experiments.figures import Figures
from benchmarks.experiments.mix import SETTINGS, WAYS, MixFigures, Setting

SOURCES: Final = {"replay": "replay", "simulation": "simulated"}
NAMES: Final = {WITH: "with us", EDL: "with EDL's algorithm", WITHOUT: "without"}


class Columns(NamedTuple):
    """Runs by source and arm, each with its heading; a source without runs has no columns."""

    heads: tuple[str, ...]
    runs: tuple[Sequence[Figures], ...]

    def row(self, *first: str, cell: Callable[[Sequence[Figures]], str]) -> list[str]:
        return [*first, *(cell(found) if found else "not run" for found in self.runs)]


def columns(found: Iterable[Figures], experiment: str) -> Columns:
    of = [one for one in found if one.circumstances.experiment == experiment]
    by = {
        (source, arm): [
            one for one in of if (one.circumstances.source, one.circumstances.way) == (source, arm)
        ]
        for source in SOURCES
        for arm in ARMS
        if any(one.circumstances.source == source for one in of)
    }
    heads = (f"{SOURCES[source]} {NAMES[arm]} (n = {len(by[source, arm])})" for source, arm in by)
    return Columns(tuple(heads), tuple(by.values()))


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def spread(values: Sequence[float], form: str = "{:.1f}") -> str:
    """The mean, followed by the minimum and maximum if they differ."""
    texts = [form.format(value) for value in (mean(values), min(values), max(values))]
    return texts[0] if texts[1] == texts[2] else f"{texts[0]} ({texts[1]}–{texts[2]})"


def of_each(get: Callable[[Figures], float], form: str = "{:.1f}") -> Callable[..., str]:
    return lambda found: spread([get(one) for one in found], form)


def percent(get: Callable[[Figures], float]) -> Callable[..., str]:
    return of_each(lambda one: 100 * get(one), "{:.1f} %")


def t1(runs: Columns) -> str:
    waits, used, equal, below, stops = (list(row[1:]) for row in published.T1)
    rows = [
        runs.row("mean wait, s", *waits, "< 10", cell=_wait),
        runs.row("longest wait, s", "—", "—", "", cell=of_each(lambda one: one.longest)),
        runs.row("Jain index at 500 s", *equal, "≥ 0.95", cell=of_each(_jain, "{:.3f}")),
        runs.row("jobs below min at once, 300–500 s", *below, "0", cell=of_each(_below, "{:.0f}")),
        runs.row("seconds below min of jobs that had it", "—", "—", "0", cell=of_each(_lacking)),
        runs.row("utilisation, 300–500 s", *used, "", cell=percent(lambda one: _t1(one)[0])),
        runs.row("… of the packing ceiling", "—", "—", "≥ 95 %", cell=percent(lambda x: _t1(x)[1])),
        runs.row("… with all but trainers fixed", "—", "—", "", cell=percent(lambda x: _t1(x)[2])),
        runs.row("trainer stops", *stops, "", cell=of_each(_stops, "{:.0f}")),
        runs.row("masters and pservers killed", "—", "—", "0", cell=of_each(_killed, "{:.0f}")),
        runs.row(
            "jobs done at the end", "—", "—", "", cell=of_each(lambda one: one.done, "{:.0f}")
        ),
        runs.row("mean time of a job that is done, s", "—", "—", "", cell=_completion),
        runs.row("makespan, s", "—", "—", "", cell=_makespan),
    ]
    return markdown(["", "published", "raw logs", "to reach", *runs.heads], rows)


def _wait(found: Sequence[Figures]) -> str:
    """The mean wait; a job that never had its minimum counts with the time until the end."""
    unmet = sum(one.unmet for one in found)
    return spread([one.wait for one in found]) + (f"; {unmet} never" if unmet else "")


def _jain(one: Figures) -> float:
    return one.jain


def _below(one: Figures) -> float:
    return one.below


def _lacking(one: Figures) -> float:
    return one.lacking


def _t1(one: Figures) -> tuple[float, float, float]:
    (step,) = one.steps
    return step.utilisation, step.utilisation / step.ceiling, step.utilisation / step.around


def _stops(one: Figures) -> float:
    return one.stops["trainer"]


def _killed(one: Figures) -> float:
    return sum(count for kind, count in one.stops.items() if kind != "trainer")


def _completion(found: Sequence[Figures]) -> str:
    values = [one.completion for one in found if one.completion is not None]
    return spread(values, "{:.0f}") if values else "—"


def _makespan(found: Sequence[Figures]) -> str:
    values = [one.makespan for one in found if one.makespan is not None]
    return spread(values, "{:.0f}") if len(values) == len(found) else "—"


def t2(runs: Columns) -> str:
    used, back, waits = (list(row[1:]) for row in published.T2)
    rows = [
        runs.row("nginx back to 400", *back, "all", cell=_back),
        runs.row("+100 nginx Running after, s", "—", "—", "≤ 15", cell=_growths),
        runs.row("mean utilisation", *used, "", cell=percent(_mean_use)),
        runs.row("mean wait, s", *waits, "", cell=_wait),
        runs.row("longest wait, s", "—", "—", "", cell=of_each(lambda one: one.longest)),
        runs.row("seconds below min of jobs that had it", "—", "—", "0", cell=of_each(_lacking)),
        runs.row("trainer stops", "—", "—", "", cell=of_each(_stops, "{:.0f}")),
        runs.row("masters and pservers killed", "—", "—", "0", cell=of_each(_killed, "{:.0f}")),
    ]
    return markdown(["", "published", "raw logs", "to reach", *runs.heads], rows)


def _back(found: Sequence[Figures]) -> str:
    return f"{sum(one.back for one in found)} of {len(found)}"


def _growths(found: Sequence[Figures]) -> str:
    times = [seconds for one in found for seconds in metrics.growths(one.steps)]
    reached = [seconds for seconds in times if seconds is not None]
    late = f"; {len(times) - len(reached)} never" if len(reached) < len(times) else ""
    return (spread(reached) if reached else "—") + late


def _mean_use(one: Figures) -> float:
    return mean(step.utilisation for step in one.steps)


def t2_steps(runs: Columns) -> str:
    """For each step of the service: utilisation, and its share of each ceiling."""
    counts = next(([step.replicas for step in found[0].steps] for found in runs.runs if found), [])
    rows = [
        [str(count), *(_step(found, place) for found in runs.runs)]
        for place, count in enumerate(counts)
    ]
    return markdown(["nginx", *runs.heads], rows)


def _step(found: Sequence[Figures], place: int) -> str:
    if not found:
        return "not run"
    steps = [one.steps[place] for one in found]
    used = mean(step.utilisation for step in steps)
    shares = (
        mean(step.utilisation / limit for step, limit in zip(steps, limits, strict=True))
        for limits in (
            [step.ceiling for step in steps],
            [step.beside for step in steps],
            [step.around for step in steps],
        )
    )
    return f"{used:.1%}: {' · '.join(f'{share:.1%}' for share in shares)}"


def mixes(found: Sequence[MixFigures]) -> str:
    """The first setting in detail."""
    of = [one for one in found if one.setting == SETTINGS[0]]
    if not of:
        return "Not run."
    rows = [_mix([one for one in of if one.way == way], way, _base(of)) for way in WAYS]
    names = ["mean job time, s", "", "mean wait, s", "makespan, s", "GPUs in use", "worker stops"]
    bound = mean(one.alone for one in of)
    last = ["every job alone in the cluster", f"{bound:,.0f}", f"{bound / _base(of) - 1:+.0%}"]
    return markdown(["", *names], [*rows, [*last, *[""] * 4]])


def _base(found: Sequence[MixFigures]) -> float:
    return mean(mean(one.completions) for one in found if one.way == WAYS[0])


def _mix(found: Sequence[MixFigures], way: str, base: float) -> list[str]:
    time = mean(mean(one.completions) for one in found)
    return [
        _named(way),
        f"{time:,.0f}",
        f"{time / base - 1:+.0%}" if time != base else "",
        f"{mean(one.wait for one in found):,.0f}",
        f"{mean(one.makespan for one in found):,.0f}",
        f"{mean(one.utilisation for one in found):.1%}",
        f"{mean(one.stops for one in found):.0f}",
    ]


def _named(way: str) -> str:
    return way if way.startswith("without") else f"with us, `{way}`"


def settings(found: Sequence[MixFigures]) -> str:
    """Job times relative to those without kubectl-edl, and the bound of any scheduler."""
    further = {one.way for one in found if one.setting != SETTINGS[0]}
    ways = [way for way in WAYS[1:] if way in further]
    heads = ["a job each", "tail", "without us, s", *(_named(way) for way in ways), "alone"]
    rows = [
        _setting([one for one in found if one.setting == setting], setting, ways)
        for setting in SETTINGS
        if any(one.setting == setting for one in found)
    ]
    return markdown(heads, rows)


def _setting(of: Sequence[MixFigures], setting: Setting, ways: Sequence[str]) -> list[str]:
    base = _base(of)
    times = [[mean(one.completions) for one in of if one.way == way] for way in ways]
    bound = mean(one.alone for one in of)
    return [
        f"{setting.gap:.0f} s",
        f"{setting.tail}",
        f"{base:,.0f}",
        *(f"{mean(found) / base - 1:+.0%}" if found else "not run" for found in times),
        f"{bound / base - 1:+.0%}",
    ]


def runs(found: Sequence[Figures]) -> str:
    """Each replay: its date, commit, machine load, and whether its nodes kept up."""
    rows = [_run(one) for one in found if one.circumstances.source == "replay"]
    lag = "bound to Running, s: p50 / p99 / most"
    names = ["ended", "commit", "load: before / mean / most", "nice", lag, "mean wait, s"]
    return markdown(["run", *names], rows)


def _run(one: Figures) -> list[str]:
    told = one.circumstances
    return [
        f"{told.experiment} {NAMES[told.way]}, seed {told.seed}",
        f"{told.date} UTC",
        f"`{told.commit}`",
        " / ".join(f"{load:.1f}" for load in told.load),
        str(told.nice),
        f"{one.lag.p50} / {one.lag.p99} / {one.lag.most}" if one.lag else "—",
        f"{one.wait:.1f}",
    ]
