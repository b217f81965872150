"""The screen of `kubectl edl history`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from edl.model import JobKey
from edl.writes import Json
from kubectl_edl.operations import Past
from kubectl_edl.printers.age import age
from kubectl_edl.printers.report import API_VERSION, Report
from kubectl_edl.printers.table import Column, Table
from kubectl_edl.views import RESOURCE, time_text

_COLUMNS: Final = (
    Column("OPERATION"),
    Column("PHASE"),
    Column("SIZES"),
    Column("REASON", shrinks=True),
    Column("AGE"),
)


def history_report(key: JobKey, past: Sequence[Past], now: datetime) -> Report:
    """One line an operation, the newest last."""
    rows = tuple(
        (one.operation.value, one.phase, one.text, one.reason, age(one.at, now)) for one in past
    )
    return Report(
        sections=(Table(_COLUMNS, rows),)
        if rows
        else (f"{key.name}: nothing has happened yet.\n",),
        objects=(_document(key, past),),
        names=(f"{RESOURCE}/{key.name}",),
    )


def _document(key: JobKey, past: Sequence[Past]) -> Json:
    return {
        "apiVersion": API_VERSION,
        "kind": "TrainingJobHistory",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "operations": [operation_document(one) for one in past],
    }


def operation_document(one: Past) -> Json:
    """One operation for `-o json`."""
    return {
        "at": time_text(one.at),
        "operation": one.operation.value,
        "phase": one.phase,
        "sizes": [
            {"role": role, "before": before, "after": after} for role, before, after in one.sizes
        ],
        "reason": one.reason,
    }
