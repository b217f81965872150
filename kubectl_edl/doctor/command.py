"""`kubectl edl doctor`."""

from typing import Final

import click

from kubectl_edl.cli.command_errors import EXIT_CODES_HELP, Exit
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import OutputOptions, one_namespace, printing

_HELP: Final = """Check the installation: one sentence per check, with its fix.

The cluster's release, the webhook (by a dry run of a labelled Job: the API server must reach it),
its certificates, the reconciler's leader, the accounts' rights and yours, and jobs that will not
get on by themselves. Nothing is changed. Checks that need
more rights than yours are named.

Exit code 1 when anything is broken (✗). Warnings (!) do not count.

\b
Examples:
  # Check everything
  kubectl edl doctor
  # The jobs of one namespace, and whether the webhook is asked there
  kubectl edl doctor -n team-a
  # For a script: what is broken
  kubectl edl doctor -o json | jq -r '.checks[] | select(.result=="failure") | .message'

-o json prints a CheckReport; its fields: docs/reference/outputs.md
"""


@click.command("doctor", help=_HELP, epilog=EXIT_CODES_HELP)
@one_namespace
@printing
@click.pass_context
def doctor(ctx: click.Context, scope: Scope, reading: OutputOptions) -> None:
    from kubectl_edl.doctor.checks import run_checks  # noqa: PLC0415 (cryptography, not for --help)
    from kubectl_edl.doctor.view import has_failures, print_all, print_each  # noqa: PLC0415 (the same)

    world = ctx.ensure_object(CliContext)
    results = run_checks(lambda: world.connect(scope), world.now())
    # Print each section when it is done: checks of a broken cluster take long.
    printed = print_each if reading.output in ("table", "wide") else print_all
    if has_failures(printed(world, reading, results)):
        ctx.exit(Exit.REFUSED)
