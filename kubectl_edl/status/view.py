"""The reports of `kubectl edl status`, from the lists that it requested: a line per training job.

Trees and details are in `detail_view`, which a table has no need of.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kubectl_edl.client import reconciler_lease
from kubectl_edl.client.cluster_view import survey_training
from kubectl_edl.model.training_job_view import document, view
from kubectl_edl.output.age import age
from kubectl_edl.output.color import meaning
from kubectl_edl.output.report import Made, Report
from kubectl_edl.output.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from kubectl_edl.client.prefetch import PrefetchedLists
    from kubectl_edl.model.training_job_view import JobView
    from kubectl_edl.output.documents.training_job_documents import TrainingJobDocument
    from kubectl_edl.output.table import Layout

_LIST: Final = (
    Column("NAME"),
    Column("FRAMEWORK", spare=1),
    Column("PHASE", colour=meaning),
    Column("ROLES(NOW/MIN..MAX)"),
    Column("PENDING", spare=1),
    Column("PRIORITY", wide=True),
    Column("STARTED", wide=True),
    Column("NODES", wide=True),
    Column("REASON", wide=True),
    Column("MESSAGE", shrinks=True),
    Column("AGE"),
)
_NAMESPACE: Final = Column("NAMESPACE")
_LOW: Final = 12
"""Lines of a terminal that has room for the training jobs alone."""


def list_report(
    views: Sequence[JobView],
    now: datetime,
    namespace: str,
    above: str = "",
    settings: str | None = None,
) -> Report:
    """One line a training job; `namespace` is empty for all, which then are a column.

    Watched on a terminal it is a tree, with the line `above` over it. `settings` are the
    reconciler's, as its Lease says them.
    """
    rows = tuple(_list_row(view, now) for view in views)
    if not namespace:
        names = (view.job.key.namespace for view in views)
        rows = tuple((name, *row) for name, row in zip(names, rows, strict=True))
    return Report(
        sections=(Table(_LIST if namespace else (_NAMESPACE, *_LIST), rows),),
        objects=Made(lambda number: _document(views[number], settings), len(views)),
        names=tuple(view.name for view in views),
        list_kind="TrainingJobList",
        nothing=_nothing(namespace).rstrip(),
        picture=partial(_picture, views, now, namespace, above),
    )


def _document(shown: JobView, settings: str | None) -> TrainingJobDocument:
    from kubectl_edl.model import resize_limits  # noqa: PLC0415 (not for a table)

    cooldown = resize_limits.pace(shown.job, resize_limits.published(settings))
    return document(shown, resize_limits.document(cooldown))


def _picture(
    views: Sequence[JobView], now: datetime, namespace: str, above: str, layout: Layout
) -> str:
    from kubectl_edl.status.detail_view import fleet  # noqa: PLC0415 (not for a table)

    if layout.height is not None and layout.height < _LOW:
        above = ""
    lines = above.count("\n")
    below = replace(layout, height=layout.height and layout.height - lines)
    text = fleet(views, now, namespace, below)
    return f"{above}{text or _nothing(namespace)}" if above else text


def _nothing(namespace: str) -> str:
    where = f" in {namespace} namespace" if namespace else ""
    return f"No training jobs found{where}.\n"


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
        view.why.reason.value if view.why.reason else "",
        view.why.message,
        age(job.queued_at, now),
    )


def listed(
    asked: PrefetchedLists, selector: str, now: datetime, above: str = ""
) -> tuple[tuple[JobView, ...], Report]:
    """All training jobs that are selected; `above` is a line over their picture."""
    survey = survey_training(asked.connection, selector, now, asked)
    views = tuple(view(job) for job in survey.jobs)
    lead = _leadership(asked, now)
    report = list_report(views, now, asked.connection.namespace, above, lead.settings)
    return views, report.hinting((*survey.hints, *lead.hints))


def detailed(
    asked: PrefetchedLists, name: str, now: datetime
) -> tuple[tuple[JobView, ...], Report]:
    """The one of this name."""
    from kubectl_edl.status.detail import closeup  # noqa: PLC0415 (not for all of them)

    survey = survey_training(asked.connection, "", now, asked)
    lead = _leadership(asked, now)
    shown, report = closeup(name, survey, asked.connection, now, lead.settings)
    return (shown,), report.hinting((*survey.hints, *lead.hints))


def _leadership(asked: PrefetchedLists, now: datetime) -> reconciler_lease.LeaseView:
    """Its hints: no reconciler leads, and what is shown does not go on."""
    cluster = asked.connection.cluster
    return reconciler_lease.read(cluster, asked.lease, lambda: now + cluster.clock_ahead())
