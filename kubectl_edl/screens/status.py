"""The screens of `kubectl edl status`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from edl.writes import Json
from kubectl_edl.changes import Change
from kubectl_edl.operations import SCALING, past
from kubectl_edl.printers.age import age
from kubectl_edl.printers.report import Report
from kubectl_edl.printers.table import Column, Table
from kubectl_edl.views import JobView, RoleView, document, pod_status, time_text

_LIST: Final = (
    Column("NAME"),
    Column("FRAMEWORK"),
    Column("PHASE"),
    Column("ROLES(NOW/MIN..MAX)"),
    Column("PENDING"),
    Column("PRIORITY", wide=True),
    Column("STARTED", wide=True),
    Column("NODES", wide=True),
    Column("REASON", shrinks=True),
    Column("AGE"),
)
_ROLES: Final = tuple(
    Column(title, shrinks=title == "REASON")
    for title in ("ROLE", "JOB", "SIZE", "MIN", "MAX", "RUNNING", "PENDING", "REASON")
)
_PODS: Final = tuple(Column(title) for title in ("NAME", "ROLE", "INDEX", "STATUS", "NODE", "AGE"))
_CHANGES: Final = (
    Column("LAST SEEN"),
    Column("TYPE", wide=True),
    Column("JOB"),
    Column("REASON"),
    Column("MESSAGE", shrinks=True),
)
_NAMESPACE: Final = Column("NAMESPACE")
_DETAIL_LABEL: Final = 12


@dataclass(frozen=True, slots=True)
class Detail:
    """One training job with its last changes, newest last."""

    view: JobView
    changes: tuple[Change, ...]


def list_report(views: Sequence[JobView], now: datetime, namespace: str) -> Report:
    """One line a training job; `namespace` is empty for all, which then are a column."""
    rows = tuple(_list_row(view, now) for view in views)
    if not namespace:
        names = (view.job.key.namespace for view in views)
        rows = tuple((name, *row) for name, row in zip(names, rows, strict=True))
    where = f" in {namespace} namespace" if namespace else ""
    return Report(
        sections=(Table(_LIST if namespace else (_NAMESPACE, *_LIST), rows),),
        objects=tuple(document(view) for view in views),
        names=tuple(view.name for view in views),
        list_kind="TrainingJobList",
        nothing=f"No training jobs found{where}.",
    )


def detail_report(detail: Detail, now: datetime) -> Report:
    """A header, the roles, the pods and the last changes."""
    view = detail.view
    return Report(
        sections=(
            _header(view, now),
            Table(_ROLES, tuple(_role_row(role) for role in view.roles)),
            Table(_PODS, tuple(_pod_rows(view, now))),
            Table(_CHANGES, tuple(_change_row(change, now) for change in detail.changes)),
        ),
        objects=(document(view) | {"changes": [_change_document(one) for one in detail.changes]},),
        names=(view.name,),
    )


def _list_row(view: JobView, now: datetime) -> tuple[str, ...]:
    job = view.job
    return (
        job.key.name,
        job.framework,
        view.phase.value,
        view.sizes,
        str(view.pending),
        str(job.priority),
        age(job.started_at, now) if job.started_at else "",
        ",".join(view.nodes),
        view.reason,
        age(job.queued_at, now),
    )


def _header(view: JobView, now: datetime) -> str:
    job = view.job
    started = f"{age(job.started_at, now)} ago" if job.started_at else "not yet"
    lines = {
        "Name": job.key.name,
        "Namespace": job.key.namespace,
        "Framework": job.framework,
        "Phase": view.phase.value,
        "Priority": str(job.priority),
        "Created": f"{age(job.queued_at, now)} ago",
        "Started": started,
        "Changed": _last(view, now),
        "Held at": ", ".join(_held(role) for role in view.roles if role.role.wanted is not None),
        "Reason": view.reason,
    }
    return "".join(
        f"{f'{label}:'.ljust(_DETAIL_LABEL)}{text}\n" for label, text in lines.items() if text
    )


def _last(view: JobView, now: datetime) -> str:
    """The last operation and what became of it."""
    last = next(reversed(past(view.job)), None)
    if last is None:
        return ""
    ago = "now" if last.phase == SCALING else f"{age(last.at, now)} ago"
    return f"{last.phase} {ago}: {last.operation} {last.text}"


def _held(role: RoleView) -> str:
    return f"{role.role.name}={role.role.wanted} (kubectl edl scale --auto gives it back)"


def _role_row(shown: RoleView) -> tuple[str, ...]:
    role = shown.role
    ending = f"{role.ending.value}; " if role.ending else ""
    figures = (shown.size, role.min, role.max, shown.running, shown.pending)
    return (role.name, role.job, *map(str, figures), (ending + role.reason).removesuffix("; "))


def _pod_rows(view: JobView, now: datetime) -> list[tuple[str, ...]]:
    return [
        (
            pod.name,
            shown.role.name,
            str(pod.index) if pod.index >= 0 else "",
            pod_status(pod),
            pod.node,
            age(pod.created_at, now),
        )
        for shown in view.roles
        for pod in sorted(shown.role.pods, key=lambda pod: (pod.index, pod.created_at, pod.name))
    ]


def _change_row(change: Change, now: datetime) -> tuple[str, ...]:
    often = f" (x{change.count})" if change.count > 1 else ""
    kind = "Warning" if change.warning else "Normal"
    return (age(change.at, now) + often, kind, change.job, change.reason, change.message)


def _change_document(change: Change) -> Json:
    return {
        "at": time_text(change.at),
        "job": change.job,
        "type": "Warning" if change.warning else "Normal",
        "reason": change.reason,
        "message": change.message,
        "count": change.count,
    }
