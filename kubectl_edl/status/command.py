from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from kubectl_edl.cli.completion_candidates import job_names
from kubectl_edl.cli.options import all_namespaces_options, not_both, output_options
from kubectl_edl.client.prefetched_lists import PrefetchedLists, jobs_of
from kubectl_edl.status.options import EXIT_CODES, wait_options

if TYPE_CHECKING:
    from kubectl_edl.cli.context import CliContext, Scope
    from kubectl_edl.cli.options import OutputOptions
    from kubectl_edl.output.report import Report
    from kubectl_edl.status.options import AwaitedPhase

_HELP: Final = """Show training jobs: replicas, limits, and what they wait for.

ROLES reads role=NOW/MIN..MAX: worker=4/1..12 has 4 workers and may have 1 to 12, chief=1/1 is never
resized, and the Job of ps=0/? does not exist. PENDING counts requested pods that do not run; for a
job that is queued or restarts, those that it starts with.
With one JOB (a training job, or one of its Jobs) it shows the tree of its roles and pods, the last
decisions, and its blockers with their fixes. In a bar, █ (or #) is running, ░ (or :) is starting,
and · is free up to max; the line behind it shows the sizes of the last minutes or hours.

-w on a terminal redraws the tree of all training jobs, below the load of the cluster if you may
read it; q or Ctrl-C ends it. Elsewhere it prints a line for each change. --for waits until each
training job that is shown is in one of the phases, or has the reason
(docs/reference/reason-codes.md). A job that is being scaled counts as Running.

\b
Examples:
  # List the training jobs of this namespace
  kubectl edl status
  # Show one with its pods, last decisions and blockers
  kubectl edl status mnist
  # List two
  kubectl edl status mnist resnet
  # Watch all namespaces
  kubectl edl status -A -w
  # Wait until it has succeeded, at most five hours
  kubectl edl status mnist --for Succeeded --timeout 5h
  # Print the names of queued jobs
  kubectl edl status -o json |
    jq -r '.items[] | select(.phase=="Queued") | .metadata.name'

-o json prints a TrainingJobList, with JOB a TrainingJob; its fields: docs/reference/outputs.md

\b
phase: Incomplete, Queued, Starting, Running, Scaling, Paused, Finishing,
Succeeded or Failed. Scaling: pods are added or removed, or the job restarts with
a new size; see kubectl edl history. et-operator's Created is Incomplete, Queued
or Starting here, and its Suspended is Paused.
"""


@click.command("status", help=_HELP, epilog=EXIT_CODES)
@click.argument("names", metavar="[JOB]...", nargs=-1, shell_complete=job_names)
@all_namespaces_options
@output_options
@wait_options
@click.pass_obj
def status(
    cli: CliContext,
    names: tuple[str, ...],
    scope: Scope,
    output: OutputOptions,
    wanted: AwaitedPhase,
) -> None:
    _check(names, output, wanted)
    connection = cli.connect(scope)
    asked = PrefetchedLists(connection)
    from kubectl_edl.cli import watch_report
    from kubectl_edl.status import phase_wait, view
    from kubectl_edl.status.cluster_load import ClusterLoad

    wait = phase_wait.Wait(wanted, cli, scope, silent=not output.watch)
    load = ClusterLoad(connection) if output.watch and cli.width is not None else None

    def read() -> Report:
        now = cli.now()
        with wait.reading():
            if len(names) == 1:
                found, report = view.detailed(asked, names[0], now)
            else:
                above = f"{load.text(now)}\n" if load else ""
                found, report = view.listed(asked, output.selector, names, now, above.lstrip())
        wait.check(found)
        return report

    if not (wanted.goals or output.watch):
        watch_report.show(cli, output, read)
        return
    deadlines = () if wanted.timeout is None else (wanted.timeout,)
    changes = wait.until(cli.changes(connection.cluster, jobs_of(connection), deadlines))
    if output.watch:
        watch_report.follow(cli, output, read, changes)
        wait.conclude()
    else:  # silently; the result is printed once, at the end
        report = watch_report.last(watch_report.reports(cli, read, changes))
        wait.conclude()
        watch_report.show(cli, output, lambda: report)


def _check(names: tuple[str, ...], output: OutputOptions, wanted: AwaitedPhase) -> None:
    not_both("".join(names), output)
    if wanted.timeout is not None and not (wanted.goals or output.watch):
        raise click.UsageError("--timeout ends a wait: add --for PHASE or -w.")
