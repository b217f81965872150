"""The output of `kubectl edl simulate`: runs next to each other."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from math import isfinite
from typing import Any, Final, Literal, NamedTuple

from edl.domain_counts import DomainCounts
from edl.quantities import PODS
from edl.simulator import JobResult, Result, RoleResult, Summary
from edl.simulator.timeline import StepSeries
from kubectl_edl.job_views import topology_view
from kubectl_edl.output.age import duration
from kubectl_edl.output.documents.simulation_documents import (
    Points,
    SimulatedJobDocument,
    SimulationDocument,
    SpreadDocument,
    TimelineDocument,
)
from kubectl_edl.output.report import Report, documents
from kubectl_edl.output.table import Column, Table
from kubectl_edl.simulate.run_variants import Run

_NEVER: Final = "never"
_NEITHER: Final = "-"


def runs_report(runs: Sequence[Run], *, wide: bool) -> Report:
    """One row per run; `wide` adds one row per job."""
    table = Table.of(_run_columns(runs), runs)
    jobs = Table.of(_JOBS, [_RunJob(run, job) for run in runs for job in run.result.jobs])
    # The topology domains in which jobs first ran.
    rows = ((run, job, counts) for run in runs for job in run.result.jobs for counts in job.domains)
    domains = Table.of(_DOMAINS, [_RunDomains(*row) for row in rows])
    return Report(
        sections=(table, jobs, domains) if wide else (table,),
        objects=documents("Simulation", map(run_document, runs)),
        names=tuple(run.name for run in runs),
        list_kind="SimulationList",
    )


class _RunJob(NamedTuple):
    run: Run
    job: JobResult


class _RunDomains(NamedTuple):
    run: Run
    job: JobResult
    counts: DomainCounts


def _resources(runs: Sequence[Run]) -> list[str]:
    """Resources that nodes have and jobs request."""
    names = {name for run in runs for used in run.result.timeline.used.values for name in used}
    asked = {
        name
        for name in names
        if name != PODS and any(run.result.utilisation(name) > 0 for run in runs)
    }
    return sorted(asked, key=lambda name: (name not in ("cpu", "memory"), name))


def _run_columns(runs: Sequence[Run]) -> tuple[Column[Run], ...]:
    """Columns of runs: costs if a node has a price, and the resources that are used."""
    costs: tuple[Column[Run], ...] = (
        Column("NODE-HOURS", lambda run: f"{run.result.node_hours:.1f}"),
        Column("COST", lambda run: f"{run.result.cost:.2f}"),
    )
    return (
        Column("POLICY", lambda run: run.name),
        Column("JOBS", lambda run: str(len(run.result.jobs))),
        Column("ENDED", lambda run: str(run.result.ended)),
        Column("WAIT-MEAN", lambda run: _wait(run.result, "mean")),
        Column("WAIT-MEDIAN", lambda run: _wait(run.result, "median"), wide=True),
        Column("WAIT-MAX", lambda run: _wait(run.result, "most"), spare=2),
        Column("COMPLETION-MEAN", lambda run: time_cell(run.result.completions.mean), spare=1),
        Column(
            "COMPLETION-MEDIAN", lambda run: time_cell(run.result.completions.median), wide=True
        ),
        Column("MAKESPAN", lambda run: _makespan(run.result)),
        *(costs if any(run.result.prices for run in runs) else ()),
        *(
            Column(name.rpartition("/")[2].upper(), partial(_utilisation, name))
            for name in _resources(runs)
        ),
        Column("BELOW-MIN", lambda run: time_cell(run.result.below_min), spare=3),
        Column("RESTARTS", lambda run: str(run.result.stops), spare=3),
        Column("POD-STOPS", lambda run: str(run.result.pod_stops), spare=3),
        Column("DECISIONS", lambda run: str(run.result.timeline.decisions), wide=True),
    )


def _utilisation(resource: str, run: Run) -> str:
    return f"{run.result.utilisation(resource):.0%}"


def _makespan(result: Result) -> str:
    return time_cell(result.makespan) if isfinite(result.makespan) else _NEVER


def _wait(result: Result, which: Literal["mean", "median", "most"]) -> str:
    """A wait; a lower bound (`>`) if some jobs never ran."""
    waits = _known_waits(result)
    if not result.never:
        return time_cell(getattr(waits, which))
    return f">{time_cell(getattr(waits, which))}" if isfinite(waits.mean) else _NEVER


def _known_waits(result: Result) -> Summary:
    """Waits; empty if no job ran, because waiting until the end says nothing."""
    return Summary.of(()) if result.never == len(result.jobs) else result.wait_times


def time_cell(seconds: float | None) -> str:
    """A duration in kubectl's format; `-` if there is none."""
    if seconds is None or not isfinite(seconds):
        return _NEITHER
    return duration(timedelta(seconds=round(seconds)))


