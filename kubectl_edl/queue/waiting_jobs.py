"""Queued jobs in the planner's order, or by arrival if the user may not read the cluster."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

from edl.job_state.phases import waits_to_start
from edl.messages import message, messages
from edl.model import ClusterState, TrainingJob
from edl.model.jobs import queue_order
from edl.planner.plan import Admission, Plan
from edl.visibility.namespace_queue import PublishedJob
from edl.visibility.queue_order import waiting as waiting_in
from edl.visibility.usage_by_team import weighted_shares
from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.client import reconciler_lease
from kubectl_edl.client.cluster_view import Survey
from kubectl_edl.job_views.job_reasons import Why, why
from kubectl_edl.job_views.published_queue import (
    PublishedView,
    estimate_of,
    ranked,
    read_published,
    why_of_published,
)
from kubectl_edl.queue.view import QueuedJob

_STARTS_NOW: Final = "starts now"
_WOULD_START: Final = "would start"


def in_plan(state: ClusterState, plan: Plan, stalled: str) -> tuple[QueuedJob, ...]:
    """The whole queue: jobs that this plan starts, then the others by position.

    Jobs that cannot be planned or never start come last, without a position. `stalled` is the
    reason why no reconciler executes the plan; then jobs that would start have none either.
    """
    starts, first = (_WOULD_START, None) if stalled else (_STARTS_NOW, 0)
    jobs = {job.key: job for job in state.jobs}
    starting = tuple(
        QueuedJob(jobs[start.job], first, (), _starts(start, starts)) for start in plan.admissions
    )
    waiting = (
        QueuedJob(
            jobs[entry.job],
            entry.position or None,
            entry.ahead,
            Why(entry.reason.code, message(entry.reason)),
            plan_reason=entry.reason,
        )
        for entry in waiting_in(state, plan)
    )
    return tuple(_in_teams(state, (*starting, *waiting)))


def _in_teams(state: ClusterState, queue: Iterable[QueuedJob]) -> Iterator[QueuedJob]:
    """Add each job's team, and its position among the team's jobs that have one."""
    places: Counter[str] = Counter()
    shares = weighted_shares(state)
    for entry in queue:
        team = state.team_of(entry.job.key.namespace)
        places[team] += bool(entry.position)
        place = places[team] if team and entry.position else None
        yield replace(entry, team=team, position_in_team=place, share=shares.get(team))


def _starts(admission: Admission, starts: str) -> Why:
    reason = messages((admission.reason, *admission.grown))
    return Why(admission.reason.code, f"{starts}: {reason}")


def own_queue(
    connection: ClusterConnection, survey: Survey, now: datetime
) -> tuple[tuple[QueuedJob, ...], PublishedView | None, tuple[str, ...]]:
    """The queued jobs of `survey` as the reconciler published them, or else by arrival; and hints.

    The published queue is None if there is none that may be read.
    """
    leader_hints = reconciler_lease.unattended(connection, now)
    published, hints = read_published(connection, now) if connection.namespace else (None, ())
    survey = ranked(survey, published)
    return by_arrival(survey.jobs, published), published, (*survey.hints, *leader_hints, *hints)


def by_arrival(
    jobs: Iterable[TrainingJob], published: PublishedView | None = None
) -> tuple[QueuedJob, ...]:
    """Queued training jobs of one namespace: those published in that order, the others behind."""
    names = [item.name for item in published.queue.items] if published else []
    places = {name: place for place, name in enumerate(names)}
    queued = [job for job in jobs if waits_to_start(job)]
    queued.sort(key=lambda job: (places.get(job.key.name, len(places)), queue_order(job)))
    return tuple(_unplanned(job, published) for job in queued)


def _unplanned(job: TrainingJob, published: PublishedView | None) -> QueuedJob:
    entry = published.job(job.key) if published else None
    if entry is None or published is None:
        return QueuedJob(job, None, (), why(job), positions_known=False)
    return QueuedJob(
        job,
        entry.position,
        (),
        why_of_published(entry),
        estimate_of(entry, published),
        counted=entry.ahead,
        team=published.queue.team,
        position_in_team=_place_in_team(published.queue.team, entry),
        share=published.queue.share,
        as_of=published.as_of,
    )


def _place_in_team(team: str, entry: PublishedJob) -> int | None:
    """The position in the team; None without teams, or if the team has no count of its own."""
    if not team or entry.position is None:
        return None
    ahead = {count.team: count.jobs for count in entry.ahead}
    counted = team in ahead or "" not in ahead
    return ahead.get(team, 0) + 1 if counted else None
