"""Explains one training job, for `kubectl edl explain` and for its page of the dashboard."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from edl.domain_counts import labels_of, running
from edl.forecast.estimate import Certainty, Estimate
from edl.forecast.forecast import forecast
from edl.job_state.phases import waits_to_start
from edl.job_state.requested_nodes import nodes_due
from edl.kube.cluster import PluginCluster
from edl.messages import lasting
from edl.model import ClusterState, TrainingJob, job_of
from edl.model.causes.blockers import OF_WORK, AtBound
from edl.planner.explain.explanation import Explanation, RoleExplanation
from edl.planner.explain.explanation import explain as explain_job
from edl.planner.explain.what_if_state import DecisionInput
from edl.visibility.borrowed_capacity import job_capacity
from edl.visibility.team_figures import team_figures
from edl.writes import Json
from kubectl_edl.cli.context import CliContext, ClusterConnection
from kubectl_edl.cli.interaction import time_limit
from kubectl_edl.client.autoscaler_messages import with_autoscaler_message
from kubectl_edl.client.failed_pods import failed_pods
from kubectl_edl.client.optional_reads import Hints
from kubectl_edl.client.pending_pods import waiting_pods
from kubectl_edl.client.reconciler_settings import EffectiveSettings, unattended
from kubectl_edl.explain.explained_job import DecidedFacts, ExplainedJob, PublishedFacts
from kubectl_edl.job_views.blocker_facts import BlockerFacts, JobBlocker
from kubectl_edl.job_views.creation_failures import creation_failures
from kubectl_edl.job_views.node_blockers import node_blockers
from kubectl_edl.job_views.pod_blockers import failures, lacks_nodes, unprocessed
from kubectl_edl.job_views.published_queue import PublishedView, estimate_of, read_published
from kubectl_edl.job_views.role_history import past
from kubectl_edl.job_views.training_job_view import JobView, view

_PAST: Final = 5
_NO_GROWTH: Final = Estimate(Certainty.UNKNOWN, reason="pods that it lacks cannot be created")
"""The estimate of a scale-up of a job that lacks pods which the API server refuses."""
_NO_MINIMUM: Final = Estimate(Certainty.UNKNOWN, reason="pods of its minimum have no node")
"""The estimate of a scale-up of a job that first needs room for its minimum."""
_NO_MORE: Final = Estimate(Certainty.NEVER)
"""The estimate of a scale-up of a role whose work items all have pods, or whose queue ends."""


@dataclass(frozen=True, slots=True)
class ExplanationInput:
    """One training job, its pods, the roles to show, and what the user may read of the cluster.

    `state` is None without rights to read the whole cluster.
    """

    job: TrainingJob
    roles: tuple[str, ...]
    pods: Sequence[Json]
    by: EffectiveSettings
    state: ClusterState | None
    published: PublishedView | None
    now: datetime


def read_explanation(
    cli: CliContext, connection: ClusterConnection, given: ExplanationInput
) -> tuple[ExplainedJob, Hints]:
    job, now = given.job, given.now
    shown = view(job, connection.scope)
    uncreated, hints = creation_failures(connection.cluster, [shown], now)
    refused = uncreated.get(job.key, ())
    waiting = waiting_pods(connection.cluster, job.key.namespace, given.pods)
    facts = BlockerFacts(shown, now, waiting=waiting, failed=failed_pods(given.pods))
    decided, estimate = _decided(cli, connection.cluster, given)
    published = _published(given)
    if published.entry and given.published:
        estimate = estimate_of(published.entry, given.published)
    if estimate and not waits_to_start(job) and (refused or lacks_nodes(facts)):
        estimate = _NO_GROWTH if refused else _NO_MINIMUM
    explained = ExplainedJob(
        view=shown.planned(decided.explanation.plan) if decided.explanation else shown,
        roles=given.roles,
        deciding=given.by,
        waiting_pods=waiting,
        past=past(job)[-_PAST:],
        uncreated=(
            *refused,
            *unprocessed(facts),
            *failures(facts),
            *_node_blockers(shown, given, decided.explanation),
        ),
        team=_team(given),
        estimate=estimate,
        decided=decided,
        published=published,
    )
    return explained, hints


def published_view(
    connection: ClusterConnection, job: TrainingJob, now: datetime
) -> tuple[PublishedView | None, Hints]:
    """The reconciler's published queue of the namespace.

    A job that does not wait takes only its team from there, which needs no hints.
    """
    published, hints = read_published(connection, now, job.key.namespace)
    if not waits_to_start(job):
        return published, ()
    return published, (published.hint, *hints) if published else hints


def _team(given: ExplanationInput) -> str:
    if given.state:
        return given.state.team_of(given.job.key.namespace)
    return given.published.queue.team if given.published else ""


def _published(given: ExplanationInput) -> PublishedFacts:
    """What the reconciler published about the job; nothing if it does not wait."""
    published, job = given.published, given.job
    if published is None or not waits_to_start(job):
        return PublishedFacts()
    return PublishedFacts(published.job(job.key), published.as_of)


def _decided(
    cli: CliContext, cluster: PluginCluster, given: ExplanationInput
) -> tuple[DecidedFacts, Estimate | None]:
    """What takes the right to read the whole cluster."""
    state, job = given.state, given.job
    if state is None:
        return DecidedFacts(), None
    state = with_autoscaler_message(cluster, state, job.key)
    explanation, estimate = _explanation(cli, given.by, state, job)
    # The same job, with data of its devices.
    detailed, team = job_of(state.jobs, job.key), _team(given)
    limit = given.by.provisioning_timeout
    decided = DecidedFacts(
        explanation=explanation,
        caveats=tuple(
            (role.name, caveat)
            for role in (detailed.live if detailed else ())
            for caveat in role.template.caveats
        ),
        domains=running(job, labels_of(state.nodes)),
        figures=next((row for row in team_figures(state, ()) if row.team.name == team), None),
        capacity=job_capacity(state, detailed) if detailed else None,
        nodes_due=nodes_due(detailed.provisioning, limit) if detailed and limit else None,
    )
    return decided, estimate


def _node_blockers(
    shown: JobView, given: ExplanationInput, explanation: Explanation | None
) -> Iterator[JobBlocker]:
    state = given.state
    if state is None:
        return node_blockers(shown, (), (), given.now)
    staying = explanation.plan.staying if explanation else ()
    return node_blockers(shown, state.nodes, staying, state.observed_at)


def _is_out_of_work(role: RoleExplanation) -> bool:
    blockers = role.blockers.found if role.blockers else ()
    return any(isinstance(blocker, AtBound) and blocker.bound in OF_WORK for blocker in blockers)


def _explanation(
    cli: CliContext, by: EffectiveSettings, state: ClusterState, job: TrainingJob
) -> tuple[Explanation | None, Estimate | None]:
    settings = by.settings
    situation = DecisionInput(state, settings.policy_to_apply(), settings.limits)
    explanation = explain_job(situation, job.key)
    if explanation is None:
        return None, None
    if by.stalled:
        shown = explanation if by.source == "flags" else explanation.unplanned()
        return shown, unattended(by) if explanation.may_gain else None
    if not explanation.may_gain:
        return explanation, _NO_MORE if any(map(_is_out_of_work, explanation.roles)) else None
    if explanation.plan.unplaced(job.key):
        return explanation, _NO_MINIMUM
    if not waits_to_start(job) and (lacks := explanation.plan.without_nodes(job.key)):
        return explanation, Estimate(Certainty.UNKNOWN, reason=lasting(lacks))
    estimates = forecast(state, settings, [job.key], time_limit(cli), explanation.plan)
    return explanation, estimates.starts.get(job.key) or estimates.grows.get(job.key)
