"""`kubectl edl uninstall`."""

from typing import Final

import click

from kubectl_edl.cli.command_errors import EXIT_CODES_TIMED_HELP
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import TIMEOUT, YES, Command, a_cluster, bundled
from kubectl_edl.install import uninstall_release as installing
from kubectl_edl.install.uninstall_release import UninstallOptions

_HELP: Final = """Take kubectl-edl out of a cluster: everything but your Jobs.

Running Jobs keep their size. Queued Jobs stay suspended: their number, and
how to start one by hand, is printed first. Each has its own ttlSecondsAfterFinished again. Nothing
else of ours stays behind.

\b
Examples:
  # What would go, and what becomes of the Jobs
  kubectl edl uninstall --dry-run client
  # In a script
  kubectl edl uninstall --yes

Exit code 5: deleted, but something is still there when the time is up; it may still go.
"""
_HOW: Final = (
    YES,
    click.option(
        "--dry-run",
        type=click.Choice(("none", "client")),
        default="none",
        help="client: say what would go, delete nothing.",
    ),
    click.option("--wait/--no-wait", default=True, help="Until it is gone; default: wait."),
    TIMEOUT,
)


def _how(function: Command) -> Command:
    return bundled(UninstallOptions, "how", _HOW)(function)


@click.command("uninstall", help=_HELP, epilog=EXIT_CODES_TIMED_HELP)
@_how
@a_cluster
@click.pass_obj
def uninstall(world: CliContext, how: UninstallOptions, scope: Scope) -> None:
    installing.uninstall(world, scope, how)
