"""The screen of `kubectl edl simulate --live`: what a change would do now."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from edl.model import TrainingJob
from edl.simulator import JobResult
from kubectl_edl.model import topology_view
from kubectl_edl.model.training_job_view import job_names
from kubectl_edl.output.documents.field_kinds import API_VERSION
from kubectl_edl.output.report import Report
from kubectl_edl.output.table import Column, Table
from kubectl_edl.simulate.run_variants import Run
from kubectl_edl.simulate.view import bounds, time_cell

if TYPE_CHECKING:
    from kubectl_edl.output.documents.simulation_documents import WhatIfDocument


def what_if_report(jobs: Sequence[TrainingJob], runs: Sequence[Run], namespace: str) -> Report:
    """One line a training job: its size now, and in each run at its end and when it starts."""
    between = () if namespace else (Column("NAMESPACE"),)
    columns = [Column("NAME"), Column("MIN..MAX"), Column("NOW")]
    for run in runs:
        name = run.variant.name.upper()
        columns += [Column(name), Column(f"{name}-STARTS")]
    rows = tuple(_what_if_row(job, runs, namespace) for job in jobs)
    return Report(
        sections=(Table((*between, *columns), rows),),
        objects=tuple(_what_if_document(job, runs) for job in jobs),
        names=tuple(map(job_names, jobs)),
        list_kind="WhatIfList",
        nothing="No training jobs found.",
    )


def _outcome(job: TrainingJob, run: Run) -> JobResult:
    return next(one for one in run.result.jobs if one.key == job.key)


def _what_if_row(job: TrainingJob, runs: Sequence[Run], namespace: str) -> tuple[str, ...]:
    found = [_outcome(job, run) for run in runs]
    now = _now(job, found[0])
    cells = [cell for one in found for cell in (_later(one), "" if now else _starts(one))]
    return (
        *(() if namespace else (job.key.namespace,)),
        job.key.name,
        bounds(found[0]),
        str(now),
        *cells,
    )


def _now(job: TrainingJob, found: JobResult) -> int:
    role = next(role for role in job.roles if role.name == found.role)
    return 0 if role.status.suspended or role.status.ending else role.status.size


def _later(found: JobResult) -> str:
    if found.track.ended is not None:
        return "done"
    return str(found.track.wanted.at(found.until))


def _starts(found: JobResult) -> str:
    placed = found.track.placed
    if placed is None:
        return f"not in {time_cell(found.until)}"
    return "now" if placed < 1 else f"in {time_cell(placed)}"


def _what_if_document(job: TrainingJob, runs: Sequence[Run]) -> "WhatIfDocument":
    found = {run.variant.name: _outcome(job, run) for run in runs}
    return {
        "apiVersion": API_VERSION,
        "kind": "WhatIf",
        "metadata": {"name": job.key.name, "namespace": job.key.namespace},
        "replicas": _now(job, next(iter(found.values()))),
        "runs": [
            {
                "name": name,
                "minReplicas": one.min,
                "maxReplicas": one.max,
                "replicas": one.track.wanted.at(one.until),
                "startSeconds": one.track.placed,
                "endSeconds": one.track.ended,
                "domains": topology_view.domains_document(one.domains),
                "message": one.track.reason,
            }
            for name, one in found.items()
        ],
    }
