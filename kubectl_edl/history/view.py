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
        Column("OPERATION", lambda row: row.operation.value),
        Column("PHASE", lambda row: row.phase.value, colour=meaning),
        Column("SIZES", lambda row: row.text),
        Column("REASON", lambda row: row.code.value if row.code else "", wide=True),
        Column("MESSAGE", lambda row: row.message, shrinks=True),
        Column("AGE", lambda row: age(row.at, now)),
    )
    return Table.of(columns, past)


def _document(
    key: JobKey, past: Sequence[PastOperation], warnings: Sequence[EventFacts]
) -> TrainingJobHistoryDocument:
    return {
        "metadata": {"name": key.name, "namespace": key.namespace},
        "operations": [operation_document(operation) for operation in past],
        "warnings": [_warning_document(warning) for warning in warnings],
    }


def _warning_document(event: EventFacts) -> EventSummaryDocument:
    return {
        "lastTimestamp": time_text(event.last),
        "object": f"{event.kind}/{event.name}",
        "reason": event.reason,
        "message": event.message,
        "count": event.count,
    }


def operation_document(past: PastOperation) -> OperationDocument:
    """One operation for `-o json`."""
    return {
        "time": time_text(past.at),
        "operation": past.operation.value,
        "phase": past.phase.value,
        "roles": [change.document for change in past.sizes],
        "reason": past.code.value if past.code else None,
        "message": past.message,
    }
