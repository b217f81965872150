"""The page of one training job as JSON: what `explain`, `history` and `events` print.

`read` is {"namespace", "name", "phase", "chart", "facts", "sizes", "domains", "blockers", "pods",
"events", "history", "command", "hints"}. A table is {"columns", "rows", "more"}: its first rows,
and the number of the others. "chart" is the size over time as on the main page, null without roles.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from threading import Lock
from typing import Final, NamedTuple

from edl.kube.event_facts import EventFacts
from edl.model import JobKey, Pod, PodPhase, TrainingJob, job_of
from edl.writes import Json
from kubectl_edl.cli.command_errors import Missing, Refused
from kubectl_edl.cli.context import CliContext, ClusterConnection
from kubectl_edl.client.cluster_view import Reads, read_survey
from kubectl_edl.client.event_reader import events_about
from kubectl_edl.client.failed_pods import failed_pods
from kubectl_edl.client.optional_reads import Hints, read_if_allowed
from kubectl_edl.client.pending_pods import pods_of
from kubectl_edl.client.reconciler_settings import deciding
from kubectl_edl.dashboard.cluster_reader import DashboardSnapshot
from kubectl_edl.dashboard.page_state import job_row
from kubectl_edl.events.view import events_table
from kubectl_edl.explain.explained_job import ExplainedJob, blocker_lists, other_blockers
from kubectl_edl.explain.read_explanation import ExplanationInput, published_view, read_explanation
from kubectl_edl.explain.role_sizes import sizes_table
from kubectl_edl.explain.view import administrator_facts, domains_table, explanation_facts
from kubectl_edl.history.view import operations_table
from kubectl_edl.job_views.blocker_facts import BlockerList
from kubectl_edl.job_views.published_queue import PublishedView, ranked
from kubectl_edl.job_views.role_history import past
from kubectl_edl.job_views.training_job_view import pod_status
from kubectl_edl.output.age import age
from kubectl_edl.output.safe_text import harmless
from kubectl_edl.output.table import Column, Table

MAX_ROWS: Final = 200
MAX_PODS_WITH_EVENTS: Final = 10
_IN_HEADING: Final = frozenset({"Name", "Namespace", "Phase"})
_FRESH: Final = 2.0
"""Seconds for which an answer is kept."""
_REST: Final = 4
"""An answer is kept for this multiple of the time that it took, if that is longer."""
_PATIENCE: Final = 10.0


@dataclass(slots=True)
class JobPages:
    """Computes one page at a time, and keeps it for a moment: the work is that of one browser."""

    cli: CliContext
    connection: ClusterConnection
    snapshot: Callable[[], DashboardSnapshot | None]
    monotonic: Callable[[], float] = time.monotonic
    patience: float = _PATIENCE
    _lock: Lock = field(default_factory=Lock)
    _answers: dict[JobKey, tuple[float, Json]] = field(default_factory=dict)
    """Each page, and the time until which it is kept."""

    def check(self, key: JobKey) -> None:
        """Raises Missing if the job is known not to exist, or is in a namespace not shown here."""
        if snapshot := self.snapshot():
            self._job(snapshot, key)

    def read(self, key: JobKey) -> Json:
        """Raises Refused, Missing, ClusterError."""
        snapshot = self.snapshot()
        if snapshot is None:
            raise Refused("the cluster has not been read yet; try again in a moment")
        job = self._job(snapshot, key)
        if page := self._kept(key):
            return page
        if not self._lock.acquire(timeout=self.patience):
            raise Refused("pages of other jobs are being computed; try again in a moment")
        try:
            return self._kept(key) or self._computed(snapshot, job)
        finally:
            self._lock.release()

    def _kept(self, key: JobKey) -> Json | None:
        until, body = self._answers.get(key, (0.0, None))
        return body if self.monotonic() < until else None

    def _computed(self, snapshot: DashboardSnapshot, job: TrainingJob) -> Json:
        begun, body = self.monotonic(), self._read(snapshot, job)
        now = self.monotonic()
        fresh = {key: answer for key, answer in self._answers.items() if now < answer[0]}
        self._answers = fresh | {job.key: (now + max(_FRESH, _REST * (now - begun)), body)}
        return body

    def _job(self, snapshot: DashboardSnapshot, key: JobKey) -> TrainingJob:
        job = job_of(snapshot.jobs, key)
        if job:
            return job
        shown = self.connection.namespace
        other = "" if shown in ("", key.namespace) else f"; only namespace {shown} is shown here"
        raise Missing(
            f'no training job "{harmless(key.name)}" in namespace {harmless(key.namespace)}{other}'
        )

    def _read(self, snapshot: DashboardSnapshot, job: TrainingJob) -> Json:
        cluster, now = self.connection.cluster, self.cli.now()
        by = snapshot.deciding or deciding(self.connection, now)
        published, source = None, Hints()
        if snapshot.state is None:
            job, published, source = self._in_namespace(job, now)
        pods, no_pods = read_if_allowed(lambda: pods_of(cluster, job), "why pods wait is missing")
        given = ExplanationInput(job, job.role_names, pods, by, snapshot.state, published, now)
        explained, hints = read_explanation(self.cli, self.connection, given)
        why = {pod.name: pod.why for pod in explained.waiting_pods}
        why |= {pod.name: pod.why for pod in failed_pods(pods)}
        about = list(why)[:MAX_PODS_WITH_EVENTS]
        events, no_events = read_if_allowed(
            lambda: events_about(cluster, job, about), "Events are missing"
        )
        page = _page(_JobFacts(explained, why, dict(map(_restarts, pods)), events, now))
        every_hint = dict.fromkeys((*snapshot.hints, *source, *no_pods, *hints, *no_events))
        return page | {"hints": [hint.removeprefix("hint: ") for hint in every_hint]}

    def _in_namespace(
        self, job: TrainingJob, now: datetime
    ) -> tuple[TrainingJob, PublishedView | None, Hints]:
        """The job with the effects of its namespace's quotas, and what is published about it."""
        published, hints = published_view(self.connection, job, now)
        there = replace(self.connection, namespace=job.key.namespace)
        survey = ranked(read_survey(there, now, Reads.QUOTAS), published)
        return job_of(survey.jobs, job.key) or job, published, (*hints, *survey.hints)


