"""The trees of `kubectl edl status`: one training job in detail, or all of them while watched."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Final, TypeAlias

from edl.domain_counts import DomainCounts
from edl.kube.event_facts import EventFacts
from edl.model import Role
from kubectl_edl.history.view import operation_document
from kubectl_edl.job_views import resize_limits, topology_view
from kubectl_edl.job_views.blocker_facts import BlockerList, JobBlocker
from kubectl_edl.job_views.job_blockers import blocker_documents
from kubectl_edl.job_views.role_history import PastOperation, past
from kubectl_edl.job_views.training_job_view import JobView, document, time_text
from kubectl_edl.output.age import age, ago
from kubectl_edl.output.cell_quantities import counted
from kubectl_edl.output.documents.training_job_documents import (
    JobEventDocument,
    TrainingJobDetailDocument,
)
from kubectl_edl.output.printer import print_report
from kubectl_edl.output.report import Report, documents
from kubectl_edl.output.safe_text import labelled
from kubectl_edl.output.table import Column, Layout, Table
from kubectl_edl.status.tree import Depth, Forest, lines, tree

_JobOperation: TypeAlias = tuple[PastOperation, JobView]
_DETAIL_LABEL: Final = 12
_DECISIONS_SHOWN: Final = 5
_AROUND: Final = 6
"""Lines that the tree of many jobs needs apart from the jobs, including the cursor's line."""


@dataclass(frozen=True, slots=True)
class Detail:
    """One training job: its last Events, newest last, and its blockers.

    `why` has the reasons of its waiting pods, by pod name.
    """

    view: JobView
    changes: Sequence[EventFacts]
    blockers: tuple[JobBlocker, ...] = ()
    why: Mapping[str, str] | None = None
    cooldown: resize_limits.Pace | None = None
    """The limit on resizes; None if it is unknown or the job is never resized."""
    domains: tuple[DomainCounts, ...] | None = ()
    """Topology domains of its pods; None if nodes may not be read."""
    queue: str = ""
    """The queue position and the estimated start, as last published by the reconciler."""
    team: str = ""
    """The team of its namespace: the present one, or the published one with its age."""


def detail_report(detail: Detail, now: datetime) -> Report:
    """A header, the tree of its roles and pods, the last decisions, and the blockers."""
    view, header = detail.view, _header(detail, now)
    forest = Forest((view,), now, why=detail.why or {})
    operations = past(view.job)[-_DECISIONS_SHOWN:]
    below: tuple[str | Table, ...] = (
        Table.of(_decisions(now), [(operation, view) for operation in operations])
        if operations
        else Table.of(_changes(now), detail.changes),
        BlockerList.of_job(detail.blockers).text,
    )
    where = topology_view.table(detail.domains or ())
    return Report(
        sections=(header, tree(forest, Depth.PODS), where, *below),
        objects=documents("TrainingJob", [_document(detail, operations)]),
        names=(view.name,),
        picture=_picture((header,), forest, (where, *below)),
    )


def _document(detail: Detail, operations: Sequence[PastOperation]) -> TrainingJobDetailDocument:
    return {
        **document(detail.view, resize_limits.document(detail.cooldown)),
        "topology": topology_view.document(detail.view.job.topology, detail.domains),
        "events": [_event_document(event) for event in detail.changes],
        "operations": [operation_document(operation) for operation in operations],
        "blockers": blocker_documents(detail.blockers),
    }


def fleet(views: Sequence[JobView], now: datetime, namespace: str, layout: Layout) -> str:
    """Many jobs on a terminal: phases, the tree, and the last decisions; empty for none.

    An empty `namespace` means all namespaces.
    """
    if not views:
        return ""
    forest = Forest(tuple(views), now, everywhere=not namespace)
    if layout.height is not None and lines(forest, Depth.JOBS) > layout.height - _AROUND:
        return _job_rows(forest, layout, layout.height - _AROUND)
    operations = sorted(
        ((operation, view) for view in forest.views for operation in past(view.job)),
        key=lambda pair: pair[0].at,
    )[-_DECISIONS_SHOWN:]
    everywhere = forest.everywhere
    name: Column[_JobOperation] = Column(
        "NAME", lambda pair: str(pair[1].job.key) if everywhere else pair[1].job.key.name
    )
    decisions = Table.of(_decisions(now, name), operations)
    return _picture((_summary(forest),), forest, (decisions,))(layout)


