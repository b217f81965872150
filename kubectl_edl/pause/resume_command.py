"""`kubectl edl resume`."""

from typing import Final

import click

from kubectl_edl.cli.command_errors import EXIT_CODES_HELP
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import Writing, everywhere, writing
from kubectl_edl.model.job_selection import JobSelection, check, choosing
from kubectl_edl.pause.pause_annotation import Switch, flip

_HELP: Final = """Let paused training jobs queue again.

It starts when the minimum of every role fits at once, behind those that waited before it.

\b
Examples:
  # Back into the queue
  kubectl edl resume mnist
  # All that are paused in the namespace
  kubectl edl resume --all
  # Then look at its position
  kubectl edl resume mnist && kubectl edl queue
"""
_SWITCH: Final = Switch(
    paused=False,
    done="resumed, it starts when its minimum fits: kubectl edl status {job}",
    unattended="resumed: once a reconciler runs, it starts when its minimum fits: "
    "kubectl edl status {job}",
    already="is not paused; what it does now: kubectl edl status {job}",
)


@click.command("resume", help=_HELP, epilog=EXIT_CODES_HELP)
@choosing
@everywhere
@writing
@click.pass_obj
def resume(world: CliContext, choice: JobSelection, scope: Scope, writing: Writing) -> None:
    check(choice, scope)
    flip(world, choice, scope, writing, _SWITCH)


COMMAND: Final = resume
