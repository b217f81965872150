"""The screen of `kubectl edl simulate`: runs side by side."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from edl.quantities import PODS
from edl.simulator import JobResult, Result, Summary
from edl.simulator.timeline import StepSeries
from kubectl_edl.model import topology_view
from kubectl_edl.output.age import duration
from kubectl_edl.output.documents.field_kinds import API_VERSION
from kubectl_edl.output.report import Report
from kubectl_edl.output.table import Column, Table
from kubectl_edl.simulate.run_variants import Run

if TYPE_CHECKING:
    from kubectl_edl.output.documents.simulation_documents import (
        Points,
        SimulatedJobDocument,
        SimulationDocument,
        SpreadDocument,
        TimelineDocument,
    )

_NEVER: Final = "never"
_NEITHER: Final = "-"
_RUNS: Final = (
    Column("POLICY"),
    Column("JOBS"),
    Column("ENDED"),
    Column("WAIT-MEAN"),
    Column("WAIT-MEDIAN", wide=True),
    Column("WAIT-MAX", spare=2),
    Column("COMPLETION-MEAN", spare=1),
    Column("COMPLETION-MEDIAN", wide=True),
    Column("MAKESPAN"),
)
_AFTER: Final = (
    Column("BELOW-MIN", spare=3),
    Column("RESTARTS", spare=3),
    Column("POD-STOPS", spare=3),
    Column("DECISIONS", wide=True),
)
_COSTS: Final = (Column("NODE-HOURS"), Column("COST"))
_JOBS: Final = (
    Column("POLICY"),
    Column("NAME"),
    Column("ARRIVED"),
    Column("WAIT"),
    Column("ENDED"),
    Column("COMPLETION"),
    Column("MEAN-SIZE"),
    Column("MIN..MAX"),
    Column("RESIZES"),
    Column("MESSAGE", shrinks=True),
)
_DOMAINS: Final = (Column("POLICY"), Column("NAME"), *topology_view.COLUMNS)


def runs_report(runs: Sequence[Run], *, wide: bool) -> Report:
    """One line a run; wide: and one a job."""
    names = _resources(runs)
    costs = _COSTS if any(run.result.prices for run in runs) else ()
    columns = (*_RUNS, *costs, *(Column(_title(name)) for name in names), *_AFTER)
    table = Table(columns, tuple(_run_row(run, names, len(costs)) for run in runs))
    jobs = Table(_JOBS, tuple(_job_row(run, one) for run in runs for one in run.result.jobs))
    domains = Table(_DOMAINS, tuple(row for run in runs for row in _domain_rows(run)))
    return Report(
        sections=(table, jobs, domains) if wide else (table,),
        objects=tuple(run_document(run) for run in runs),
        names=tuple(run.variant.name for run in runs),
        list_kind="SimulationList",
    )


def _resources(runs: Sequence[Run]) -> list[str]:
    """Resources that nodes offer and jobs request."""
    found = {name for run in runs for used in run.result.timeline.used.values for name in used}
    asked = {
        name
        for name in found
        if name != PODS and any(run.result.utilisation(name) > 0 for run in runs)
    }
    return sorted(asked, key=lambda name: (name not in ("cpu", "memory"), name))


def _title(resource: str) -> str:
    return resource.rpartition("/")[2].upper()


def _run_row(run: Run, resources: Sequence[str], costs: int) -> tuple[str, ...]:
    """`costs`: how many columns there are of what nodes cost."""
    result = run.result
    return (
        run.variant.name,
        str(len(result.jobs)),
        str(result.ended),
        *_waits(result),
        time_cell(result.completions.mean),
        time_cell(result.completions.median),
        time_cell(result.makespan) if isfinite(result.makespan) else _NEVER,
        *(f"{result.node_hours:.1f}", f"{result.cost:.2f}")[:costs],
        *(f"{result.utilisation(name):.0%}" for name in resources),
        time_cell(result.below_min),
        str(result.stops),
        str(result.pod_stops),
        str(result.timeline.decisions),
    )


def _waits(result: Result) -> list[str]:
    """Mean, median, largest; where some never ran, what they are at least."""
    found = _known_waits(result)
    times = [time_cell(one) for one in (found.mean, found.median, found.most)]
    if not result.never:
        return times
    return [f">{time}" if isfinite(found.mean) else _NEVER for time in times]


def _known_waits(result: Result) -> Summary:
    """Waits, empty if no job ran: waiting until the end says nothing."""
    return Summary.of(()) if result.never == len(result.jobs) else result.waits


def time_cell(seconds: float | None) -> str:
    """As kubectl writes lengths of time; nothing where there is none."""
    if seconds is None or not isfinite(seconds):
        return _NEITHER
    return duration(timedelta(seconds=round(seconds)))


def _job_row(run: Run, job: JobResult) -> tuple[str, ...]:
    track = job.track
    return (
        run.variant.name,
        job.key.name,
        time_cell(track.arrived),
        time_cell(job.wait) if track.running is not None else _NEVER,
        time_cell(track.ended) if track.ended is not None else _NEVER,
        time_cell(job.completion),
        f"{_mean_size(job):.1f}",
        bounds(job),
        str(track.resizes),
        "" if track.ended is not None else track.reason,
    )


def bounds(job: JobResult) -> str:
    return f"{job.min}..{job.max}" if job.max > job.min else str(job.max)


def _domain_rows(run: Run) -> Iterator[tuple[str, ...]]:
    """Where jobs with a topology ran when they first started."""
    for job in run.result.jobs:
        for one in job.domains:
            yield run.variant.name, job.key.name, *topology_view.cells(one)


def _mean_size(job: JobResult) -> float:
    """Replicas on nodes, on average while it had some."""
    track = job.track
    since, until = track.placed, track.ended or job.until
    if since is None or until <= since:
        return 0.0
    spans = track.size.spans(since, until)
    return sum((end - begin) * size for begin, end, size in spans) / (until - since)


# -- documents ---------------------------------------------------------------------------------


def run_document(run: Run) -> "SimulationDocument":
    """A run for `-o json`."""
    result = run.result
    return {
        "apiVersion": API_VERSION,
        "kind": "Simulation",
        "metadata": {"name": run.variant.name},
        "durationSeconds": result.until,
        "completedJobs": result.ended,
        "neverStartedJobs": result.never,
        "waitSeconds": _spread(_known_waits(result)),
        "completionSeconds": _spread(result.completions),
        "makespanSeconds": _number(result.makespan),
        "utilization": {name: result.utilisation(name) for name in _resources([run])},
        "nodeHours": result.node_hours,
        "cost": result.cost,
        "belowMinSeconds": result.below_min,
        "restarts": result.stops,
        "stoppedPods": result.pod_stops,
        "decisions": result.timeline.decisions,
        "jobs": [_job_document(job) for job in result.jobs],
        "timeline": _timeline(result),
    }


def _job_document(job: JobResult) -> "SimulatedJobDocument":
    track = job.track
    return {
        "name": job.key.name,
        "namespace": job.key.namespace,
        "minReplicas": job.min,
        "maxReplicas": job.max,
        "arrivalSeconds": track.arrived,
        "startSeconds": track.running,
        "endSeconds": track.ended,
        "waitSeconds": job.wait if track.running is not None else None,
        "completionSeconds": job.completion,
        "restarts": track.stops,
        "resizes": track.resizes,
        "stoppedPods": track.pod_stops,
        "lostWorkSeconds": track.lost_work,
        "belowMinSeconds": job.below_min,
        "replicas": _points(track.size),
        "domains": topology_view.domains_document(job.domains),
        "message": track.reason,
    }


def _timeline(result: Result) -> "TimelineDocument":
    line = result.timeline
    return {
        "queuedJobs": _points(line.queue),
        "requests": [[at, dict(used)] for at, used in _points(line.used)],
        "allocatable": [[at, dict(offered)] for at, offered in _points(line.offered)],
        "nodes": [[at, dict(counts)] for at, counts in _points(line.nodes)],
        "services": {name: _points(found) for name, found in line.services.items()},
    }


def _points(line: StepSeries[Any]) -> "Points":
    """[time, value] of each change."""
    return [list(pair) for pair in zip(line.times, line.values, strict=True)]


def _spread(found: Summary) -> "SpreadDocument":
    return {
        "mean": _number(found.mean),
        "median": _number(found.median),
        "max": _number(found.most),
    }


def _number(value: float) -> float | None:
    """JSON knows neither nan nor infinity."""
    return value if isfinite(value) else None
