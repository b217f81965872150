"""The output of `kubectl edl events`."""

from collections.abc import Sequence
from datetime import datetime

from edl.kube.event_facts import EventFacts
from kubectl_edl.output.age import age
from kubectl_edl.output.color import meaning
from kubectl_edl.output.report import Report
from kubectl_edl.output.table import Column, Table, in_namespaces, nothing_in


def events_report(facts: Sequence[EventFacts], now: datetime, namespace: str, whose: str) -> Report:
    """One row per Event, as `kubectl events` prints it; `whose` names the job, or all jobs."""
    return Report(
        sections=(events_table(facts, now, namespace),),
        objects=tuple(event.body for event in facts),
        names=tuple(f"event/{event.body['metadata']['name']}" for event in facts),
        list_kind="EventList",
        list_version="v1",
        nothing=nothing_in(namespace, f"events of {whose} found"),
    )


def events_table(events: Sequence[EventFacts], now: datetime, namespace: str) -> Table:
    columns: tuple[Column[EventFacts], ...] = (
        *in_namespaces(namespace, lambda event: event.body["metadata"].get("namespace", "")),
        Column("LAST SEEN", lambda event: _seen(event, now)),
        Column("TYPE", lambda event: str(event.body.get("type") or ""), colour=meaning),
        Column("REASON", lambda event: event.reason),
        Column("OBJECT", lambda event: f"{event.kind}/{event.name}"),
        Column("SOURCE", lambda event: event.source, wide=True),
        Column("COUNT", lambda event: str(event.count), wide=True),
        Column("MESSAGE", lambda event: event.message, shrinks=True),
    )
    return Table.of(columns, events)


def _seen(event: EventFacts, now: datetime) -> str:
    if event.count > 1:
        return f"{age(event.last, now)} (x{event.count} over {age(event.first, now)})"
    return age(event.last, now)
