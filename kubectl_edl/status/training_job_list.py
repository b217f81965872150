"""The report of `kubectl edl status`, from the lists that it requested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubectl_edl.client import reconciler_lease
from kubectl_edl.client.cluster_view import survey_training
from kubectl_edl.model.training_job_view import view
from kubectl_edl.status.view import list_report

if TYPE_CHECKING:
    from datetime import datetime

    from kubectl_edl.client.prefetch import PrefetchedLists
    from kubectl_edl.model.training_job_view import JobView
    from kubectl_edl.output.report import Report


def fleet(
    asked: PrefetchedLists, selector: str, now: datetime, above: str = ""
) -> tuple[tuple[JobView, ...], Report]:
    """All training jobs that are selected; `above` is a line over their picture."""
    survey = survey_training(asked.connection, selector, now, asked)
    views = tuple(view(job) for job in survey.jobs)
    lead = _leadership(asked, now)
    report = list_report(views, now, asked.connection.namespace, above, lead.settings)
    return views, report.hinting((*survey.hints, *lead.hints))


def one(asked: PrefetchedLists, name: str, now: datetime) -> tuple[tuple[JobView, ...], Report]:
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
