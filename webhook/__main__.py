"""`python -m webhook`: serves reviews, with a certificate from a directory or from a Secret."""

import sys
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import click
from prometheus_client import disable_created_metrics

from certs.secrets import secret_target
from edl import contract
from edl.errors import EdlError
from edl.frameworks.base import ModeRight
from edl.inject.handlers import Context
from edl.kube import process_logging
from edl.kube.api.client import connect
from edl.kube.duration_range import DurationRange
from edl.kube.option_group import group, option, option_group
from webhook.http.connection_limits import ConnectionLimits
from webhook.http.server import ListenerSettings, Readiness, ServerSettings, serve
from webhook.namespace_policies import NamespacePolicies, NoPolicies, WatchedPolicies
from webhook.release_digest import release
from webhook.routes import RouteContext, add_probe_routes, add_review_routes, create_app, rejected
from webhook.tls.certificate_reloader import CertificateReloader
from webhook.tls.client_auth import ClientAuthority
from webhook.tls.serving_certificate import ServingCertificate, Source, of_directory, of_secret
from webhook.webhook_metrics import WebhookMetrics

_FETCH_SECONDS: Final = 2.0
"""Seconds to read one namespace: the API server waits five for the review."""

_DAY: Final = 86_400


@option_group
class WebhookOptions:
    """The options of the command line."""

    cert_dir: Path | None = option(
        type=click.Path(path_type=Path, file_okay=False, exists=True),
        help="Directory with tls.crt and tls.key; reloaded when they change.",
    )
    secret: str | None = option(
        metavar="NAMESPACE/NAME", help="Secret with tls.crt and tls.key; reloaded when it changes."
    )
    kubeconfig: str | None = option(
        help="Path to the kubeconfig file. Default: kubectl's, or the pod's ServiceAccount."
    )
    host: str = option(
        default="127.0.0.1", help="Address to listen on; :: for all of IPv4 and IPv6, as in a pod."
    )
    port: int = option(default=8443, help="Port for reviews, over HTTPS.")
    namespaces: bool = option(
        default=True,
        help="Apply the defaults and limits that a Job's namespace sets; needs the API server.",
    )
    refresh: float = option(
        type=DurationRange(_DAY, above_zero=True),
        default="10s",
        fallback=10.0,
        help="Time between checks for a new certificate.",
    )
    client_ca: Path | None = option(
        type=click.Path(path_type=Path, dir_okay=False, exists=True),
        help="CA file; only clients with a certificate from this CA may send reviews.",
    )
    client_name: tuple[str, ...] = option(
        help="Common name, DNS name or URI of accepted client certificates. Repeatable."
    )
    probe_port: int = option(
        type=click.IntRange(0, 65535),
        default=8080,
        help="Port for /metrics, /healthz and /readyz, over plain HTTP; 0 chooses a free one.",
    )
    drain: float = option(
        type=DurationRange(_DAY),
        default="5s",
        fallback=5.0,
        help="How long to keep serving after SIGTERM.",
    )
    log_level: str = option(
        default="info", type=click.Choice(process_logging.LEVELS), help="Least severe level to log."
    )
    log_format: str = option(
        default="json",
        type=click.Choice(list(process_logging.FORMATS)),
        help="Format of log lines.",
    )


@option_group
class ReviewOptions:
    """What reviews depend on, besides the settings of namespaces."""

    trusted: tuple[str, ...] = option(
        default=(contract.RECONCILER_USER,),
        help="User that may resize Jobs and write edl.dev annotations: the reconciler. Repeatable.",
    )
    image: str = option(
        envvar="EDL_IMAGE", required=True, help="Image from which launcher pods copy kubectl."
    )
    withheld_right: tuple[str, ...] = option(
        type=click.Choice([right.value for right in ModeRight]),
        help="Right that the reconciler does not have: Jobs in modes that need it are refused."
        " Repeatable.",
    )

    @property
    def context(self) -> Context:
        withheld = frozenset(map(ModeRight, self.withheld_right))
        return Context(frozenset(self.trusted), self.image, release(), withheld)


@click.command(context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@group(WebhookOptions, "options")
@group(ReviewOptions, "reviews")
def webhook(options: WebhookOptions, reviews: ReviewOptions) -> None:
    """Complete and check labelled Jobs and pods for the API server."""
    process_logging.log_to_stderr(options.log_level, options.log_format)
    disable_created_metrics()  # type: ignore[no-untyped-call]
    metrics, certificate = WebhookMetrics(), ServingCertificate()
    reloader = CertificateReloader(certificate, _source(options), metrics, _now)
    if options.cert_dir is not None:
        reloader.start()  # a Secret's pair may come later: until then every handshake fails
    policies = _policies(options)
    lifecycle = Readiness(certificate, _now, policies.problem)
    routes = RouteContext(reviews.context, lifecycle.unready, metrics, policies=policies)
    settings = ServerSettings(
        host=options.host,
        listeners=listeners(options, routes),
        rejected=partial(rejected, routes),
        refresh=timedelta(seconds=options.refresh),
        drain=timedelta(seconds=options.drain),
    )
    serve(lifecycle, reloader, settings)


def listeners(options: WebhookOptions, routes: RouteContext) -> tuple[ListenerSettings, ...]:
    """One for reviews, and one for probes and metrics: other clients, so another port."""
    clients = None
    if options.client_ca is not None:
        clients = ClientAuthority(options.client_ca, frozenset(options.client_name))
    elif options.client_name:
        raise click.UsageError("--client-name needs --client-ca, which issues these certificates")
    if options.probe_port == options.port != 0:
        raise click.UsageError("--probe-port must differ from --port")
    reviews = ListenerSettings(create_app(routes, add_review_routes), options.port, clients=clients)
    probes = ListenerSettings(
        create_app(routes, add_probe_routes),
        options.probe_port,
        tls=False,
        limits=ConnectionLimits(connections=100),
    )
    return reviews, probes


def _source(options: WebhookOptions) -> Source:
    if (options.cert_dir is None) == (options.secret is None):
        raise click.UsageError("choose one of --cert-dir and --secret")
    if options.cert_dir is not None:
        return partial(of_directory, options.cert_dir)
    secret = secret_target(options.secret or "")
    return partial(of_secret, connect(options.kubeconfig), secret)


def _policies(options: WebhookOptions) -> NamespacePolicies:
    if not options.namespaces:
        return NoPolicies()
    cluster = connect(options.kubeconfig)
    watched = WatchedPolicies(cluster, cluster.within(_FETCH_SECONDS))
    watched.start()
    return watched


def _now() -> datetime:
    return datetime.now(UTC)


def main() -> None:
    try:
        webhook(prog_name="python -m webhook")
    except EdlError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
