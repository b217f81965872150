"""The output of `kubectl edl simulate --live`: the effect of a change from now on."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from edl.model import JobKey, TrainingJob
from edl.simulator import JobResult
from kubectl_edl.model import topology_view
from kubectl_edl.model.training_job_view import job_names
from kubectl_edl.output.documents.field_kinds import API_VERSION
from kubectl_edl.output.report import Report
from kubectl_edl.output.table import Column, Table, in_namespaces, nothing_in
from kubectl_edl.simulate.run_variants import Run
from kubectl_edl.simulate.view import bounds, time_cell

if TYPE_CHECKING:
    from kubectl_edl.output.documents.simulation_documents import WhatIfDocument


_Outcomes: TypeAlias = Mapping[JobKey, JobResult]


def what_if_report(jobs: Sequence[TrainingJob], runs: Sequence[Run], namespace: str) -> Report:
    """One row per training job: its size now, and for each run its final size and start."""
    found = [(run.variant.name, {one.key: one for one in run.result.jobs}) for run in runs]
    return Report(
        sections=(Table.of(_columns(found, namespace), jobs),),
        objects=tuple(_what_if_document(job, found) for job in jobs),
        names=tuple(map(job_names, jobs)),
        list_kind="WhatIfList",
        nothing=nothing_in(namespace, "training jobs found"),
    )


def _columns(
    runs: Sequence[tuple[str, _Outcomes]], namespace: str
) -> Iterator[Column[TrainingJob]]:
    yield from in_namespaces(namespace, lambda job: job.key.namespace)
    yield Column("NAME", lambda job: job.key.name)
    first = runs[0][1]
    yield Column("MIN..MAX", lambda job: bounds(first[job.key]))
    yield Column("NOW", lambda job: str(_now(job, first)))
    for name, found in runs:
        yield Column(name.upper(), partial(_later, found))
        yield Column(f"{name.upper()}-STARTS", partial(_starts, found))


def _now(job: TrainingJob, found: _Outcomes) -> int:
    role = next(role for role in job.roles if role.name == found[job.key].role)
    return 0 if role.status.suspended or role.status.ending else role.status.size


def _later(found: _Outcomes, job: TrainingJob) -> str:
    track = found[job.key].track
    return str(track.wanted.at(found[job.key].until)) if track.ended is None else "done"


def _starts(found: _Outcomes, job: TrainingJob) -> str:
    """The start in this run; empty for a job that already runs."""
    placed = found[job.key].track.placed
    if _now(job, found):
        return ""
    if placed is None:
        return f"not in {time_cell(found[job.key].until)}"
    return "now" if placed < 1 else f"in {time_cell(placed)}"


def _what_if_document(job: TrainingJob, runs: Sequence[tuple[str, _Outcomes]]) -> "WhatIfDocument":
    found = {name: outcomes[job.key] for name, outcomes in runs}
    return {
        "apiVersion": API_VERSION,
        "kind": "WhatIf",
        "metadata": {"name": job.key.name, "namespace": job.key.namespace},
        "replicas": _now(job, runs[0][1]),
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
