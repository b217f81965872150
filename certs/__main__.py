"""`python -m certs issue`: writes certificates to a directory, for a webhook that is run by hand.

`kubectl edl certs` shows, verifies and renews those in a cluster.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import click

from certs import certificate_directory as files_in
from certs.bundle import FILES, to_files
from certs.issue import LIFETIMES, Lifetimes
from certs.rotation_steps import CertificateRequest, reissued
from certs.secrets import usual
from certs.subject_names import SubjectNames, is_address, is_host, local_names
from certs.verify import facts_of
from edl.errors import EdlError

_DAYS: Final[Mapping[str, Any]] = {"type": click.IntRange(1, 36_500), "show_default": True}


def _all(is_valid: Callable[[str], bool]) -> Callable[..., tuple[str, ...]]:
    """Each value of the option is one."""

    def check(
        _context: click.Context, _option: click.Parameter, names: tuple[str, ...]
    ) -> tuple[str, ...]:
        for name in names:
            if not is_valid(name):
                raise click.BadParameter(f'"{name}" cannot be a name in a certificate.')
        return names

    return check


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def certs() -> None:
    """The webhook's certificates: its own authority, and what it serves with."""


@certs.command("issue")
@click.option(
    "--dir",
    "directory",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The directory of ca.crt, ca.key, tls.crt and tls.key.",
)
@click.option(
    "--dns", multiple=True, callback=_all(is_host), help="A further host name of the server."
)
@click.option(
    "--ip", multiple=True, callback=_all(is_address), help="A further IP address of the server."
)
@click.option("--days", default=LIFETIMES.serving.days, help="Serving lifetime.", **_DAYS)
@click.option("--ca-days", default=LIFETIMES.authority.days, **_DAYS)
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
    for title, pem in (
        ("authority", bundle.authority.certificate),
        ("certificate", bundle.pair.certificate),
    ):
        click.echo("\n".join(_described(title, pem, now)))


def _described(title: str, certificate: bytes, now: datetime) -> Iterator[str]:
    facts = facts_of(certificate)
    yield f"{title:<13}{facts.subject}, signed by {facts.issuer}"
    if names := ", ".join((*facts.names.dns, *facts.names.ips)):
        yield f"{'':<13}for {names}"
    yield f"{'':<13}until {facts.ends:%Y-%m-%d %H:%M} UTC, {facts.left(now).days} days left"


def main() -> None:
    try:
        certs(prog_name="python -m certs")
    except EdlError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
