from typing import Final

import click

from edl import reasons
from edl.errors import Forbidden
from edl.job_state.phases import ending, waits_to_start
from edl.model import Code, TrainingJob
from edl.planner.plan import WaitingJob
from kubectl_edl.cli.context import CliContext, ClusterConnection, Scope
from kubectl_edl.cli.options import OutputOptions, all_namespaces_options, print_options
from kubectl_edl.cli.watch_report import show
from kubectl_edl.client.cluster_view import read_survey, survey_cluster
from kubectl_edl.client.reconciler_settings import (
    EffectiveSettings,
    SettingsOverrides,
    deciding,
    settings_options,
)
from kubectl_edl.job_views.job_reasons import Why, why
from kubectl_edl.output.report import Report

_HELP: Final = """Show what the reconciler would do now, which jobs wait, and why.

This is one step; kubectl edl simulate --live shows what follows. Planning needs the right to read
the whole cluster; only training jobs of the namespace are shown. Nothing is changed. Without that
right changes are unknown: you see why jobs of the namespace wait, as the reconciler last wrote it.

\b
ACTION is one of
  Start      a queued training job starts with these sizes
  ScaleUp    replicas are added
  ScaleDown  replicas are removed
  Restart    resized by a restart, for frameworks that cannot be resized while running
  Suspend    its pods end; it is queued again, or paused
  Evict      pods on a node that is drained are deleted, and recreated elsewhere

For jobs with a topology, DOMAINS shows where new pods are placed: r3 (6), r4 (2).

The reconciler publishes its policy and load ceiling on its Lease (edl-reconciler);
--policy and --load-ceiling show the plan with other settings.

\b
Examples:
  # Show what happens next, and what prevents more
  kubectl edl plan
  # Show sizes before and after, in all namespaces
  kubectl edl plan -A --diff
  # Show what another policy would do
  kubectl edl plan -A --diff --policy throughput
  # Print the names of jobs that would be scaled down
  kubectl edl plan -A -o json | jq -r '.changes[]|select(.action=="ScaleDown").name'

-o json prints a Plan; its fields: docs/reference/outputs.md
"""

_OUTCOMES: Final = frozenset(
    {Code.ADMITTED, Code.IDLE_CAPACITY, Code.RECLAIMED, Code.PODS_REMOVED, Code.ABOVE_MAX}
    | {Code.FAIR_SHARING, Code.FIFO_ORDER, Code.UTILIZATION}
    | {Code.SCALE_FAILED, Code.SCALE_SUCCEEDED}
)
"""Codes that say of a running job why its size was changed, but not why it is not larger now."""


@click.command("plan", help=_HELP)
@click.option("--diff", is_flag=True, help="Show sizes before and after, role by role.")
@settings_options
@all_namespaces_options
@print_options
@click.pass_obj
def plan(
    cli: CliContext, scope: Scope, asked: SettingsOverrides, output: OutputOptions, *, diff: bool
) -> None:
    connection = cli.connect(scope)
    names = output.format == "name"
    show(cli, output, lambda: _report(cli, connection, asked, diff=diff, names=names))


def _report(
    cli: CliContext,
    connection: ClusterConnection,
    asked: SettingsOverrides,
    *,
    diff: bool,
    names: bool,
) -> Report:
    """`names`: only the names of jobs that change are printed, which takes a plan."""
    from edl.planner.decide import decide
    from kubectl_edl.plan.plan_changes import moves, short, victims
    from kubectl_edl.plan.view import Planned, plan_report

    now, namespace = cli.now(), connection.namespace
    by = deciding(connection, now, asked)
    try:
        state, hints = survey_cluster(connection.cluster, now, by.settings)
    except Forbidden as error:
        if names:
            raise
        return _last_reasons(cli, connection, by, error)
    plan = decide(state, by.settings.policy_to_apply(), by.settings.limits)
    every = moves(state, plan)
    shown = tuple(move for move in every if namespace in ("", move.job.namespace))
    planned = Planned(
        at=now,
        namespace=namespace,
        deciding=by,
        moves=shown,
        waiting=tuple(entry for entry in plan.waiting if namespace in ("", entry.job.namespace)),
        elsewhere=len(every) - len(shown),
        recheck_after=plan.recheck_after,
        short=short(state),
        victims=victims(every),
        staying=tuple(group for group in plan.staying if namespace in ("", group.job.namespace)),
    )
    return plan_report(planned, diff=diff).with_hints((*by.hints, *hints))


def _last_reasons(
    cli: CliContext, connection: ClusterConnection, by: EffectiveSettings, error: Forbidden
) -> Report:
    """A report without a plan: the last reasons of the user's queued and running jobs."""
    from kubectl_edl.plan.view import Planned, plan_report
    from kubectl_edl.queue.waiting_jobs import own_queue

    now = cli.now()
    survey = read_survey(connection, now)
    queued, published, hints = own_queue(connection, survey, now)
    running = ((job, why(job)) for job in survey.jobs if not (ending(job) or waits_to_start(job)))
    waiting = (
        *(_waits(entry.job, entry.why, entry.position) for entry in queued),
        *(_waits(job, why) for job, why in running if why.reason and why.reason not in _OUTCOMES),
    )
    hint = f"hint: a plan needs the whole cluster; these are the reasons of the last one: {error}"
    planned = Planned(now, connection.namespace, by, (), waiting, complete=False)
    source = [published.hint] if published else []
    return plan_report(planned, diff=False).with_hints((*hints, hint, *source))


def _waits(job: TrainingJob, last: Why, position: int | None = None) -> WaitingJob:
    """The last reason of a job, as a plan would contain it."""
    code = last.reason or Code.UNKNOWN
    return WaitingJob(job.key, reasons.quoted(code, last.message), position or 0)