def _job_rows(forest: Forest, layout: Layout, most: int) -> str:
    """The first jobs, one row each, and the number of the others."""
    shown = replace(forest, views=forest.views[: max(most, 1)])
    more = len(forest.views) - len(shown.views)
    below = f"… {more} more training jobs: -n and -l choose among them\n"
    sections = (_summary(forest), tree(shown, Depth.JOBS), below)
    return print_report(Report(sections, (), ()), layout)


def _summary(forest: Forest) -> str:
    """`3 training jobs: 2 Running, 1 Queued`."""
    phases = Counter(view.phase.value for view in forest.views)
    jobs = counted(len(forest.views), "training job")
    return f"{jobs}: {', '.join(f'{many} {phase}' for phase, many in phases.items())}\n"


def _decisions(now: datetime, *named: Column[_JobOperation]) -> tuple[Column[_JobOperation], ...]:
    return (
        Column("AGO", lambda pair: age(pair[0].at, now)),
        *named,
        Column("LAST DECISIONS", lambda pair: f"{pair[0].operation.value} ({pair[0].phase})"),
        Column("SIZES", lambda pair: pair[0].text),
        Column("MESSAGE", lambda pair: pair[0].message, shrinks=True),
    )


def _changes(now: datetime) -> tuple[Column[EventFacts], ...]:
    return (
        Column("LAST SEEN", lambda row: age(row.last, now) + f" (x{row.count})" * (row.count > 1)),
        Column("TYPE", _type, wide=True),
        Column("JOB", lambda row: row.name),
        Column("REASON", lambda row: row.reason),
        Column("MESSAGE", lambda row: row.message, shrinks=True),
    )


def _type(event: EventFacts) -> str:
    return "Warning" if event.warning else "Normal"


def _picture(
    above: tuple[str | Table, ...], forest: Forest, below: tuple[str | Table, ...]
) -> Callable[[Layout], str]:
    """A function that draws the tree as deep as fits the terminal, at last without `below`."""

    def draw(layout: Layout) -> str:
        text = ""
        for depth, under in (*((depth, below) for depth in Depth), (Depth.JOBS, ())):
            if depth is not Depth.JOBS and lines(forest, depth) >= (layout.height or inf):
                continue
            sections = (*above, tree(forest, depth), *under)
            text = print_report(Report(sections, (), ()), layout)
            if layout.height is None or text.count("\n") < layout.height:
                break
        return text

    return draw


def _header(detail: Detail, now: datetime) -> str:
    view, job = detail.view, detail.view.job
    started = ago(job.started_at, now) if job.started_at else "not yet"
    lines = {
        "Name": job.key.name,
        "Namespace": job.key.namespace,
        "Framework": job.framework,
        "Phase": view.phase.value,
        "Priority": str(job.priority),
        "Team": detail.team,
        "Queue": detail.queue,
        "Created": ago(job.queued_at, now),
        "Started": started,
        "Changed": _last(view, now),
        "Manual": ", ".join(
            _manual_size(view, shown.role)
            for shown in view.roles
            if shown.role.request.replicas is not None
        ),
        "Requested": view.requested,
        "Cooldown": resize_limits.text(detail.cooldown),
        "Reason": view.why.message,
    }
    return labelled(lines, _DETAIL_LABEL)


def _last(view: JobView, now: datetime) -> str:
    """The last operation, when it was decided, and what has become of it.

    Its pods are younger: the Job controller creates them after the decision.
    """
    last = next(reversed(past(view.job)), None)
    if last is None:
        return ""
    return f"{last.operation} {last.text} {ago(last.at, now)}: {last.phase}"


def _manual_size(view: JobView, role: Role) -> str:
    clear = f"kubectl edl scale {view.argument} --role {role.name} --auto"
    return f"{role.name}={role.request.replicas} (to clear it: {clear})"


def _event_document(change: EventFacts) -> JobEventDocument:
    return {
        "lastTimestamp": time_text(change.last),
        "jobName": change.name,
        "type": _type(change),
        "reason": change.reason,
        "message": change.message,
        "count": change.count,
    }
