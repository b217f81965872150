"""`kubectl edl explain`."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

import click

from edl.domain_counts import labels_of, running
from edl.errors import Forbidden
from edl.model import ClusterState, TrainingJob
from edl.phases import waits
from kubectl_edl.cli.completion_candidates import job_names
from kubectl_edl.cli.context import CliContext, ClusterConnection, Scope
from kubectl_edl.cli.interaction import time_limit
from kubectl_edl.cli.options import OutputOptions, one_namespace, printing
from kubectl_edl.cli.watch_report import show
from kubectl_edl.client import reconciler_lease
from kubectl_edl.client.cluster_view import allowed, survey_cluster, survey_ruled
from kubectl_edl.client.failed_pods import failed_pods
from kubectl_edl.client.job_lookup import named_role, training_job
from kubectl_edl.client.pending_pods import waiting_pods
from kubectl_edl.client.reconciler_settings import (
    EffectiveSettings,
    SettingsOverrides,
    asking,
    deciding,
    unattended,
)
from kubectl_edl.model.creation_failures import JobBlocker, creation_failures
from kubectl_edl.model.published_queue import PublishedView, estimate_of, ranked, read_published
from kubectl_edl.model.role_history import past
from kubectl_edl.model.training_job_view import JobView, view
from kubectl_edl.output.report import Report
from kubectl_edl.status.job_blockers import failure_blockers

if TYPE_CHECKING:
    from edl.forecast.estimate import Estimate
    from edl.planner.explain.explanation import Explanation
    from kubectl_edl.explain.explained_job import Explained

_PAST: Final = 5
_HELP: Final = """Explain one training job: its size, why it gets no more, and what would change it.

With the name of one of its Jobs, only that role is explained. NEXT is the size after the next step
of the reconciler; if no reconciler is running, it equals NOW. Each explanation is verified: the
decision is repeated without the named blockers, and the job then gets more. If more blockers may
follow, it says so.

With teams, GUARANTEED is the part of its running pods that its team's guarantee covers; BORROWED is
the rest, with the teams that it is borrowed from.

Estimates of a start or a scale-up come from the progress of other jobs, completed work items and
declared durations (annotation edl.dev/duration: 2h30m).

\b
Examples:
  # Explain why a job waits, or is not scaled up
  kubectl edl explain mnist
  # Explain one of its roles
  kubectl edl explain mnist-worker
  # Show the effect of another policy and load ceiling
  kubectl edl explain mnist --policy fifo --load-ceiling 1
  # Print the topology domains of its pods, or the nearest ones
  kubectl edl explain mnist -o json | jq .topology
  # Print the teams that it borrows from
  kubectl edl explain mnist -o json | jq .teamCapacity.borrowed
  # Print the missing resources
  kubectl edl explain mnist -o json | jq '.start.blockers[].missing // empty'

