"""The output of `kubectl edl plan`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

from edl.domain_counts import DomainCounts
from edl.messages import message
from edl.model import JobKey
from edl.planner.plan import StayingPods, WaitingJob
from kubectl_edl.client.reconciler_settings import EffectiveSettings
from kubectl_edl.job_views import topology_view
from kubectl_edl.job_views.node_blockers import staying_text
from kubectl_edl.job_views.role_history import ReplicasChange
from kubectl_edl.job_views.training_job_view import time_text
from kubectl_edl.output.age import duration
from kubectl_edl.output.documents.decision_documents import (
    PlanDocument,
    PlannedChangeDocument,
    PlannedWaitDocument,
    StayingPodsDocument,
)
from kubectl_edl.output.report import Report, documents
from kubectl_edl.output.table import Column, Table, in_namespaces, nothing_in
from kubectl_edl.plan.plan_changes import PlannedChange

_PlacedChange: TypeAlias = tuple[PlannedChange, DomainCounts]


class _ChangedRole(NamedTuple):
    move: PlannedChange
    change: ReplicasChange


@dataclass(frozen=True, slots=True)
class Planned:
    """The part of a plan that is shown, and the number of other changes."""

    at: datetime
    namespace: str
    deciding: EffectiveSettings
    moves: tuple[PlannedChange, ...]
    waiting: tuple[WaitingJob, ...]
    complete: bool = True
    """False without rights to read the cluster: then there is no plan, only reasons on jobs."""
    elsewhere: int = 0
    """Changes in namespaces that are not shown."""
    recheck_after: timedelta | None = None
    short: Mapping[JobKey, str] = field(default_factory=dict)
    """A message for each job below its manual size, with the number of missing replicas."""
    victims: Mapping[JobKey, Sequence[JobKey]] = field(default_factory=dict)
    """By job, those of all namespaces that are stopped for it."""
    staying: tuple[StayingPods, ...] = ()


def plan_report(planned: Planned, *, diff: bool) -> Report:
    """Changes, blocked jobs, and the settings; `diff`: sizes before and after, per role."""
    waiting = () if diff else planned.waiting
    return Report(
        sections=(
            _diff(planned) if diff else _changes(planned),
            _nothing(planned),
            _domains(planned),
            Table.of(_waiting_columns(planned), waiting),
            Table.of(_staying_columns(planned), planned.staying),
            _footer(planned),
        ),
        objects=documents("Plan", [_document(planned)]),
        names=tuple(dict.fromkeys(move.job_names for move in planned.moves)),
    )


def _changes(planned: Planned) -> Table:
    columns: tuple[Column[PlannedChange], ...] = (
        Column("ACTION", lambda move: move.action),
        *in_namespaces(planned.namespace, lambda move: move.job.namespace),
        Column("NAME", lambda move: move.job.name),
        Column("SIZES", lambda move: move.text),
        Column("REASON", lambda move: move.reason.code.value, wide=True),
        Column("MESSAGE", lambda move: move.message, shrinks=True),
    )
    return Table.of(columns, planned.moves)


def _diff(planned: Planned) -> Table:
    changes = [
        _ChangedRole(move, change)
        for move in sorted(planned.moves, key=lambda move: move.job)
        for change in move.sizes
    ]
    columns: tuple[Column[_ChangedRole], ...] = (
        *in_namespaces(planned.namespace, lambda row: row.move.job.namespace),
        Column("NAME", lambda row: row.move.job.name),
        Column("ROLE", lambda row: row.change.role),
        Column("BEFORE", lambda row: str(row.change.before)),
        Column("AFTER", lambda row: str(row.change.after)),
        Column("CHANGE", lambda row: f"{row.change.after - row.change.before:+d}"),
        Column("MESSAGE", lambda row: row.move.message, wide=True),
    )
    return Table.of(columns, changes)


def _domains(planned: Planned) -> Table:
    """Topology domains of the pods that get nodes in this plan."""
    columns: tuple[Column[_PlacedChange], ...] = (
        *in_namespaces(planned.namespace, lambda pair: pair[0].job.namespace),
        Column("NAME", lambda pair: pair[0].job.name),
        *topology_view.columns(lambda pair: pair[1]),
    )
    return Table.of(columns, [(move, counts) for move in planned.moves for counts in move.domains])


def _waiting_columns(planned: Planned) -> tuple[Column[WaitingJob], ...]:
    return (
        Column("POSITION", lambda entry: str(entry.position or "")),
        *in_namespaces(planned.namespace, lambda entry: entry.job.namespace),
        Column("NAME", lambda entry: entry.job.name),
        Column(
            "WHY IT WAITS OR IS NOT SCALED UP", lambda entry: _message(planned, entry), shrinks=True
        ),
    )


def _staying_columns(planned: Planned) -> tuple[Column[StayingPods], ...]:
    return (
        *in_namespaces(planned.namespace, lambda row: row.job.namespace),
        Column("NAME", lambda row: row.job.name),
        Column("WHICH PODS STAY ON CORDONED NODES", staying_text, shrinks=True),
    )


def _message(planned: Planned, entry: WaitingJob) -> str:
    return ": ".join(
        filter(None, (planned.short.get(entry.job, ""), message(entry.reason, entry.until)))
    )


def _nothing(planned: Planned) -> str:
    if planned.complete:
        return "" if planned.moves else "Nothing to do now.\n"
    unknown = "Changes are unknown: you may not read the whole cluster.\n"
    none = nothing_in(planned.namespace, "training jobs wait")
    return unknown if planned.waiting else f"{unknown}{none}\n"


def _footer(planned: Planned) -> str:
    if not planned.complete:
        return ""
    lines = [f"Decided by: {planned.deciding.text}"]
    if planned.elsewhere:
        noun = "change" if planned.elsewhere == 1 else "changes"
        lines.append(f"{planned.elsewhere} more {noun} in other namespaces (-A shows all).")
    if planned.recheck_after is not None:
        wait = duration(max(planned.recheck_after, timedelta(seconds=1)))
        lines.append(f"Planned again in {wait}, or when something changes.")
    return "".join(f"{line}\n" for line in lines)


def _document(planned: Planned) -> PlanDocument:
    again = planned.recheck_after
    return {
        "time": time_text(planned.at),
        "complete": planned.complete,
        "settings": planned.deciding.document,
        "changes": [_change(move) for move in planned.moves],
        "waiting": [
            _waiting(entry, planned.victims.get(entry.job, ())) for entry in planned.waiting
        ],
        "staying": [_staying(group) for group in planned.staying],
        "changesInOtherNamespaces": planned.elsewhere,
        "requeueAfterSeconds": None if again is None else round(again.total_seconds()),
    }


def _change(move: PlannedChange) -> PlannedChangeDocument:
    return {
        "namespace": move.job.namespace,
        "name": move.job.name,
        "action": move.action.value,
        "roles": [change.document for change in move.sizes],
        "pods": list(move.pods),
        "domains": topology_view.domains_document(move.domains),
        "preempted": move.preempted,
        "yieldsTo": None if move.yields_to is None else str(move.yields_to),
        "pendingPod": move.pending_pod or None,
        "reason": move.reason.code.value,
        "message": move.message,
    }


def _staying(group: StayingPods) -> StayingPodsDocument:
    return {
        "namespace": group.job.namespace,
        "name": group.job.name,
        "role": group.role,
        "pods": [{"name": pod, "nodeName": node} for pod, node in group.pods],
        "blocksDrain": group.blocks_drain,
        "unprotected": group.unprotected,
        "reason": group.reason.code.value if group.reason else None,
        "message": staying_text(group),
    }


def _waiting(entry: WaitingJob, victims: Sequence[JobKey]) -> PlannedWaitDocument:
    return {
        "namespace": entry.job.namespace,
        "name": entry.job.name,
        "position": entry.position or None,
        "blockedBy": [str(key) for key in entry.ahead],
        "preempts": [str(key) for key in victims],
        "reason": entry.reason.code.value,
        "message": message(entry.reason),
        "notBefore": time_text(entry.until),
    }
