"""`kubectl edl explain`."""

from typing import Final

import click

from edl.errors import Forbidden
from edl.model import ClusterState
from edl.planner.published_settings import Settings
from kubectl_edl.cli.command_errors import EXIT_CODES_NAMED_HELP
from kubectl_edl.cli.completion_candidates import job_names
from kubectl_edl.cli.context import CliContext, ClusterConnection, Scope
from kubectl_edl.cli.options import OutputOptions, namespace_options, print_options
from kubectl_edl.cli.watch_report import show
from kubectl_edl.client import reconciler_lease
from kubectl_edl.client.cluster_view import Reads, read_survey, survey_cluster
from kubectl_edl.client.job_lookup import named_role, training_job
from kubectl_edl.client.optional_reads import Hints, read_if_allowed
from kubectl_edl.client.pending_pods import pods_of
from kubectl_edl.client.reconciler_settings import SettingsOverrides, deciding, settings_options
from kubectl_edl.job_views.published_queue import ranked
from kubectl_edl.output.report import Report

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


@click.command("explain", help=_HELP, epilog=EXIT_CODES_NAMED_HELP)
@click.argument("job", shell_complete=job_names)
@settings_options
@namespace_options
@print_options
@click.pass_obj
def explain(
    cli: CliContext, job: str, scope: Scope, asked: SettingsOverrides, output: OutputOptions
) -> None:
    connection = cli.connect(scope)
    show(cli, output, lambda: _report(cli, connection, job, asked))


def _report(
    cli: CliContext, connection: ClusterConnection, name: str, asked: SettingsOverrides
) -> Report:
    from kubectl_edl.explain.read_explanation import (
        ExplanationInput,
        published_view,
        read_explanation,
    )
    from kubectl_edl.explain.view import explain_report

    now = cli.now()
    survey = read_survey(connection, now, Reads.QUOTAS)
    job = training_job(name, survey, connection)
    by = deciding(connection, now, asked)
    pods, no_pods = read_if_allowed(
        lambda: pods_of(connection.cluster, job), "pods that wait are missing"
    )
    state, no_state = _cluster(cli, connection, by.settings)
    published, source = (None, ()) if state else published_view(connection, job, now)
    named = named_role(name, job)
    roles = (named,) if named else job.role_names
    given = ExplanationInput(job, roles, pods, by, state, published, now)
    explained, hints = read_explanation(cli, connection, given)
    leader_hints = by.hints if state else reconciler_lease.unattended(connection, now)
    from_survey = ranked(survey, published).hints
    every_hint = (*from_survey, *leader_hints, *no_pods, *hints, *source, *no_state)
    return explain_report(explained, now).with_hints(dict.fromkeys(every_hint))


def _cluster(
    cli: CliContext, connection: ClusterConnection, settings: Settings
) -> tuple[ClusterState | None, Hints]:
    try:
        return survey_cluster(connection.cluster, cli.now(), settings)
    except Forbidden as error:
        return None, (f"hint: what is in its way needs the whole cluster: {error}",)
