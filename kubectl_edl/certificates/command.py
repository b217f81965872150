"""`kubectl edl certs`: one subcommand per verb."""

from typing import Final

import click

from kubectl_edl.cli.command_errors import Exit, exit_codes
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.lazy_group import Listed
from kubectl_edl.cli.options import OutputOptions, cluster_options, namespace_options, print_options

_HELP: Final = """Show, verify and renew the webhook's certificates.

The reconciler renews them long before they expire, so these commands are rarely needed. The
authority is stored in the Secret edl-webhook-authority, the serving certificate in edl-webhook-tls,
both in the namespace of the installation; caBundle in the webhook configurations is the authority.

\b
Examples:
  # Show the remaining days, and where they are stored
  kubectl edl certs show
  # Check that the API server trusts the webhook
  kubectl edl certs verify
  # Renew the serving certificate
  kubectl edl certs renew
"""
_SHOW_HELP: Final = """Show the certificates: subject, issuer, days left, and where they are stored.

authority signs certificates, serving is the webhook's, trusted is the API server's caBundle. While
the authority is replaced, its predecessor stays trusted for an hour, until all replicas serve the
new certificate; both have the same subject, so what is the predecessor's is named so.

\b
Examples:
  kubectl edl certs show
  # Add names and dates
  kubectl edl certs show -o wide

-o json prints a CertificateList; its fields: docs/reference/outputs.md
"""
_VERIFY_HELP: Final = """Verify that the API server trusts the webhook.

Compares the trusted authority with the serving certificate, and lets the API server call the
webhook with a labelled Job in a dry run.

\b
Examples:
  kubectl edl certs verify
  # Upgrade only if the API server trusts the webhook
  kubectl edl certs verify --context production && kubectl edl upgrade --context production
"""
_RENEW_HELP: Final = """Renew the serving certificate now; the webhook loads it without a restart.

--authority replaces the authority and the certificate: the new authority is trusted at once, the
webhook serves the new certificate some seconds later, and the old authority stays trusted for an
hour, until all replicas serve it, so that no review fails. A damaged or empty Secret is recreated.

\b
Examples:
  # Renew the certificate, e.g. after its key has leaked
  kubectl edl certs renew
  # Replace the authority as well
  kubectl edl certs renew --authority
"""


@click.command(
    "show",
    short_help="Show subject, issuer, days left, and where they are stored.",
    help=_SHOW_HELP,
)
@cluster_options
@print_options
@click.pass_obj
def show(cli: CliContext, scope: Scope, output: OutputOptions) -> None:
    from kubectl_edl.certificates.view import listed
    from kubectl_edl.cli.watch_report import show as print_once

    connection = cli.connect(scope)
    print_once(cli, output, lambda: listed(connection, cli.now()))


@click.command(
    "verify",
    short_help="Check that the API server trusts the webhook.",
    help=_VERIFY_HELP,
    epilog=exit_codes({Exit.REFUSED: "failed check or error"}),
)
@namespace_options
@print_options
@click.pass_context
def verify(ctx: click.Context, scope: Scope, output: OutputOptions) -> None:
    from kubectl_edl.doctor.checks import CERTIFICATES, run_section
    from kubectl_edl.doctor.checks.check import CheckContext
    from kubectl_edl.doctor.view import print_results

    cli = ctx.ensure_object(CliContext)
    results = run_section(CERTIFICATES, CheckContext(cli.connect(scope), cli.now()))
    if print_results(cli, output, [results]):
        ctx.exit(Exit.REFUSED)


@click.command(
    "renew", short_help="Renew the serving certificate, or the authority.", help=_RENEW_HELP
)
@click.option("--authority", is_flag=True, help="Replace the authority as well.")
@cluster_options
@click.pass_obj
def renew(cli: CliContext, scope: Scope, *, authority: bool) -> None:
    from kubectl_edl.certificates import renewal

    now = cli.now()
    installed = renewal.renew(cli.connect(scope), now, authority=authority)
    cli.say(renewal.message(installed, now, authority=authority))


certs: Final = Listed(
    commands=(show, verify, renew), name="certs", help=_HELP, no_args_is_help=True
)
