"""One training job in detail: its pods, its last changes and its blockers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from edl import contract
from edl.contract.manifest_parts import labels
from edl.domain_counts import DomainCounts, labels_of, running
from edl.errors import Denied, Forbidden
from edl.job_state.phases import waits_to_start
from edl.kube.cache.team_source import last_applied
from edl.kube.cluster import ListOptions, PluginCluster, find, server_time
from edl.kube.decode.object_facts import node
from edl.model import ClusterState, Code, Node, ObjectRef, TrainingJob
from edl.model.causes.blockers import QuotaExceeded
from edl.model.causes.reason_codes import code_of
from edl.parsing.team_config_map import teams_of
from edl.planner.plan import StayingPods
from edl.planner.published_settings import Settings
from edl.visibility.namespace_queue import PublishedBlockers, PublishedJob
from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.client.autoscaler_messages import with_autoscaler_message
from kubectl_edl.client.cluster_view import Survey, survey_cluster
from kubectl_edl.client.event_reader import jobs_of, last_changes
from kubectl_edl.client.failed_pods import failed_pods
from kubectl_edl.client.job_lookup import training_job
from kubectl_edl.client.optional_reads import Hints, read_if_allowed
from kubectl_edl.client.pending_pods import pods_of, waiting_pods
from kubectl_edl.client.reconciler_lease import LeaseView
from kubectl_edl.client.reconciler_settings import deciding
from kubectl_edl.job_views.blocker_facts import BlockerFacts, JobBlocker
from kubectl_edl.job_views.creation_failures import uncreated_pods
from kubectl_edl.job_views.job_blockers import job_blockers, left_out
from kubectl_edl.job_views.node_blockers import node_blockers
from kubectl_edl.job_views.published_queue import (
    PublishedView,
    ahead_text,
    estimate_of,
    place_text,
    read_published,
)
from kubectl_edl.job_views.resize_limits import pace, published
from kubectl_edl.job_views.start_estimates import starts
from kubectl_edl.job_views.training_job_view import JobView, view
from kubectl_edl.output.age import duration
from kubectl_edl.output.report import Report
from kubectl_edl.status.detail_view import Detail, detail_report

_CHANGES_SHOWN: Final = 10
_MAX_PLANNED_NODES: Final = 1000
"""The most nodes of a cluster that is read and planned whole for one job: about a second."""
_SHORT: Final = 100
"""The most characters of a published remedy that fits beside a command."""


def job_detail(
    name: str, survey: Survey, connection: ClusterConnection, now: datetime, lead: LeaseView
) -> tuple[JobView, Report]:
    """The view and the report of this training job. Raises errors of `job_lookup.training_job`."""
    job = training_job(name, survey, connection)
    changes, no_changes = read_if_allowed(
        lambda: last_changes(connection.cluster, job.key.namespace, jobs_of([job]), _CHANGES_SHOWN),
        "the last changes are missing",
    )
    listed, _ = read_if_allowed(lambda: pods_of(connection.cluster, job), "")
    pods = waiting_pods(connection.cluster, job.key.namespace, listed)
    failed = failed_pods(listed)
    shown = _with_plan(view(job, connection.scope), connection, now)
    queue, team = _queue_and_team(job, connection, now, lead)
    # Only a job that waits is published, and the document may be older than its start.
    published_job = queue.job(job.key) if queue and waits_to_start(job) else None
    start = _published_start(published_job, shown) or _never_starts(shown, connection, now)
    nodes, no_nodes = _nodes(shown, connection)
    staying, no_plan = _staying(shown, nodes, connection, now)
    doctor = f"kubectl edl doctor{connection.scope.edl_flags}"
    refused = tuple(uncreated_pods(shown, changes, now))
    facts = BlockerFacts(shown, now, doctor, refused, pods, failed, nodes, lead)
    stuck = (
        *_explained(shown, _with_left_out(facts), start),
        *node_blockers(shown, nodes, staying, now),
    )
    why = {pod.name: pod.why for pod in pods} | {pod.name: pod.why for pod in failed}
    detail = Detail(
        shown,
        changes,
        stuck,
        why,
        pace(job, published(lead.settings)),
        _domains(job, nodes),
        _aged(_place(published_job, queue, now) if published_job and queue else "", queue),
        team,
    )
    return shown, detail_report(detail, now).with_hints((*no_changes, *no_nodes, *no_plan))


def _published_start(job: PublishedJob | None, shown: JobView) -> PublishedBlockers | None:
    """The published blockers, unless the Jobs give another reason: theirs is not that remedy."""
    return job.start if job and code_of(job.reason) is shown.why.reason else None


def _queue_and_team(
    job: TrainingJob, connection: ClusterConnection, now: datetime, lead: LeaseView
) -> tuple[PublishedView | None, str]:
    """The published queue unless the job needs nothing of it, and the team."""
    namespace = job.key.namespace
    live = None if waits_to_start(job) else _live_team(namespace, connection.cluster)
    if live is not None:
        return None, live
    queue, _ = read_published(connection, now, namespace, lead)
    return queue, _aged(queue.queue.team if queue else "", queue)


def _aged(text: str, queue: PublishedView | None) -> str:
    return f"{text} (as of {duration(queue.ago)} ago)" if queue and text else ""


def _live_team(namespace: str, cluster: PluginCluster) -> str | None:
    """The team of a namespace, empty without teams; None if that may not be read."""
    document = ObjectRef("ConfigMap", cluster.system_namespace, contract.TEAMS_CONFIG_MAP)
    try:
        config_map = find(cluster, document) or {}
        try:
            teams = teams_of(config_map.get("data") or {})
        except Denied:
            teams = last_applied(cluster).teams
        target = ObjectRef("Namespace", "", namespace)
        space = find(cluster, target) if any(team.selector for team in teams) else None
    except Forbidden:
        return None
    return teams.team_of(namespace, labels(space or {}))


def _with_left_out(facts: BlockerFacts) -> Iterable[JobBlocker]:
    """The blockers; first the Job of a role that it lacks, as that is left out."""
    blockers, more = tuple(job_blockers(facts)), tuple(left_out(facts.view))
    return (*blockers, *more) if facts.job.missing == facts.job.absent else (*more, *blockers)


def _explained(
    shown: JobView, observed: Iterable[JobBlocker], start: PublishedBlockers | None
) -> Iterator[JobBlocker]:
    """The blockers. Where the remedy is the command `explain`, the remedy of `start` precedes it.

    Only a single and short one does; for a job that never fits, also the first of several. An
    exceeded quota has its published usage, or the command that shows it.
    """
    helps = [blocker.remediation for blocker in start.blockers] if start and start.complete else []
    if shown.why.reason is Code.NEVER_FITS:
        helps = helps[:1]  # whatever would follow, it is needed
    blockers = start.blockers if start else ()
    usage = "; ".join(one.message for one in blockers if one.type == QuotaExceeded.__name__)
    for blocker in observed:
        by_quota = blocker.explained and shown.why.reason is Code.QUOTA_EXCEEDED
        what = usage if by_quota and usage else blocker.what
        if by_quota and not usage:
            yield replace(blocker, remedy=f"{blocker.remedy} shows what is used")
        elif blocker.explained and len(helps) == 1 and 0 < len(helps[0]) <= _SHORT:
            yield replace(blocker, what=what, remedy=f"{helps[0]}; see {blocker.remedy}")
        else:
            yield replace(blocker, what=what)


def _never_starts(
    shown: JobView, connection: ClusterConnection, now: datetime
) -> PublishedBlockers | None:
    """Why a queued job never starts, if that is not published; None if it may, or unknown."""
    if shown.why.reason is not Code.NEVER_FITS or not waits_to_start(shown.job):
        return None
    from edl.planner.explain.blocker_search import find_start_blockers
    from edl.planner.explain.what_if_state import DecisionInput
    from edl.visibility.queue_documents import published_blockers

    settings = deciding(connection, now).settings
    if (state := _plannable(connection, now, settings)) is None:
        return None
    given = DecisionInput(state, settings.policy_to_apply(), settings.limits)
    search = find_start_blockers(given, given.run_passes(), shown.job.key)
    return published_blockers(search, lambda blocker: blocker) if search else None


def _with_plan(shown: JobView, connection: ClusterConnection, now: datetime) -> JobView:
    """The view; if a started job lacks pods of its minimum or their nodes, with what these lack."""
    lacks = shown.why.reason in (Code.INSUFFICIENT_CAPACITY, Code.BELOW_MIN)
    if not lacks or waits_to_start(shown.job):
        return shown
    from edl.planner.decide import decide

    settings = deciding(connection, now).settings
    if (state := _plannable(connection, now, settings)) is None:
        return shown
    state = with_autoscaler_message(connection.cluster, state, shown.job.key)
    return shown.planned(decide(state, settings.policy_to_apply(), settings.limits))


def _plannable(
    connection: ClusterConnection, now: datetime, settings: Settings
) -> ClusterState | None:
    """The cluster; None if the user may not read it, or if it is too large to plan for a view."""
    try:
        state, _ = survey_cluster(connection.cluster, now, settings)
    except Forbidden:
        return None
    return state if len(state.nodes) <= _MAX_PLANNED_NODES else None


def _place(job: PublishedJob, queue: PublishedView, now: datetime) -> str:
    """The published queue position and start; empty if neither is published."""
    estimate = estimate_of(job, queue)
    begins = starts(estimate, now) if estimate else ""
    return "; ".join(filter(None, (place_text(job.position, ahead_text(job.ahead)), begins)))


def _nodes(shown: JobView, connection: ClusterConnection) -> tuple[Sequence[Node], Hints]:
    """All nodes if the job runs on any; none if they may not be read."""
    wanted = shown.job.topology
    if not (wanted or shown.nodes):
        return (), ()
    nodes, hints = read_if_allowed(
        lambda: [node(raw) for raw in connection.cluster.list(ListOptions("Node")).items],
        "the domains of its topology are missing",
    )
    return nodes, hints if wanted else ()


def _staying(
    shown: JobView, nodes: Sequence[Node], connection: ClusterConnection, now: datetime
) -> tuple[Sequence[StayingPods], Hints]:
    """Pods that stay on cordoned nodes. A plan is made only if it decides whether they do."""
    if all(node.schedulable for node in nodes if node.name in shown.nodes):
        return (), ()
    from edl.planner.passes.staying_pods import Cordons, staying_anyway
    from edl.planner.snapshot.decision_clock import DecisionClock

    settings = deciding(connection, now).settings
    clock = DecisionClock(server_time(connection.cluster, now))
    cordons = Cordons.of(nodes, settings.limits.drain_patience, clock)
    staying, complete = staying_anyway(shown.job, cordons)
    if complete:
        return staying, ()
    if len(nodes) > _MAX_PLANNED_NODES:
        hint = (
            "hint: whether its pods can leave cordoned nodes takes a plan of all "
            f"{len(nodes)} nodes: kubectl edl doctor{connection.scope.edl_flags}"
        )
        return staying, (hint,)
    from edl.planner.decide import decide

    try:
        state, _ = survey_cluster(connection.cluster, now, settings)
    except Forbidden:
        return staying, ()
    return decide(state, settings.policy_to_apply(), settings.limits).staying, ()


def _domains(job: TrainingJob, nodes: Sequence[Node]) -> tuple[DomainCounts, ...] | None:
    """The pods' topology domains, if the job has a topology; None if nodes may not be read."""
    if not job.topology:
        return ()
    return running(job, labels_of(nodes)) if nodes else None
