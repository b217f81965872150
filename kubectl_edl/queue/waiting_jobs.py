"""Queued jobs in the planner's order, or by arrival if the user may not read the cluster."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

from edl.messages import message, messages
from edl.model import ClusterState, TrainingJob
from edl.model.jobs import queue_order
from edl.phases import waits_to_start
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
from kubectl_edl.queue.view import WaitingJob

_STARTS_NOW: Final = "starts now"
_WOULD_START: Final = "would start"


def in_plan(state: ClusterState, plan: Plan, stalled: str) -> tuple[WaitingJob, ...]:
    """The whole queue: jobs that this plan starts, then the others by position.

    Jobs that cannot be planned or never start come last, without a position. `stalled` is the
    reason why no reconciler executes the plan; then jobs that would start have none either.
    """
    starts, first = (_WOULD_START, None) if stalled else (_STARTS_NOW, 0)
    jobs = {job.key: job for job in state.jobs}
    starting = tuple(
        WaitingJob(jobs[one.job], first, (), _starts(one, starts)) for one in plan.admissions
    )
    held = (
        WaitingJob(
            jobs[one.job],
            one.position or None,
            one.ahead,
            Why(one.reason.code, message(one.reason)),
            held=one.reason,
        )
        for one in waiting_in(state, plan)
    )
    return tuple(_in_teams(state, (*starting, *held)))


def _in_teams(state: ClusterState, queue: Iterable[WaitingJob]) -> Iterator[WaitingJob]:
    """Add each job's team, and its position among the team's jobs that have one."""
    places: Counter[str] = Counter()
    shares = weighted_shares(state)
    for one in queue:
        team = state.team_of(one.job.key.namespace)
        places[team] += bool(one.position)
        place = places[team] if team and one.position else None
        yield replace(one, team=team, position_in_team=place, share=shares.get(team))


def _starts(one: Admission, starts: str) -> Why:
    reason = messages((one.reason, *one.grown))
    return Why(one.reason.code, f"{starts}: {reason}")


def own_queue(
    connection: ClusterConnection, own: Survey, now: datetime
) -> tuple[tuple[WaitingJob, ...], PublishedView | None, tuple[str, ...]]:
    """The queued jobs of `own` as the reconciler published them, or else by arrival; and hints.

    The published queue is None if there is none that may be read.
    """
    leader_hints = reconciler_lease.unattended(connection, now)
    published, hints = read_published(connection, now) if connection.namespace else (None, ())
    own = ranked(own, published)
    return by_arrival(own.jobs, published), published, (*own.hints, *leader_hints, *hints)


def by_arrival(
    jobs: Iterable[TrainingJob], published: PublishedView | None = None
) -> tuple[WaitingJob, ...]:
    """Queued training jobs of one namespace: those published in that order, the others behind."""
    names = [one.name for one in published.queue.items] if published else []
    places = {name: place for place, name in enumerate(names)}
    queued = [job for job in jobs if waits_to_start(job)]
    queued.sort(key=lambda job: (places.get(job.key.name, len(places)), queue_order(job)))
    return tuple(_unplanned(job, published) for job in queued)


def _unplanned(job: TrainingJob, published: PublishedView | None) -> WaitingJob:
    found = published.job(job.key) if published else None
    if found is None or published is None:
        return WaitingJob(job, None, (), why(job), known=False)
    return WaitingJob(
        job,
        found.position,
        (),
        why_of_published(found),
        estimate_of(found),
        counted=found.ahead,
        team=published.queue.team,
        position_in_team=_place_in_team(published.queue.team, found),
        share=published.queue.share,
        as_of=published.as_of,
    )


def _place_in_team(team: str, found: PublishedJob) -> int | None:
    """The position in the team; None without teams, or if the team has no count of its own."""
    if not team or found.position is None:
        return None
    ahead = {one.team: one.jobs for one in found.ahead}
    known = team in ahead or "" not in ahead
    return ahead.get(team, 0) + 1 if known else None
