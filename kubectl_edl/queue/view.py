"""The output of `kubectl edl queue`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from edl.forecast.estimate import Estimate
from edl.model import JobKey, Reason, TrainingJob
from edl.quantities import Resources
from edl.spec.allowed_sizes import start_pods, start_size
from edl.visibility.namespace_queue import TeamCount
from kubectl_edl.job_views import topology_view
from kubectl_edl.job_views.job_reasons import Why
from kubectl_edl.job_views.published_queue import counts_document, first_ahead
from kubectl_edl.job_views.start_estimates import document as when_document
from kubectl_edl.job_views.start_estimates import short
from kubectl_edl.job_views.training_job_view import job_names, time_text
from kubectl_edl.output.age import UNKNOWN, age
from kubectl_edl.output.cell_quantities import fine_percent, quantities
from kubectl_edl.output.documents.training_job_documents import QueuedTrainingJobDocument
from kubectl_edl.output.report import Report, documents
from kubectl_edl.output.table import Column, Table, in_namespaces, nothing_in


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A queued training job. `position` counts from 1, and 0 starts now; None: it has none.

    `positions_known` is False if positions are unknown without rights to read the cluster.
    """

    job: TrainingJob
    position: int | None
    ahead: tuple[JobKey, ...]
    why: Why
    estimate: Estimate | None = None
    """The estimated start; None without rights to read the cluster."""
    positions_known: bool = True
    plan_reason: Reason | None = None
    """Why the plan does not start it; None without a plan, or if the plan starts it."""
    counted: tuple[TeamCount, ...] = ()
    """The number of jobs ahead by team, for users who may not see their names."""
    team: str = ""
    """The team of its namespace; empty if no teams are configured or that is unknown."""
    position_in_team: int | None = None
    """Its position among the queued jobs of its team, from 1."""
    share: float | None = None
    """Its team's weighted dominant share of borrowed capacity; None if unknown."""
    as_of: datetime | None = None
    """The time at which the reconciler published this; None if it is current."""

    @property
    def start_sizes(self) -> tuple[tuple[str, int], ...]:
        """(role, replicas) of all that must fit at once: its minimum, or its manual size."""
        return tuple((role.name, start_size(role)) for role in self.job.live)

    @property
    def requests(self) -> Resources:
        """The requests of the pods of `start_sizes`."""
        return sum(
            (start_pods(role) * role.template.shape.requests for role in self.job.live), Resources()
        )


def queue_report(queue: Sequence[QueuedJob], now: datetime, namespace: str) -> Report:
    """One row per waiting training job; an empty `namespace` shows all, with a column NAMESPACE."""
    return Report(
        sections=(Table.of(_columns(now, namespace), queue),),
        objects=documents("QueuedTrainingJob", map(_document, queue)),
        names=tuple(job_names(waiting.job) for waiting in queue),
        list_kind="QueuedTrainingJobList",
        nothing=nothing_in(namespace, "training jobs are queued"),
    )


def _columns(now: datetime, namespace: str) -> tuple[Column[QueuedJob], ...]:
    return (
        Column("POSITION", _position),
        *in_namespaces(namespace, lambda row: row.job.key.namespace),
        Column("NAME", lambda row: row.job.key.name),
        Column("PRIORITY", lambda row: str(row.job.priority), spare=4),
        Column("TEAM", _team, wide=True),
        Column("SHARE", _share, wide=True),
        Column("STARTS-WITH", _start_sizes, wide=True),
        Column("WAITING-FOR", lambda row: str(row.requests), spare=1),
        Column("AHEAD", lambda row: _ahead(row, namespace), spare=3),
        Column("STARTS", lambda row: short(row.estimate, now) if row.estimate else UNKNOWN),
        Column("REASON", lambda row: row.why.code, wide=True),
        Column("MESSAGE", lambda row: row.why.message, shrinks=True, bounded=True, spare=1),
        Column("AGE", lambda row: age(row.job.queued_at, now), spare=2),
    )


def _start_sizes(waiting: QueuedJob) -> str:
    return ",".join(f"{role}={size}" for role, size in waiting.start_sizes)


def _share(waiting: QueuedJob) -> str:
    return "" if waiting.share is None else fine_percent(waiting.share)


def _team(waiting: QueuedJob) -> str:
    """`vision#2`: the second job of team vision."""
    place = waiting.position_in_team
    return f"{waiting.team}#{place}" if waiting.team and place else waiting.team


def _position(waiting: QueuedJob) -> str:
    if not waiting.positions_known:
        return UNKNOWN
    return "" if waiting.position is None else str(waiting.position)


def _ahead(waiting: QueuedJob, namespace: str) -> str:
    """Jobs ahead: the first by name, and the number of others. A plan names only a few.

    By team if names are not available: `vision+2,deals+1,+4`.
    """
    if not waiting.positions_known:
        return UNKNOWN
    if waiting.counted:
        return ",".join(f"{count.team}+{count.jobs}" for count in waiting.counted)
    first, unnamed = first_ahead(waiting.ahead, waiting.position)
    names = [key.name if key.namespace == namespace else str(key) for key in first]
    return ",".join([*names, *([f"+{unnamed}"] if unnamed else [])])


def _document(waiting: QueuedJob) -> QueuedTrainingJobDocument:
    job = waiting.job
    return {
        "metadata": {
            "name": job.key.name,
            "namespace": job.key.namespace,
            "creationTimestamp": time_text(job.queued_at),
        },
        "position": waiting.position,
        "team": waiting.team or None,
        "positionInTeam": waiting.position_in_team,
        "share": None if waiting.share is None else round(waiting.share, 4),
        "priority": job.priority,
        "minReplicas": {role.name: role.spec.min for role in job.live},
        "startReplicas": dict(waiting.start_sizes),
        "requests": quantities(waiting.requests),
        "blockedBy": [str(key) for key in waiting.ahead] if waiting.positions_known else None,
        "blockedByTeam": counts_document(waiting.counted),
        "observedTime": time_text(waiting.as_of),
        **waiting.why.document,
        "topology": topology_view.waiting_document(job.topology, waiting.plan_reason),
        "estimatedStart": when_document(waiting.estimate) if waiting.estimate else None,
    }
