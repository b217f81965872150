"""`kubectl edl pause` and `resume`."""

from typing import Final

import click

from kubectl_edl.cli.command_errors import EXIT_CODES_HELP
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import Writing, everywhere, writing
from kubectl_edl.model.job_selection import JobSelection, check, choosing
from kubectl_edl.pause.pause_annotation import Switch, flip

_PAUSE_HELP: Final = """Take training jobs off the nodes until they are resumed.

All of its pods end now, with their grace period; what they did not save is lost. The Jobs stay.

\b
Examples:
  # Free its nodes for the rest of the day
  kubectl edl pause mnist
  # All of an experiment
  kubectl edl pause -l experiment=lr-sweep
  # The same, in every namespace
  kubectl edl pause -l experiment=lr-sweep -A
  # Let the API server check it, and change nothing
  kubectl edl pause mnist -n team-a --dry-run server
"""
_PAUSE: Final = Switch(
    paused=True,
    done="paused, its pods end and it waits for: kubectl edl resume {job}",
    unattended="paused: once a reconciler runs, its pods end; it waits for: "
    "kubectl edl resume {job}",
    queued="paused, it leaves the queue and waits for: kubectl edl resume {job}",
    already="is paused already; it waits for: kubectl edl resume {job}",
)
_RESUME_HELP: Final = """Let paused training jobs queue again.

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
_RESUME: Final = Switch(
    paused=False,
    done="resumed, it starts when its minimum fits: kubectl edl status {job}",
    unattended="resumed: once a reconciler runs, it starts when its minimum fits: "
    "kubectl edl status {job}",
    already="is not paused; what it does now: kubectl edl status {job}",
)


@click.command("pause", help=_PAUSE_HELP, epilog=EXIT_CODES_HELP)
@choosing
@everywhere
@writing
@click.pass_obj
def pause(world: CliContext, choice: JobSelection, scope: Scope, writing: Writing) -> None:
    check(choice, scope)
    flip(world, choice, scope, writing, _PAUSE)


@click.command("resume", help=_RESUME_HELP, epilog=EXIT_CODES_HELP)
@choosing
@everywhere
@writing
@click.pass_obj
def resume(world: CliContext, choice: JobSelection, scope: Scope, writing: Writing) -> None:
    check(choice, scope)
    flip(world, choice, scope, writing, _RESUME)
