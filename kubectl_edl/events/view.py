"""The screen of `kubectl edl events`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from kubectl_edl.client.event_reader import Happening
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


def events_report(found: Sequence[Happening], now: datetime, namespace: str, whose: str) -> Report:
    """One line an Event, as `kubectl events` has it; `whose` they are: a training job or all."""
    between = () if namespace else (_NAMESPACE,)
    where = f" in {namespace} namespace" if namespace else ""
    return Report(
        sections=(Table((*between, *_COLUMNS), tuple(_row(one, now, namespace) for one in found)),),
        objects=tuple(one.event for one in found),
        names=tuple(f"event/{one.event['metadata']['name']}" for one in found),
        list_kind="EventList",
        list_version="v1",
        nothing=f"No events of {whose} found{where}.",
    )


def warnings_table(found: Sequence[Happening], now: datetime, namespace: str) -> Table:
    """The same lines, to stand below something else."""
    return Table(_COLUMNS, tuple(_row(one, now, namespace) for one in found))


def _row(one: Happening, now: datetime, namespace: str) -> tuple[str, ...]:
    event = one.event
    return (
        *(() if namespace else (event["metadata"].get("namespace") or "",)),
        _seen(one, now),
        event.get("type") or "",
        event.get("reason") or "",
        one.about,
        one.source,
        str(one.count),
        " ".join((event.get("message") or "").split()),
    )


def _seen(one: Happening, now: datetime) -> str:
    if one.count > 1:
        return f"{age(one.last, now)} (x{one.count} over {age(one.first, now)})"
    return age(one.last, now)
