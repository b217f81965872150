"""The table of `kubectl edl status`: one row per training job.

Trees and details are in `detail_view`, which is imported only when needed.
"""

from __future__ import annotations

from dataclasses import replace as replace_report
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kubectl_edl.client.cluster_view import Reads, read_survey
from kubectl_edl.client.job_lookup import training_job
from kubectl_edl.client.reconciler_lease import leadership
from kubectl_edl.job_views.job_reasons import conflict_hints
from kubectl_edl.job_views.training_job_view import document, view
from kubectl_edl.output.age import age
from kubectl_edl.output.color import meaning
from kubectl_edl.output.report import LazyDocuments, Report
from kubectl_edl.output.table import Column, Table, in_namespaces, nothing_in

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from edl.model import TrainingJob
    from kubectl_edl.client.cluster_view import Survey
    from kubectl_edl.client.prefetched_lists import PrefetchedLists
    from kubectl_edl.job_views.training_job_view import JobView
    from kubectl_edl.output.documents.training_job_documents import TrainingJobDocument
    from kubectl_edl.output.table import Layout

_ABSENT: Final = "was deleted or released"
_ABSENT_SELECTED: Final = f"{_ABSENT}, or its labels no longer match"
_LOW: Final = 12
"""Terminals with fewer lines show only the training jobs."""


def list_report(
    views: Sequence[JobView],
    now: datetime,
    namespace: str,
    above: str,
    settings: str | None,
) -> Report:
    """One row per training job; an empty `namespace` shows all, with a column NAMESPACE.

    When watched on a terminal it is a tree below the text `above`. `settings` are the reconciler's,
    from its Lease.
    """
    return Report(
        sections=(Table.of(_columns(now, namespace), views),),
        objects=LazyDocuments(
            "TrainingJob", lambda number: _document(views[number], settings), len(views)
        ),
        names=tuple(view.name for view in views),
        list_kind="TrainingJobList",
        nothing=_nothing(namespace),
        picture=partial(_picture, views, now, namespace, above),
    )


def _document(shown: JobView, settings: str | None) -> TrainingJobDocument:
    from kubectl_edl.job_views import resize_limits

    cooldown = resize_limits.pace(shown.job, resize_limits.published(settings))
    return document(shown, resize_limits.document(cooldown))


def _picture(
    views: Sequence[JobView], now: datetime, namespace: str, above: str, layout: Layout
) -> str:
    from kubectl_edl.status.detail_view import fleet

    if layout.height is not None and layout.height < _LOW:
        above = ""
    lines = above.count("\n")
    below = replace(layout, height=layout.height and layout.height - lines)
    text = fleet(views, now, namespace, below)
    if above and not text:
        text = f"{_nothing(namespace)}\n"
    return above + text


def _nothing(namespace: str) -> str:
    return nothing_in(namespace, "training jobs found")


def _columns(now: datetime, namespace: str) -> tuple[Column[JobView], ...]:
    return (
        *in_namespaces(namespace, lambda row: row.job.key.namespace),
        Column("NAME", lambda row: row.job.key.name),
        Column("FRAMEWORK", lambda row: row.job.framework, spare=3),
        Column("PHASE", lambda row: row.phase.value, colour=meaning),
        Column("ROLES(NOW/MIN..MAX)", lambda row: row.sizes, last=True),
        Column("PENDING", lambda row: str(row.pending), spare=3),
        Column("PRIORITY", lambda row: str(row.job.priority), wide=True),
        Column("STARTED", lambda row: _started(row.job, now), wide=True),
        Column("NODES", lambda row: ",".join(row.nodes), wide=True),
        Column("REASON", lambda row: row.why.code, wide=True),
        Column("MESSAGE", lambda row: row.why.message, shrinks=True, bounded=True, spare=1),
        Column("AGE", lambda row: age(row.job.queued_at, now), spare=2),
    )


def _started(job: TrainingJob, now: datetime) -> str:
    return age(job.started_at, now) if job.started_at else ""


def listed(
    asked: PrefetchedLists, selector: str, names: Sequence[str], now: datetime, above: str = ""
) -> tuple[tuple[JobView, ...], Report]:
    """All selected training jobs, or those of the names; `above` is printed above them if watched.

    Raises errors as `training_job` does.
    """
    survey = _ranked_survey(asked, selector, now)
    chosen = {training_job(name, survey, asked.connection).key for name in names}
    views = tuple(view(job) for job in survey.jobs if not names or job.key in chosen)
    lead = leadership(asked.connection, now, asked.lease)
    report = list_report(views, now, asked.connection.namespace, above, lead.settings)
    report = replace_report(report, absence=_ABSENT_SELECTED if selector else _ABSENT)
    return views, report.with_hints(
        (*survey.hints, *lead.hints, *conflict_hints(shown.job for shown in views))
    )


def _ranked_survey(asked: PrefetchedLists, selector: str, now: datetime) -> Survey:
    """The survey with published priorities, which are read only if others are not known."""
    survey = read_survey(asked.connection, now, Reads.QUOTAS_IF_LACKING, selector, asked)
    if not (survey.unranked and asked.connection.namespace):
        return survey
    from kubectl_edl.job_views.published_queue import ranked, read_published

    published, _ = read_published(asked.connection, now)
    return ranked(survey, published)


def detailed(
    asked: PrefetchedLists, name: str, now: datetime
) -> tuple[tuple[JobView, ...], Report]:
    """The training job of this name."""
    from kubectl_edl.status.detail import job_detail

    survey = _ranked_survey(asked, "", now)
    lead = leadership(asked.connection, now, asked.lease)
    shown, report = job_detail(name, survey, asked.connection, now, lead)
    return (shown,), report.with_hints((*survey.hints, *lead.hints))
