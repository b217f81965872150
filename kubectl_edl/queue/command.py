"""`kubectl edl queue`."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import click

from edl import contract
from edl.errors import Forbidden
from edl.kube.cluster import ListOptions
from edl.kube.create_failures import refusal
from edl.model import Code
from kubectl_edl.cli.context import CliContext, ClusterConnection, Scope
from kubectl_edl.cli.interaction import time_limit
from kubectl_edl.cli.options import OutputOptions, all_namespaces_options, output_options
from kubectl_edl.cli.watch_report import printed
from kubectl_edl.client.cluster_view import Survey, read_survey, selected, survey_cluster
from kubectl_edl.client.optional_reads import Hints
from kubectl_edl.client.reconciler_settings import EffectiveSettings, deciding, unattended
from kubectl_edl.job_views.creation_failures import creation_failures
from kubectl_edl.job_views.job_reasons import conflict_hints, until_nodes_come
from kubectl_edl.job_views.training_job_view import view
from kubectl_edl.output.report import Report
from kubectl_edl.queue.view import QueuedJob, queue_report

_HELP: Final = """Show queued training jobs: what they wait for, which jobs are ahead, and why.

Positions count over the whole cluster; 0 starts now. A job that can never start on the existing
nodes has no position and blocks no other job; while no reconciler leads, a job that would start has
none either. WAITING-FOR is what the pods request with which the job starts, those of the minimum or
manual size of all roles; -o wide adds their numbers, the team with the position among its queued
jobs (vision#2), and SHARE: the largest part of the cluster that the team borrows, by its weight.
Between teams that borrow, priority decides, then the smaller share.

STARTS is an estimate: ~25m is in about 25 minutes; <~25m is within 25 minutes, sooner if a job with
an unknown end finishes; unknown depends on such a job (-o json and kubectl edl explain name it), or
on requested nodes; >25m is not before: more was not computed within the time limit; never
means that even empty nodes would not suffice. It is computed from the progress of running jobs,
completed work items and declared durations (annotation edl.dev/duration: 2h30m). Jobs that are
created later may start first and delay it, also beyond <~25m.

Without the right to read the whole cluster you see the queued jobs of the namespace as the
reconciler last published them (ConfigMap edl-queue), with the age of that data; AHEAD then counts
jobs by team (vision+2). If nothing is published, jobs are ordered by priority and arrival.

\b
Examples:
  # List the queued jobs of this namespace
  kubectl edl queue
  # Watch the whole queue
  kubectl edl queue -A -w
  # Add sizes at the start, teams and shares
  kubectl edl queue -A -o wide

-o json prints a QueuedTrainingJobList; its fields: docs/reference/outputs.md
"""


@click.command("queue", help=_HELP, context_settings={"allow_extra_args": True})
@all_namespaces_options
@output_options
@click.pass_context
def queue(ctx: click.Context, scope: Scope, output: OutputOptions) -> None:
    if ctx.args:
        raise click.UsageError(
            f"queue lists all jobs; of one: kubectl edl status {ctx.args[0]}, or kubectl edl "
            f"explain {ctx.args[0]}"
        )
    cli = ctx.ensure_object(CliContext)
    connection = cli.connect(scope)

    def read() -> Report:
        return _report(cli, connection, output.selector)

    selection = ListOptions("Job", labels=contract.FRAMEWORK)
    printed(cli, output, read, connection.cluster, selection)


def _report(cli: CliContext, connection: ClusterConnection, selector: str) -> Report:
    now = cli.now()
    by = deciding(connection, now)
    try:
        whole, hints = _whole_queue(cli, connection, by)
        waiting = _chosen(whole, connection, selector)
    except Forbidden as error:
        survey = read_survey(connection, now, selector=selector)
        waiting, hints = _own_queue(connection, survey, now, error)
    limit = by.provisioning_timeout
    bounded = [replace(one, why=until_nodes_come(one.why, one.job, limit)) for one in waiting]
    shown, unlisted = _with_causes(connection, bounded, now)
    return queue_report(shown, now, connection.namespace).with_hints((*hints, *unlisted))


def _chosen(
    queue: Sequence[QueuedJob], connection: ClusterConnection, selector: str
) -> Sequence[QueuedJob]:
    """Those of the namespace that the selector matches."""
    entries = [entry for entry in queue if connection.namespace in ("", entry.job.key.namespace)]
    keys = {job.key for job in selected([entry.job for entry in entries], connection, selector)}
    return [entry for entry in entries if entry.job.key in keys]


def _with_causes(
    connection: ClusterConnection, queue: Sequence[QueuedJob], now: datetime
) -> tuple[list[QueuedJob], Hints]:
    """The queue; the reason of a job that backs off names what refused its pods."""
    backing_off = [view(entry.job) for entry in queue if entry.why.reason is Code.BACK_OFF]
    failures, hints = creation_failures(connection.cluster, backing_off, now)

    def with_cause(item: QueuedJob) -> QueuedJob:
        causes = [refusal(failure.what) for failure in failures.get(item.job.key, ())[:1]]
        return replace(item, why=item.why._replace(message=": ".join((item.why.message, *causes))))

    return list(map(with_cause, queue)), hints


def _whole_queue(
    cli: CliContext, connection: ClusterConnection, by: EffectiveSettings
) -> tuple[Sequence[QueuedJob], Hints]:
    from edl.planner.decide import decide
    from kubectl_edl.queue.waiting_jobs import in_plan

    settings = by.settings
    state, missing = survey_cluster(connection.cluster, cli.now(), settings)
    named = connection.namespace
    jobs = (job for job in state.jobs if named in ("", job.key.namespace))
    hints = (*by.hints, *missing, *conflict_hints(jobs))
    plan = decide(state, settings.policy_to_apply(), settings.limits)
    waiting = in_plan(state, plan, by.stalled)
    if by.stalled:
        return [replace(entry, estimate=unattended(by)) for entry in waiting], hints
    if not waiting:
        return (), hints
    from edl.forecast.forecast import forecast

    estimates = forecast(state, settings, [one.job.key for one in waiting], time_limit(cli), plan)
    return [replace(one, estimate=estimates.starts.get(one.job.key)) for one in waiting], hints


def _own_queue(
    connection: ClusterConnection, survey: Survey, now: datetime, error: Forbidden
) -> tuple[Sequence[QueuedJob], Hints]:
    from kubectl_edl.queue.waiting_jobs import own_queue

    jobs, published, hints = own_queue(connection, survey, now)
    hints = (*hints, *conflict_hints(survey.jobs))
    if not jobs:  # nothing has a position
        return jobs, hints
    if published is None:
        what = "positions need the whole cluster, so this is the order of arrival"
        return jobs, (*hints, f"hint: {what}: {error}")
    hints = (*hints, f"{published.hint}: {error}")
    if more := published.queue.jobs - len(published.queue.items):
        behind = "1 more job is" if more == 1 else f"{more} more jobs are"
        hints = (*hints, f"hint: {behind} queued behind the published ones")
    return jobs, hints
