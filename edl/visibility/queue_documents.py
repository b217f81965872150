"""Turns a plan into one queue document per namespace: waiting jobs, jobs ahead and reasons."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from edl.forecast.estimate import Certainty, Estimate
from edl.messages import blocker_text, message, remedy
from edl.messages.foreign_names import NameRedaction
from edl.model import ClusterState, JobKey
from edl.model.causes.blockers import Blocker
from edl.planner.explain.blocker_search import BlockerSearch
from edl.planner.plan import Plan, WaitingJob
from edl.visibility.namespace_queue import (
    MAX_BYTES,
    MAX_JOBS,
    MAX_TEAMS,
    NamespaceQueue,
    PublishedBlocker,
    PublishedBlockers,
    PublishedEstimate,
    PublishedJob,
    TeamCount,
)
from edl.visibility.queue_order import waiting
from edl.visibility.usage_by_team import weighted_shares

_MAX_BLOCKERS: Final = 8
_LONGEST_TEXT: Final = 512
_SHARE_DIGITS: Final = 3
"""Digits of shares, as in tables; smaller changes do not rewrite a document."""


class Insight(msgspec.Struct, frozen=True):
    """Results on a queued training job beyond its plan; None if not computed."""

    estimate: Estimate | None = None
    start: BlockerSearch | None = None


def documents(
    state: ClusterState, plan: Plan, insights: Mapping[JobKey, Insight]
) -> dict[str, NamespaceQueue]:
    """The queue of each namespace in which a training job waits."""
    queued: dict[str, list[WaitingJob]] = defaultdict(list)
    ahead: dict[JobKey, tuple[TeamCount, ...]] = {}
    teams: Counter[str] = Counter()
    for entry in waiting(state, plan):
        if len(queued[entry.job.namespace]) < MAX_JOBS:
            ahead[entry.job] = _counted(teams) if entry.position else ()
        queued[entry.job.namespace].append(entry)
        teams[state.team_of(entry.job.namespace)] += bool(entry.position)
    priorities = {job.key: job.priority for job in state.jobs}
    shares = weighted_shares(state) if queued else {}
    queues = {}
    for namespace, entries in queued.items():
        reader = NameRedaction(namespace, state.team_of)
        jobs = (
            _job(entry, priorities.get(entry.job), ahead[entry.job], insights, reader)
            for entry in entries[:MAX_JOBS]
        )
        items, team = tuple(_bounded(jobs)), state.team_of(namespace)
        share = round(shares[team], _SHARE_DIGITS) if team in shares else None
        queues[namespace] = NamespaceQueue(state.observed_at, len(entries), items, team, share)
    return queues


def _counted(teams: Counter[str]) -> tuple[TeamCount, ...]:
    """The teams with most jobs ahead, and the number of all other teams' jobs."""
    named = ((jobs, team) for team, jobs in teams.items() if team)
    first = heapq.nsmallest(MAX_TEAMS, named, key=lambda pair: (-pair[0], pair[1]))
    rest = teams.total() - sum(jobs for jobs, _ in first)
    counts = tuple(TeamCount(jobs, team) for jobs, team in first)
    return (*counts, TeamCount(rest)) if rest else counts


def _bounded(jobs: Iterator[PublishedJob]) -> Iterator[PublishedJob]:
    """The first jobs whose documents together stay within `MAX_BYTES`."""
    left = MAX_BYTES
    for job in jobs:
        left -= len(msgspec.json.encode(job))
        if left < 0:
            return
        yield job


def _job(
    entry: WaitingJob,
    priority: int | None,
    ahead: tuple[TeamCount, ...],
    insights: Mapping[JobKey, Insight],
    reader: NameRedaction,
) -> PublishedJob:
    reason, insight = reader.allowed(entry.reason), insights.get(entry.job, Insight())
    return PublishedJob(
        name=entry.job.name,
        reason=reason.code.value,
        message=_text(message(reason)),
        position=entry.position or None,
        ahead=ahead,
        estimate=_estimate(insight.estimate),
        start=published_blockers(insight.start, reader.allowed) if insight.start else None,
        priority=priority,
    )


def _estimate(estimate: Estimate | None) -> PublishedEstimate | None:
    """The estimate without its reason, which names other jobs, and without a time for NOW."""
    if estimate is None:
        return None
    time = None if estimate.certainty is Certainty.NOW else estimate.at
    return PublishedEstimate(estimate.certainty, time)


def published_blockers(
    search: BlockerSearch, allowed: Callable[[Blocker], Blocker]
) -> PublishedBlockers:
    """The blockers as published; `allowed` leaves out what their reader may not see."""
    return PublishedBlockers(
        search.complete and len(search.found) <= _MAX_BLOCKERS,
        tuple(
            PublishedBlocker(
                type(blocker).__name__, _text(blocker_text(blocker)), _text(remedy(blocker))
            )
            for blocker in map(allowed, search.found[:_MAX_BLOCKERS])
        ),
    )


def _text(text: str) -> str:
    """The text, truncated: messages of an API server may be very long."""
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
