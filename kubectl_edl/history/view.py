"""The screen of `kubectl edl history`."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from edl.kube.event_facts import EventFacts
from edl.model import JobKey, TrainingJob
from kubectl_edl.events.view import warnings_table
from kubectl_edl.model.role_history import Past, role_changes
from kubectl_edl.model.training_job_view import job_names, time_text
from kubectl_edl.output.age import age
from kubectl_edl.output.color import meaning
from kubectl_edl.output.documents.field_kinds import API_VERSION
from kubectl_edl.output.report import Report
from kubectl_edl.output.table import Column, Table

if TYPE_CHECKING:
    from kubectl_edl.output.documents.shared_documents import OperationDocument
    from kubectl_edl.output.documents.training_job_documents import (
        EventSummaryDocument,
        TrainingJobHistoryDocument,
    )

_COLUMNS: Final = (
    Column("OPERATION"),
    Column("PHASE", colour=meaning),
    Column("SIZES"),
    Column("REASON", wide=True),
    Column("MESSAGE", shrinks=True),
    Column("AGE"),
)


def history_report(
    job: TrainingJob, past: Sequence[Past], now: datetime, warnings: Sequence[EventFacts] = ()
) -> Report:
    """One line an operation, the newest last, and what Kubernetes warned of."""
    rows = tuple(
        (
            one.operation.value,
            one.phase.value,
            one.text,
            one.code.value if one.code else "",
            one.message,
            age(one.at, now),
        )
        for one in past
    )
    return Report(
        sections=(
            Table(_COLUMNS, rows) if rows else f"{job.key.name}: nothing has happened yet.\n",
            warnings_table(warnings, now, job.key.namespace),
        ),
        objects=(_document(job.key, past, warnings),),
        names=(job_names(job),),
    )


def _document(
    key: JobKey, past: Sequence[Past], warnings: Sequence[EventFacts]
) -> "TrainingJobHistoryDocument":
    return {
        "apiVersion": API_VERSION,
        "kind": "TrainingJobHistory",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "operations": [operation_document(one) for one in past],
        "warnings": [_warning_document(one) for one in warnings],
    }


def _warning_document(one: EventFacts) -> "EventSummaryDocument":
    return {
        "lastTimestamp": time_text(one.last),
        "object": f"{one.kind}/{one.name}",
        "reason": one.reason,
        "message": one.message,
        "count": one.count,
    }


def operation_document(one: Past) -> "OperationDocument":
    """One operation for `-o json`."""
    return {
        "time": time_text(one.at),
        "operation": one.operation.value,
        "phase": one.phase.value,
        "roles": role_changes(one.sizes),
        "reason": one.code.value if one.code else None,
        "message": one.message,
    }