class _JobFacts(NamedTuple):
    """`why` has the reasons of pods that wait or failed, by name; `restarts` those of all pods."""

    explained: ExplainedJob
    why: Mapping[str, str]
    restarts: Mapping[str, int]
    events: Sequence[EventFacts]
    now: datetime


def _page(given: _JobFacts) -> Json:
    explained, now = given.explained, given.now
    job = explained.view.job
    facts = {"Framework": job.framework} | explanation_facts(explained, now)
    facts |= administrator_facts(explained)
    return {
        "namespace": job.key.namespace,
        "name": job.key.name,
        "phase": explained.view.phase.value,
        "chart": _chart(job) if job.roles else None,
        "facts": [
            [label, harmless(text)]
            for label, text in facts.items()
            if text and label not in _IN_HEADING
        ],
        "sizes": _table(sizes_table(explained)),
        "domains": _table(domains_table(explained)),
        "blockers": list(_blockers(explained)),
        "pods": _table(_pods_table(given)),
        "events": _table(events_table(given.events[::-1], now, job.key.namespace)),
        "history": _table(operations_table(past(job)[::-1], now)),
        "command": f"kubectl edl events {explained.view.argument}",
    }


def _chart(job: TrainingJob) -> Json:
    row = job_row(job)
    return {name: row[name] for name in ("role", "max", "line", "ended")}


def _table(table: Table) -> Json:
    narrow = table.narrow()
    shown = narrow.only(range(min(MAX_ROWS, len(narrow.items))))
    return {
        "columns": [column.title.capitalize() for column in narrow.columns],
        "rows": [[harmless(cell) for cell in row] for row in shown.rows],
        "more": len(narrow.items) - len(shown.items),
    }


def _blockers(explained: ExplainedJob) -> Iterator[Json]:
    for section in (*blocker_lists(explained), BlockerList.of_job(other_blockers(explained))):
        if section.lines:
            yield {
                "title": harmless(section.title).removesuffix(":"),
                "remedy": section.remedy,
                "lines": [[harmless(what), harmless(helps)] for what, helps in section.lines],
                "note": section.note,
            }


class _PodRow(NamedTuple):
    role: str
    pod: Pod


def _pods_table(given: _JobFacts) -> Table:
    """Pods that are neither ready nor done come first."""
    rows = [
        _PodRow(role.name, pod)
        for role in given.explained.view.job.roles
        for pod in sorted(role.status.pods, key=lambda pod: (pod.index, pod.created_at, pod.name))
    ]
    columns: tuple[Column[_PodRow], ...] = (
        Column("POD", lambda row: row.pod.name),
        Column("ROLE", lambda row: row.role),
        Column("NODE", lambda row: row.pod.node),
        Column("STATUS", lambda row: pod_status(row.pod)),
        Column("READY", lambda row: "yes" if row.pod.ready else "no"),
        Column("RESTARTS", lambda row: str(given.restarts.get(row.pod.name, "unknown"))),
        Column("AGE", lambda row: age(row.pod.created_at, given.now)),
        Column("WHY", lambda row: given.why.get(row.pod.name, "")),
    )
    return Table.of(columns, sorted(rows, key=_goes_well))


def _goes_well(row: _PodRow) -> bool:
    return row.pod.ready or row.pod.phase is PodPhase.SUCCEEDED


def _restarts(pod: Json) -> tuple[str, int]:
    """Restarts of all of a pod's containers, init containers included."""
    status = pod.get("status") or {}
    containers = (status.get("initContainerStatuses") or (), status.get("containerStatuses") or ())
    return pod["metadata"]["name"], sum(one.get("restartCount") or 0 for one in chain(*containers))
