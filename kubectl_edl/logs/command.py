from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

import click

from edl.job_state.phases import ENDED, phase
from edl.kube.option_group import group
from edl.model import JobKey, job_of
from kubectl_edl.cli.command_errors import EXIT_CODES_NAMED_HELP, Refused
from kubectl_edl.cli.completion_candidates import job_names
from kubectl_edl.cli.context import CliContext, ClusterConnection, Scope
from kubectl_edl.cli.options import namespace_options
from kubectl_edl.client.cluster_view import Reads, read_survey
from kubectl_edl.client.job_lookup import named_role, training_job
from kubectl_edl.client.prefetched_lists import jobs_of
from kubectl_edl.job_views.job_reasons import why
from kubectl_edl.logs.follow_logs import FollowedPods, Follower, Output
from kubectl_edl.logs.log_targets import LogOptions, LogTarget
from kubectl_edl.logs.read_logs import (
    LogPrinter,
    colours,
    elastic_pods,
    find,
    no_pods,
    read,
    request,
)

_HELP: Final = """Print the logs of a training job's pods.

Logs are printed by role, then by index; each line begins with role and index: [worker-3]. Lines of
a pod that replaces another one have the end of its name as well: [worker-3-x7k2p].
With -f it follows the logs, including those of pods that are created later, until the training job
has ended. JOB is a training job, or one of its Jobs for the logs of that role.

\b
Examples:
  # Print all logs
  kubectl edl logs mnist
  # Follow new lines until the training job has ended
  kubectl edl logs mnist -f --tail 0
  # Print the last ten minutes of one worker, without prefix
  kubectl edl logs mnist --role worker --index 3 --since 10m --no-prefix
  # Print the logs of a chief before its restart
  kubectl edl logs mnist --role chief --previous
"""


@click.command("logs", help=_HELP, epilog=EXIT_CODES_NAMED_HELP)
@click.argument("job", shell_complete=job_names)
@group(LogOptions, "asked")
@namespace_options
@click.pass_obj
def logs(cli: CliContext, job: str, asked: LogOptions, scope: Scope) -> None:
    if asked.follow and asked.previous:
        raise click.UsageError("--previous has ended and cannot be followed: leave out one.")
    connection = cli.connect(scope)
    training = training_job(job, read_survey(connection, cli.now(), Reads.JOBS), connection)
    coloured = colours(role.name for role in training.roles) if cli.coloured else {}
    printer = LogPrinter(cli, asked, coloured)
    if not asked.role and (named := named_role(job, training)):
        # The name of one Job of the training job selects that Job's role.
        asked = replace(asked, role=(named,))
    if asked.follow:
        selections = [jobs_of(connection), elastic_pods(training.key.namespace)]
        watching = replace(connection, cluster=cli.watched(connection.cluster, selections))
        current = partial(_current_pods, cli, watching, training.key, asked, connection)
        _follow(watching, current, printer)
        return
    sources = find(connection, training, asked)
    if not sources:
        raise Refused(no_pods(training, asked))
    read(connection, sources, printer)


def _current_pods(
    cli: CliContext,
    connection: ClusterConnection,
    key: JobKey,
    asked: LogOptions,
    unwatched: ClusterConnection,
) -> FollowedPods:
    """The pods now. At the end pods are listed directly: their watch may lag behind the Jobs'."""
    job = job_of(read_survey(connection, cli.now(), Reads.JOBS).jobs, key)
    if job is None:
        return FollowedPods((), f"{key.name} is gone", over=True)
    if phase(job) in ENDED:
        return FollowedPods(find(unwatched, job, asked), why(job).message, over=True)
    sources = find(connection, job, asked)
    if not sources:
        return FollowedPods((), f"{no_pods(job, asked)}; waiting for them")
    first = next((source for source in sources if source.waiting), sources[0])
    return FollowedPods(sources, f"{first.label} has no log yet: {first.waiting}; waiting for it")


def _follow(
    connection: ClusterConnection, current: Callable[[], FollowedPods], printer: LogPrinter
) -> None:
    cli = printer.cli

    def line(text: str, source: LogTarget) -> None:
        printer.line(text, source)
        cli.out.flush()

    first = partial(request, asked=printer.asked)
    follower = Follower(connection.cluster, current, first, Output(line, cli.warn))
    follower.run(cli.changes(connection.cluster, jobs_of(connection)))
