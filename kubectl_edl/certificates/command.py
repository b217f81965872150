"""`kubectl edl certs renew`."""

from typing import Final

import click

from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.lazy_group import Listed
from kubectl_edl.cli.options import cluster_options

_HELP: Final = """Renew the webhook's certificates.

The reconciler renews them long before they expire, so this is rarely needed. kubectl edl doctor
shows how long they are valid, and checks that the API server trusts the webhook.

The authority is stored in the Secret edl-webhook-authority, the serving certificate in
edl-webhook-tls, both in the namespace of the installation; caBundle in the webhook configurations
is the authority.

\b
Examples:
  # Show the remaining days, and check that the API server reaches the webhook
  kubectl edl doctor
  # Renew the serving certificate
  kubectl edl certs renew
  # Replace the authority as well
  kubectl edl certs renew --authority
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


certs: Final = Listed(commands=(renew,), name="certs", help=_HELP, no_args_is_help=True)
