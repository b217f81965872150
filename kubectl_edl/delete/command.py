"""`kubectl edl delete`."""

from typing import Final

import click

from kubectl_edl.cli.command_errors import EXIT_CODES_TIMED_HELP
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import DRY_RUN, TIMEOUT, YES, Command, bundled, everywhere
from kubectl_edl.delete.job_deletion import DeleteOptions
from kubectl_edl.delete.job_deletion import delete as delete_jobs
from kubectl_edl.model.job_selection import JobSelection, check, choosing

_HELP: Final = """Delete training jobs: every Job of each, with its pods.

What belongs to them (Service, PodDisruptionBudgets, a launcher's rights) goes with the Jobs.
It asks for confirmation first, unless --yes is given. As kubectl delete it waits until the Jobs are
gone; their pods end with their grace period. It needs the right to list and delete Jobs.

\b
Examples:
  # One training job, whatever Jobs it has
  kubectl edl delete mnist
  # Several, without confirmation
  kubectl edl delete mnist bert --yes
  # All of an experiment
  kubectl edl delete -l experiment=lr-sweep
  # The same, in every namespace
  kubectl edl delete -l experiment=lr-sweep -A
  # Which Jobs would go
  kubectl edl delete --all --dry-run client -o name
"""
_HOW: Final = (
    YES,
    DRY_RUN,
    click.option("--wait/--no-wait", default=True, help="Until they are gone; default: wait."),
    TIMEOUT,
    click.option("--ignore-not-found", is_flag=True, help="Do not fail when a job does not exist."),
    click.option("-o", "--output", type=click.Choice(("name",)), help="The names of the Jobs."),
)


def _how(function: Command) -> Command:
    return bundled(DeleteOptions, "how", _HOW)(function)


@click.command("delete", help=_HELP, epilog=EXIT_CODES_TIMED_HELP)
@choosing
@_how
@everywhere
@click.pass_obj
def delete(world: CliContext, choice: JobSelection, how: DeleteOptions, scope: Scope) -> None:
    check(choice, scope)
    delete_jobs(world, scope, choice, how)
