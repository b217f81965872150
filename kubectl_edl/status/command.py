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

With one JOB (a training job, or one of its Jobs) show the tree of its roles and pods, its last
decisions, and its blockers with their fixes. ROLES reads role=NOW/MIN..MAX. Columns and phases:
docs/tasks/find-out-why.md; --for: docs/tasks/wait-in-scripts.md

\b
Examples:
  # List the training jobs of this namespace
  kubectl edl status
  # Show one with its pods, last decisions and blockers
  kubectl edl status mnist
  # Watch all namespaces
  kubectl edl status -A -w
  # Wait until it has succeeded, at most five hours
  kubectl edl status mnist --for Succeeded --timeout 5h
  # List two
  kubectl edl status mnist resnet
  # Print the names of queued jobs
  kubectl edl status -o json |
    jq -r '.items[] | select(.phase=="Queued") | .metadata.name'

-o json prints a TrainingJobList, with JOB a TrainingJob; its fields: docs/reference/outputs.md
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
    load = ClusterLoad(connection, cli.patience) if output.watch and cli.width else None

    def read() -> Report:
        now = cli.now()
        with wait.reading():
            if len(names) == 1:
                views, report = view.detailed(asked, names[0], now)
            else:
                above = f"{load.text(now)}\n" if load else ""
                views, report = view.listed(asked, output.selector, names, now, above.lstrip())
        wait.check(views)
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
