"""The output of `kubectl edl simulate --live`: the effect of a change from now on."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from edl.model import JobKey, Role, TrainingJob
from edl.simulator import JobResult, RoleResult
from kubectl_edl.job_views import topology_view
from kubectl_edl.job_views.training_job_view import job_names
from kubectl_edl.output.documents.simulation_documents import WhatIfDocument
from kubectl_edl.output.report import Report, documents
from kubectl_edl.output.table import Column, Table, in_namespaces, nothing_in
from kubectl_edl.simulate.run_variants import Run
from kubectl_edl.simulate.view import bounds, time_cell

_Outcomes: TypeAlias = Mapping[JobKey, JobResult]


class _Row(NamedTuple):
    """One role of a training job that has not ended."""

    job: TrainingJob
    role: Role

    def outcome(self, results: _Outcomes) -> RoleResult:
        roles = results[self.job.key].roles
        return next(role for role in roles if role.name == self.role.name)


def what_if_report(jobs: Sequence[TrainingJob], runs: Sequence[Run], namespace: str) -> Report:
    """One row per role: its size now, and for each run its final size and its job's start."""
    outcomes = [(run.name, {job.key: job for job in run.result.jobs}) for run in runs]
    rows = [_Row(job, role) for job in jobs for role in job.live]
    return Report(
        sections=(Table.of(_columns(outcomes, namespace), rows),),
        objects=documents("WhatIf", (_what_if_document(job, outcomes) for job in jobs)),
        names=tuple(map(job_names, jobs)),
        list_kind="WhatIfList",
        nothing=nothing_in(namespace, "training jobs found"),
    )


def _columns(runs: Sequence[tuple[str, _Outcomes]], namespace: str) -> Iterator[Column[_Row]]:
    yield from in_namespaces(namespace, lambda row: row.job.key.namespace)
    yield Column("NAME", lambda row: row.job.key.name)
    yield Column("ROLE", lambda row: row.role.name)
    outcomes = [results for _, results in runs]
    yield Column("MIN..MAX", lambda row: _bounds(row, outcomes))
    yield Column("NOW", lambda row: str(row.role.status.desired))
    for name, results in runs:
        yield Column(name.upper(), partial(_later, results))
        yield Column(f"{name.upper()}-STARTS", partial(_starts, results))


def _bounds(row: _Row, outcomes: Sequence[_Outcomes]) -> str:
    """`1..12`; if the runs differ, those of each run: `1..12→2..4`."""
    texts = [bounds(row.outcome(results)) for results in outcomes]
    return texts[0] if len(set(texts)) == 1 else "→".join(texts)


def _later(results: _Outcomes, row: _Row) -> str:
    ended = results[row.job.key].track.ended is not None
    return "done" if ended else str(row.outcome(results).size)


def _starts(results: _Outcomes, row: _Row) -> str:
    """When all roles have started in this run, for the last time if the job is stopped in it."""
    track, runs = results[row.job.key].track, row.role.status.desired
    if runs and (track.started == 0 or not track.stops):
        return "started"
    if track.started is None:
        return f"not in {time_cell(results[row.job.key].until)}"
    return "now" if track.started < 1 else f"in {time_cell(track.started)}"


def _what_if_document(job: TrainingJob, runs: Sequence[tuple[str, _Outcomes]]) -> WhatIfDocument:
    by_run = {name: outcomes[job.key] for name, outcomes in runs}
    return {
        "metadata": {"name": job.key.name, "namespace": job.key.namespace},
        "roles": [{"name": role.name, "replicas": role.status.desired} for role in job.roles],
        "runs": [
            {
                "name": name,
                "roles": [
                    {
                        "name": role.name,
                        "minReplicas": role.min,
                        "maxReplicas": role.max,
                        "replicas": role.size,
                    }
                    for role in result.roles
                ],
                "startSeconds": result.track.started,
                "endSeconds": result.track.ended,
                "domains": topology_view.domains_document(result.domains),
                "message": result.track.reason,
            }
            for name, result in by_run.items()
        ],
    }
