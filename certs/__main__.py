"""`python -m certs`: issue, show and install certificates by hand."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from certs import directory as files_in
from certs.bundle import FILES, CertificateError, Names, from_files, service_names, to_files
from certs.installation import (
    CONFIGURATION,
    SECRET,
    SERVICE,
    Installation,
    ensure,
    secret_target,
    store,
)
from certs.installation import rotate as rotated
from certs.issue import LIFETIMES, Lifetimes
from certs.renew import reissued
from certs.report import report
from certs.verify import bundle_problem
from edl import contract
from edl.errors import EdlError
from edl.kube.client import connect

_directory = click.option(
    "--dir",
    "directory",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The directory of ca.crt, ca.key, tls.crt and tls.key.",
)


@click.group()
def certs() -> None:
    """The webhook's certificates: its own authority, and what it serves with."""


@certs.command("issue")
@_directory
@click.option("--dns", multiple=True, help="A further host name of the server.")
@click.option("--ip", multiple=True, help="A further IP address of the server.")
@click.option("--days", default=LIFETIMES.serving.days, show_default=True, help="Serving lifetime.")
@click.option("--ca-days", default=LIFETIMES.authority.days, show_default=True)
def issue_command(
    directory: Path, dns: tuple[str, ...], ip: tuple[str, ...], days: int, ca_days: int
) -> None:
    """Write a new serving certificate; the authority in DIR signs it, or a new one."""
    service = service_names(SERVICE, contract.SYSTEM_NAMESPACE)
    names = Names(service.dns + dns, service.ips + ip)
    lifetimes = Lifetimes(authority=timedelta(days=ca_days), serving=timedelta(days=days))
    now = datetime.now(UTC)
    bundle = reissued(files_in.read(directory, FILES), names, now, lifetimes)
    files_in.write(directory, to_files(bundle))
    click.echo("\n".join(report(bundle, now)))


@certs.command()
@_directory
def show(directory: Path) -> None:
    """Say what is in DIR; exit code 1 when a client would not accept it."""
    now = datetime.now(UTC)
    bundle = from_files(files_in.read(directory, FILES))
    click.echo("\n".join(report(bundle, now)))
    if bundle_problem(bundle, Names(()), now):
        sys.exit(1)


@certs.command()
@click.option(
    "--configuration",
    "configurations",
    multiple=True,
    required=True,
    help="A name; the mutating and the validating webhook configuration of that name are written.",
)
@click.option("--secret", default=SECRET, show_default=True)
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Install this directory's certificates; default: keep the Secret's, renewed where needed.",
)
@click.option("--kubeconfig")
@click.option("--context")
def install(
    configurations: tuple[str, ...],
    secret: str,
    directory: Path | None,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    """Keep the certificates in a Secret and have the webhook configurations trust them."""
    target = secret_target(secret)
    names = service_names(SERVICE, target.namespace)
    installation = Installation(target, configurations, names)
    cluster, now = connect(kubeconfig, context), datetime.now(UTC)
    if directory is None:
        installed = ensure(cluster, installation, now)
    else:
        bundle = from_files(files_in.read(directory, FILES))
        if problem := bundle_problem(bundle, Names(()), now):
            raise CertificateError(f"{directory}: {problem}; nothing was installed")
        installed = store(cluster, installation, bundle)
    if installed.absent:
        absent = ", ".join(f"{target.kind} {target.name}" for target in installed.absent)
        raise CertificateError(f"no {absent}; is kubectl-edl installed in this cluster?")
    click.echo("\n".join(report(installed.bundle, now)))


@certs.command()
@click.option("--configuration", "configurations", multiple=True, default=(CONFIGURATION,))
@click.option("--secret", default=SECRET, show_default=True)
@click.option("--kubeconfig")
@click.option("--context")
def rotate(
    configurations: tuple[str, ...], secret: str, kubeconfig: str | None, context: str | None
) -> None:
    """Replace the cluster's authority and certificate now, without a review that fails.

    The old ones are trusted, and served, until every API server knows the new.
    """
    target = secret_target(secret)
    names = service_names(SERVICE, target.namespace)
    now = datetime.now(UTC)
    installed = rotated(
        connect(kubeconfig, context), Installation(target, configurations, names), now
    )
    click.echo("\n".join(report(installed.bundle, now)))


def main() -> None:
    try:
        certs(prog_name="python -m certs")
    except EdlError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
