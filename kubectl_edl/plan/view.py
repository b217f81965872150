"""The screen of `kubectl edl plan`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from edl.messages import message
from edl.model import JobKey
from edl.planner.plan import Held
from kubectl_edl.client.reconciler_settings import Deciding
from kubectl_edl.model import topology_view
from kubectl_edl.model.plan_changes import PlannedChange
from kubectl_edl.model.role_history import role_changes
from kubectl_edl.model.training_job_view import time_text
from kubectl_edl.output.age import duration
from kubectl_edl.output.documents.field_kinds import API_VERSION
from kubectl_edl.output.report import Report
from kubectl_edl.output.table import Column, Table

if TYPE_CHECKING:
    from kubectl_edl.output.documents.decision_documents import (
        PlanDocument,
        PlannedChangeDocument,
        PlannedWaitDocument,
    )

_NAMESPACE: Final = Column("NAMESPACE")
_CHANGES: Final = (
    Column("ACTION"),
    Column("NAME"),
    Column("SIZES"),
    Column("REASON", wide=True),
    Column("MESSAGE", shrinks=True),
)
_DIFF: Final = (
    Column("NAME"),
    Column("ROLE"),
    Column("BEFORE"),
    Column("AFTER"),
    Column("CHANGE"),
    Column("MESSAGE", wide=True),
)
_HELD: Final = (
    Column("POSITION"),
    Column("NAME"),
    Column("WHY IT WAITS, OR GETS NO MORE", shrinks=True),
)
_DOMAINS: Final = (Column("NAME"), *topology_view.COLUMNS)


@dataclass(frozen=True, slots=True)
class Planned:
    """The shown part of a plan, and the number of changes outside it."""

    at: datetime
    namespace: str
    deciding: Deciding
    moves: tuple[PlannedChange, ...]
    held: tuple[Held, ...]
    complete: bool = True
    """Without the whole cluster there is no plan, only what was last said of one's own jobs."""
    elsewhere: int = 0
    """Changes in namespaces that are not shown."""
    recheck_after: timedelta | None = None
    short: Mapping[JobKey, str] = field(default_factory=dict)
    """Message for each job that is below its manual size: how many replicas are missing."""


def plan_report(planned: Planned, *, diff: bool) -> Report:
    """Changes, blocked jobs, and the settings; `diff`: before and after, role by role."""
    everywhere = not planned.namespace
    rows = _diff_rows(planned) if diff else _change_rows(planned)
    columns = _DIFF if diff else _CHANGES
    held = () if diff else _held_rows(planned)
    return Report(
        sections=(
            _table(columns, rows, everywhere=everywhere, after=0 if diff else 1),
            _nothing(planned),
            _table(_DOMAINS, _domain_rows(planned), everywhere=everywhere, after=0),
            _table(_HELD, held, everywhere=everywhere, after=1),
            _footer(planned),
        ),
        objects=(_document(planned),),
        names=tuple(dict.fromkeys(move.job_names for move in planned.moves)),
    )


_Row = tuple[JobKey, tuple[str, ...]]


def _table(
    columns: tuple[Column, ...], rows: Iterable[_Row], *, everywhere: bool, after: int
) -> Table:
    """With all namespaces, the namespace is a column after the first `after` ones."""
    if not everywhere:
        return Table(columns, tuple(cells for _, cells in rows))
    return Table(
        (*columns[:after], _NAMESPACE, *columns[after:]),
        tuple((*cells[:after], key.namespace, *cells[after:]) for key, cells in rows),
    )


def _change_rows(planned: Planned) -> list[_Row]:
    return [
        (
            move.job,
            (move.action, move.job.name, move.text, move.reason.code.value, move.message),
        )
        for move in planned.moves
    ]


def _diff_rows(planned: Planned) -> list[_Row]:
    return [
        (
            move.job,
            (move.job.name, role, str(before), str(after), f"{after - before:+d}", move.message),
        )
        for move in sorted(planned.moves, key=lambda move: move.job)
        for role, before, after in move.sizes
    ]


def _domain_rows(planned: Planned) -> list[_Row]:
    """Domain rows of pods that get nodes in this plan."""
    return [
        (move.job, (move.job.name, *topology_view.cells(one)))
        for move in planned.moves
        for one in move.domains
    ]


def _held_rows(planned: Planned) -> list[_Row]:
    return [
        (held.job, (str(held.position or ""), held.job.name, _message(planned, held)))
        for held in planned.held
    ]


def _message(planned: Planned, held: Held) -> str:
    return ": ".join(
        filter(None, (planned.short.get(held.job, ""), message(held.reason, held.until)))
    )


def _nothing(planned: Planned) -> str:
    return "" if planned.moves or not planned.complete else "Nothing to do now.\n"


def _footer(planned: Planned) -> str:
    if not planned.complete:
        return ""
    lines = [f"Decided by: {planned.deciding.says}"]
    if planned.elsewhere:
        noun = "change" if planned.elsewhere == 1 else "changes"
        lines.append(f"{planned.elsewhere} more {noun} in other namespaces (-A shows all).")
    if planned.recheck_after is not None:
        wait = duration(max(planned.recheck_after, timedelta(seconds=1)))
        lines.append(f"Planned again in {wait}, or when something changes.")
    return "".join(f"{line}\n" for line in lines)


def _document(planned: Planned) -> "PlanDocument":
    again = planned.recheck_after
    return {
        "apiVersion": API_VERSION,
        "kind": "Plan",
        "time": time_text(planned.at),
        "complete": planned.complete,
        "settings": planned.deciding.document,
        "changes": [_change(move) for move in planned.moves],
        "waiting": [_waiting(held) for held in planned.held],
        "changesInOtherNamespaces": planned.elsewhere,
        "requeueAfterSeconds": None if again is None else round(again.total_seconds()),
    }


def _change(move: PlannedChange) -> "PlannedChangeDocument":
    return {
        "namespace": move.job.namespace,
        "name": move.job.name,
        "action": move.action.value,
        "roles": role_changes(move.sizes),
        "pods": list(move.pods),
        "domains": topology_view.domains_document(move.domains),
        "reason": move.reason.code.value,
        "message": move.message,
    }


def _waiting(held: Held) -> "PlannedWaitDocument":
    return {
        "namespace": held.job.namespace,
        "name": held.job.name,
        "position": held.position or None,
        "blockedBy": [str(key) for key in held.ahead],
        "reason": held.reason.code.value,
        "message": message(held.reason),
        "notBefore": time_text(held.until),
    }
