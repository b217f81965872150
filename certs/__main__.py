"""`python -m certs`: issue, show and install certificates by hand."""

import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from certs import certificate_directory as files_in
from certs.bundle import FILES, CertificateError, SubjectNames, from_files, local_names, to_files
from certs.certificate_report import report, report_installed
from certs.issue import LIFETIMES, Lifetimes
from certs.rotation_steps import CertificateRequest, reissued
from certs.secrets import CONFIGURATION, Installation, Installed, ensure, store, usual
from certs.secrets import rotate as rotated
from certs.verify import bundle_problem
from edl import contract
from edl.errors import EdlError
from edl.kube.api.client import connect
from edl.kube.auth.kubeconfig import ConfigOverrides

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
    local = local_names(usual().names)
    names = SubjectNames(local.dns + dns, local.ips + ip)
    lifetimes = Lifetimes(authority=timedelta(days=ca_days), serving=timedelta(days=days))
    now = datetime.now(UTC)
    bundle = reissued(files_in.read(directory, FILES), CertificateRequest(names, now, lifetimes))
    files_in.write(directory, to_files(bundle))
    click.echo("\n".join(report(bundle, now)))


@certs.command()
@_directory
def show(directory: Path) -> None:
    """Say what is in DIR; exit code 1 when a client would not accept it."""
    now = datetime.now(UTC)
    bundle = from_files(files_in.read(directory, FILES))
    click.echo("\n".join(report(bundle, now)))
    if bundle_problem(bundle, SubjectNames(()), now):
        sys.exit(1)


_configurations = click.option(
    "--configuration",
    "configurations",
    multiple=True,
    default=(CONFIGURATION,),
    show_default=True,
    help="A name; the mutating and the validating webhook configuration of that name are written.",
)
_namespace = click.option(
    "--namespace",
    envvar=contract.SYSTEM_NAMESPACE_ENV,
    default=contract.SYSTEM_NAMESPACE,
    show_default=True,
    help="Where the Secrets are.",
)


@certs.command()
@_configurations
@_namespace
@click.option(
    "--dir",
    "directory",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Install this directory's certificates; default: keep the Secrets', renewed where needed.",
)
@click.option("--kubeconfig")
@click.option("--context")
def install(
    configurations: tuple[str, ...],
    namespace: str,
    directory: Path | None,
    kubeconfig: str | None,
    context: str | None,
) -> None:
    """Keep the certificates in Secrets and have the webhook configurations trust them."""
    installation = _installation(namespace, configurations)
    cluster, now = connect(kubeconfig, ConfigOverrides(context or "")), datetime.now(UTC)
    if directory is None:
        installed = ensure(cluster, installation, now)
    else:
        bundle = from_files(files_in.read(directory, FILES))
        if problem := bundle_problem(bundle, SubjectNames(()), now):
            raise CertificateError(f"{directory}: {problem}; nothing was installed")
        installed = store(cluster, installation, bundle)
    if installed.absent:
        absent = ", ".join(f"{target.kind} {target.name}" for target in installed.absent)
        raise CertificateError(f"no {absent}; is kubectl-edl installed in this cluster?")
    _say(installed, now)


@certs.command()
@_configurations
@_namespace
@click.option("--kubeconfig")
@click.option("--context")
def rotate(
    configurations: tuple[str, ...], namespace: str, kubeconfig: str | None, context: str | None
) -> None:
    """Have another authority trusted now; the reconciler's leader takes the other steps.

    The old one is trusted, and what it signed is served, until every API server knows the new.
    """
    now = datetime.now(UTC)
    installation = _installation(namespace, configurations)
    _say(rotated(connect(kubeconfig, ConfigOverrides(context or "")), installation, now), now)


def _installation(namespace: str, configurations: tuple[str, ...]) -> Installation:
    return replace(usual(namespace=namespace), configurations=configurations)


def _say(installed: Installed, now: datetime) -> None:
    click.echo("\n".join(report_installed(installed, now)))


def main() -> None:
    try:
        certs(prog_name="python -m certs")
    except EdlError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
