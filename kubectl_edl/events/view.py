"""The output of `kubectl edl events`."""

from collections.abc import Sequence
from datetime import datetime

from edl.kube.event_facts import EventFacts
from kubectl_edl.output.age import age
from kubectl_edl.output.color import meaning
from kubectl_edl.output.report import Report
from kubectl_edl.output.table import Column, Table, in_namespaces, nothing_in


def events_report(found: Sequence[EventFacts], now: datetime, namespace: str, whose: str) -> Report:
    """One row per Event, as `kubectl events` prints it; `whose` names the job, or all jobs."""
    return Report(
        sections=(events_table(found, now, namespace),),
        objects=tuple(one.body for one in found),
        names=tuple(f"event/{one.body['metadata']['name']}" for one in found),
        list_kind="EventList",
        list_version="v1",
        nothing=nothing_in(namespace, f"events of {whose} found"),
    )


def events_table(found: Sequence[EventFacts], now: datetime, namespace: str) -> Table:
    columns: tuple[Column[EventFacts], ...] = (
        *in_namespaces(namespace, lambda one: one.body["metadata"].get("namespace", "")),
        Column("LAST SEEN", lambda one: _seen(one, now)),
        Column("TYPE", lambda one: str(one.body.get("type") or ""), colour=meaning),
        Column("REASON", lambda one: one.reason),
        Column("OBJECT", lambda one: f"{one.kind}/{one.name}"),
        Column("SOURCE", lambda one: one.source, wide=True),
        Column("COUNT", lambda one: str(one.count), wide=True),
        Column("MESSAGE", lambda one: one.message, shrinks=True),
    )
    return Table.of(columns, found)


def _seen(one: EventFacts, now: datetime) -> str:
    if one.count > 1:
        return f"{age(one.last, now)} (x{one.count} over {age(one.first, now)})"
    return age(one.last, now)