-o json prints a TrainingJobExplanation; its fields: docs/reference/outputs.md, its
reason codes: docs/reference/reason-codes.md
"""


@click.command("explain", help=_HELP)
@click.argument("job", shell_complete=job_names)
@asking
@one_namespace
@printing
@click.pass_obj
def explain(
    cli: CliContext, job: str, scope: Scope, asked: SettingsOverrides, reading: OutputOptions
) -> None:
    connection = cli.connect(scope)
    show(cli, reading, lambda: _report(cli, connection, job, asked))


def _report(
    cli: CliContext, connection: ClusterConnection, name: str, asked: SettingsOverrides
) -> Report:
    from kubectl_edl.explain.explained_job import Explained
    from kubectl_edl.explain.view import explain_report

    now = cli.now()
    survey = survey_ruled(connection, now)
    job = training_job(name, survey, connection)
    by = deciding(connection, asked, now)
    hints: list[str] = []
    jobs = {role.job for role in job.roles}
    pods = allowed(
        lambda: waiting_pods(connection.cluster, job.key.namespace, jobs),
        "pods that wait are missing",
        hints,
    )
    state, more = _cluster(cli, connection)
    published = None if state else _published(connection, job, now, more)
    survey = ranked(survey, published)
    named, shown = named_role(name, job), view(job, connection.scope)
    refused = creation_failures(connection.cluster, [shown], now, hints).get(job.key, ())
    explained = Explained(
        view=shown,
        roles=(named,) if named else tuple(role.name for role in job.roles),
        deciding=by,
        waiting_pods=tuple(pods),
        past=past(job)[-_PAST:],
        uncreated=(*refused, *_failures(connection, shown, now)),
    )
    if state:
        explained = _with_cluster(cli, explained, state)
    if published:
        explained = _as_published(explained, published, job)
    if refused and explained.estimate and not waits(job):
        explained = replace(explained, estimate=_no_growth())
    leader_hints = by.hints if state else reconciler_lease.unattended(connection, now)
    every_hint = (*survey.hints, *leader_hints, *hints, *more)
    return explain_report(explained, now).with_hints(dict.fromkeys(every_hint))


def _no_growth() -> "Estimate":
    """The estimate of a scale-up of a job that lacks pods which the API server refuses."""
    from edl.forecast.estimate import Certainty, Estimate

    return Estimate(Certainty.UNKNOWN, reason="pods that it lacks cannot be created")


def _failures(connection: ClusterConnection, shown: JobView, now: datetime) -> Iterator[JobBlocker]:
    """Why pods failed; pods that may not be listed are hinted at elsewhere."""
    failed = allowed(lambda: failed_pods(connection.cluster, shown.job), "", [])
    return failure_blockers(shown, failed, now)


def _as_published(
    explained: "Explained", published: PublishedView, job: TrainingJob
) -> "Explained":
    """Add what the reconciler published about the job."""
    explained = replace(explained, as_of=published.as_of, team=published.queue.team)
    found = published.job(job.key)
    return replace(explained, published=found, estimate=estimate_of(found)) if found else explained


def _with_cluster(cli: CliContext, explained: "Explained", state: ClusterState) -> "Explained":
    """Add what takes the right to read the whole cluster."""
    from edl.visibility.borrowed_capacity import job_capacity
    from edl.visibility.team_figures import team_figures

    job, team = explained.view.job, state.team_of(explained.view.job.key.namespace)
    explanation, estimate = _explanation(cli, explained.deciding, state, job)
    # The same job, with data of its devices.
    found = next((one for one in state.jobs if one.key == job.key), None)
    return replace(
        explained,
        explanation=explanation,
        estimate=estimate,
        caveats=tuple(
            (role.name, caveat)
            for role in (found.live if found else ())
            for caveat in role.template.caveats
        ),
        domains=running(job, labels_of(state.nodes)),
        team=team,
        figures=next((one for one in team_figures(state, ()) if one.team.name == team), None),
        capacity=job_capacity(state, found) if found else None,
    )


def _cluster(
    cli: CliContext, connection: ClusterConnection
) -> tuple[ClusterState | None, list[str]]:
    hints: list[str] = []
    try:
        return survey_cluster(connection.cluster, cli.now(), hints), hints
    except Forbidden as error:
        return None, [f"hint: what is in its way needs the whole cluster: {error}"]


def _published(
    connection: ClusterConnection, job: TrainingJob, now: datetime, hints: list[str]
) -> PublishedView | None:
    """The reconciler's published queue of the namespace, if the job waits."""
    if not waits(job):
        return None
    found = read_published(connection, now, hints, job.key.namespace)
    if found:
        hints.insert(0, found.hint)
    return found


def _explanation(
    cli: CliContext, by: EffectiveSettings, state: ClusterState, job: TrainingJob
) -> tuple["Explanation | None", "Estimate | None"]:
    from edl.forecast.forecast import forecast
    from edl.planner.explain.explanation import explain as explain_job
    from edl.planner.explain.what_if_state import DecisionInput

    settings = by.settings
    situation = DecisionInput(state, settings.value(), settings.limits)
    explanation = explain_job(situation, job.key)
    if explanation is None:
        return None, None
    if by.stalled:
        shown = explanation if by.source == "flags" else explanation.unplanned()
        return shown, unattended(by) if explanation.may_gain else None
    if not explanation.may_gain:
        return explanation, None
    found = forecast(state, settings, [job.key], time_limit(cli))
    return explanation, found.starts.get(job.key) or found.grows.get(job.key)