_JOBS: Final[tuple[Column[_RunJob], ...]] = (
    Column("POLICY", lambda row: row.run.name),
    Column("NAME", lambda row: row.job.key.name),
    Column("ARRIVED", lambda row: time_cell(row.job.track.arrived)),
    Column(
        "WAIT", lambda row: _NEVER if row.job.track.running is None else time_cell(row.job.wait)
    ),
    Column("ENDED", lambda row: _NEVER if _goes_on(row.job) else time_cell(row.job.track.ended)),
    Column("COMPLETION", lambda row: time_cell(row.job.completion)),
    Column("MEAN-SIZE", lambda row: f"{_mean_size(row.job):.1f}"),
    Column("MIN..MAX", lambda row: bounds(row.job)),
    Column("RESIZES", lambda row: str(row.job.track.resizes)),
    Column("MESSAGE", lambda row: row.job.track.reason if _goes_on(row.job) else "", shrinks=True),
)
_DOMAINS: Final[tuple[Column[_RunDomains], ...]] = (
    Column("POLICY", lambda row: row.run.name),
    Column("NAME", lambda row: row.job.key.name),
    *topology_view.columns(lambda row: row.counts),
)


def _goes_on(job: JobResult) -> bool:
    return job.track.ended is None


def bounds(result: JobResult | RoleResult) -> str:
    return f"{result.min}..{result.max}" if result.max > result.min else str(result.max)


def _mean_size(job: JobResult) -> float:
    """The mean number of scheduled replicas, while the job had any."""
    track = job.track
    since, until = track.placed, track.ended or job.until
    if since is None or until <= since:
        return 0.0
    spans = track.size.spans(since, until)
    return sum((end - begin) * size for begin, end, size in spans) / (until - since)


# -- documents ---------------------------------------------------------------------------------


def run_document(run: Run) -> SimulationDocument:
    result = run.result
    return {
        "metadata": {"name": run.name},
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


def _job_document(job: JobResult) -> SimulatedJobDocument:
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


def _timeline(result: Result) -> TimelineDocument:
    line = result.timeline
    return {
        "queuedJobs": _points(line.queue),
        "requests": [[time, dict(used)] for time, used in _points(line.used)],
        "allocatable": [[time, dict(offered)] for time, offered in _points(line.offered)],
        "nodes": [[time, dict(counts)] for time, counts in _points(line.nodes)],
        "services": {name: _points(counts) for name, counts in line.services.items()},
    }


def _points(line: StepSeries[Any]) -> Points:
    """[time, value] of each change."""
    return [list(pair) for pair in zip(line.times, line.values, strict=True)]


def _spread(summary: Summary) -> SpreadDocument:
    return {
        "mean": _number(summary.mean),
        "median": _number(summary.median),
        "max": _number(summary.most),
    }


def _number(value: float) -> float | None:
    """None for nan and infinity, which JSON does not have."""
    return value if isfinite(value) else None
