"""`kubectl edl doctor`."""

from typing import Final

import click

from kubectl_edl.cli.command_errors import Exit, exit_codes
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import OutputOptions, namespace_options, print_options

_HELP: Final = """Check the installation, and suggest a fix for each problem.

Checks the version of the cluster, the webhook (by a dry run of a labelled Job, which the API server
must send to it), its certificates, the reconciler's leader, the rights of the service accounts and
yours, and training jobs that are stuck. Nothing is changed. Checks that need more rights than you
have are named.

Warnings (!) do not count as failures.

\b
Examples:
  # Run all checks
  kubectl edl doctor
  # Check the jobs of one namespace, and that the webhook is called for it
  kubectl edl doctor -n team-a
  # Print the failures
  kubectl edl doctor -o json | jq -r '.checks[] | select(.result=="failure") | .message'

-o json prints a CheckReport; its fields: docs/reference/outputs.md
"""


@click.command("doctor", help=_HELP, epilog=exit_codes({Exit.REFUSED: "failed check or error"}))
@namespace_options
@print_options
@click.pass_context
def doctor(ctx: click.Context, scope: Scope, output: OutputOptions) -> None:
    from kubectl_edl.doctor.checks import run_checks
    from kubectl_edl.doctor.view import print_results

    cli = ctx.ensure_object(CliContext)
    if print_results(cli, output, run_checks(lambda: cli.connect(scope), cli.now())):
        ctx.exit(Exit.REFUSED)
