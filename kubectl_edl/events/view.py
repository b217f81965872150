"""The screen of `kubectl edl events`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from edl.kube.event_facts import EventFacts
from kubectl_edl.output.age import age
from kubectl_edl.output.color import meaning
from kubectl_edl.output.report import Report
from kubectl_edl.output.table import Column, Table

_NAMESPACE: Final = Column("NAMESPACE")
_COLUMNS: Final = (
    Column("LAST SEEN"),
    Column("TYPE", colour=meaning),
    Column("REASON"),
    Column("OBJECT"),
    Column("SOURCE", wide=True),
    Column("COUNT", wide=True),
    Column("MESSAGE", shrinks=True),
)


def events_report(found: Sequence[EventFacts], now: datetime, namespace: str, whose: str) -> Report:
    """One line an Event, as `kubectl events` has it; `whose` they are: a training job or all."""
    between = () if namespace else (_NAMESPACE,)
    where = f" in {namespace} namespace" if namespace else ""
    return Report(
        sections=(Table((*between, *_COLUMNS), tuple(_row(one, now, namespace) for one in found)),),
        objects=tuple(one.body for one in found),
        names=tuple(f"event/{one.body['metadata']['name']}" for one in found),
        list_kind="EventList",
        list_version="v1",
        nothing=f"No events of {whose} found{where}.",
    )


def warnings_table(found: Sequence[EventFacts], now: datetime, namespace: str) -> Table:
    """The same lines, to stand below something else."""
    return Table(_COLUMNS, tuple(_row(one, now, namespace) for one in found))


def _row(one: EventFacts, now: datetime, namespace: str) -> tuple[str, ...]:
    return (
        *(() if namespace else (one.body["metadata"].get("namespace") or "",)),
        _seen(one, now),
        str(one.body.get("type") or ""),
        one.reason,
        f"{one.kind}/{one.name}",
        one.source,
        str(one.count),
        one.message,
    )


def _seen(one: EventFacts, now: datetime) -> str:
    if one.count > 1:
        return f"{age(one.last, now)} (x{one.count} over {age(one.first, now)})"
    return age(one.last, now)
