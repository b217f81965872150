"""The output of `kubectl edl history`."""

from collections.abc import Sequence
from datetime import datetime

from edl.kube.event_facts import EventFacts
from edl.model import JobKey, TrainingJob
from kubectl_edl.events.view import events_table
from kubectl_edl.job_views.role_history import PastOperation
from kubectl_edl.job_views.training_job_view import job_names, time_text
from kubectl_edl.output.age import age
from kubectl_edl.output.color import meaning
from kubectl_edl.output.documents.shared_documents import OperationDocument
from kubectl_edl.output.documents.training_job_documents import (
    EventSummaryDocument,
    TrainingJobHistoryDocument,
)
from kubectl_edl.output.report import Report, documents
from kubectl_edl.output.table import Column, Table


def history_report(
    job: TrainingJob,
    past: Sequence[PastOperation],
    now: datetime,
    warnings: Sequence[EventFacts] = (),
) -> Report:
    """One row per operation, newest last, and Warning Events below."""
    none = f"{job.key.name}: nothing has happened yet.\n"
    return Report(
        sections=(
            operations_table(past, now) if past else none,
            events_table(warnings, now, job.key.namespace),
        ),
        objects=documents("TrainingJobHistory", [_document(job.key, past, warnings)]),
        names=(job_names(job),),
    )


def operations_table(past: Sequence[PastOperation], now: datetime) -> Table:
    columns: tuple[Column[PastOperation], ...] = (
        Column("OPERATION", lambda one: one.operation.value),
        Column("PHASE", lambda one: one.phase.value, colour=meaning),
        Column("SIZES", lambda one: one.text),
        Column("REASON", lambda one: one.code.value if one.code else "", wide=True),
        Column("MESSAGE", lambda one: one.message, shrinks=True),
        Column("AGE", lambda one: age(one.at, now)),
    )
    return Table.of(columns, past)


def _document(
    key: JobKey, past: Sequence[PastOperation], warnings: Sequence[EventFacts]
) -> TrainingJobHistoryDocument:
    return {
        "metadata": {"name": key.name, "namespace": key.namespace},
        "operations": [operation_document(one) for one in past],
        "warnings": [_warning_document(one) for one in warnings],
    }


def _warning_document(one: EventFacts) -> EventSummaryDocument:
    return {
        "lastTimestamp": time_text(one.last),
        "object": f"{one.kind}/{one.name}",
        "reason": one.reason,
        "message": one.message,
        "count": one.count,
    }


def operation_document(one: PastOperation) -> OperationDocument:
    """One operation for `-o json`."""
    return {
        "time": time_text(one.at),
        "operation": one.operation.value,
        "phase": one.phase.value,
        "roles": [change.document for change in one.sizes],
        "reason": one.code.value if one.code else None,
        "message": one.message,
    }
