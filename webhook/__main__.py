"""`python -m webhook`: serve reviews, with a directory's certificate or with the cluster's own."""

import logging
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click
import msgspec

from certs.bundle import service_names
from certs.installation import CONFIGURATION, SERVICE, Installation, secret_target
from edl import contract
from edl.errors import EdlError
from edl.inject.admission import Context
from edl.kube.client import connect
from webhook.app import Desk, create_app
from webhook.certificate import ServingCertificate, Source, from_cluster, from_directory
from webhook.keeper import Keeper
from webhook.measures import Measures
from webhook.policies import Policies, Silent, Watched
from webhook.server import Lifecycle, Settings, serve

_FETCH_SECONDS: Final = 2.0
"""For one namespace: the API server itself waits five for our answer."""
_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@dataclass(frozen=True, slots=True)
class Options:
    """The command line."""

    cert_dir: Path | None
    secret: str | None
    kubeconfig: str | None
    host: str
    port: int
    trusted: tuple[str, ...]
    image: str
    namespaces: bool
    refresh: float
    drain: float
    log_level: str


@click.command()
@click.option(
    "--cert-dir",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Serve with tls.crt and tls.key of this directory; new files are seen.",
)
@click.option(
    "--secret",
    metavar="NAMESPACE/NAME",
    help="Keep the certificate in this Secret, renew it, and have the API server trust it.",
)
@click.option("--kubeconfig", help="The cluster; in a pod, its own.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8443, show_default=True)
@click.option(
    "--trusted",
    multiple=True,
    default=(contract.RECONCILER_USER,),
    show_default=True,
    help="A user that may resize Jobs and write our annotations: the reconciler.",
)
@click.option("--image", envvar="EDL_IMAGE", required=True, help="Where launchers get kubectl.")
@click.option(
    "--namespaces/--no-namespaces",
    default=True,
    show_default=True,
    help="Hold Jobs to their namespaces' defaults and ceilings; without, no cluster is asked.",
)
@click.option(
    "--refresh", default=10.0, show_default=True, help="Seconds between certificate looks."
)
@click.option("--drain", default=5.0, show_default=True, help="Seconds served on after SIGTERM.")
@click.option(
    "--log-level",
    default="info",
    show_default=True,
    type=click.Choice(["debug", "info", "warning", "error"]),
)
def webhook(**given: object) -> None:
    """Complete and check labelled Jobs and pods for the API server."""
    options = msgspec.convert(given, Options)
    logging.basicConfig(level=options.log_level.upper(), format=_FORMAT, stream=sys.stderr)
    measures, certificate = Measures(), ServingCertificate()
    keeper = Keeper(certificate, _source(options), measures, _now)
    keeper.start()
    policies = _policies(options)
    lifecycle = Lifecycle(certificate, _now, policies.problem)
    context = Context(frozenset(options.trusted), options.image)
    app = create_app(Desk(context, lifecycle.unready, measures, policies=policies))
    settings = Settings(
        host=options.host,
        port=options.port,
        refresh=timedelta(seconds=options.refresh),
        drain=timedelta(seconds=options.drain),
    )
    serve(app, lifecycle, keeper, settings)


def _source(options: Options) -> Source:
    if (options.cert_dir is None) == (options.secret is None):
        raise click.UsageError("choose one of --cert-dir and --secret")
    if options.cert_dir is not None:
        return from_directory(options.cert_dir)
    secret = secret_target(options.secret or "")
    names = service_names(SERVICE, secret.namespace)
    installation = Installation(secret, (CONFIGURATION,), names)
    return from_cluster(connect(options.kubeconfig), installation)


def _policies(options: Options) -> Policies:
    if not options.namespaces:
        return Silent()
    cluster = connect(options.kubeconfig)
    watched = Watched(cluster, cluster.within(_FETCH_SECONDS))
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
