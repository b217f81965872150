"""`python -m sandbox image`: build images, and say which there are."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Final

import click

from sandbox import images
from sandbox.build import Bench
from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from sandbox.places import places

if TYPE_CHECKING:
    from pathlib import Path

MIB: Final = 1024 * 1024
EPILOG: Final = """\b
Examples:
  python -m sandbox image build kubectl-edl
  python -m sandbox image build tensorflow --name demo
  python -m sandbox image list
"""
_NAME: Final = click.Choice(images.NAMES)


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
def image() -> None:
    """The images of our own pods and of the examples, built here from their Dockerfiles.

    No registry is needed: the base image is made from Debian packages. What was built is kept in
    the cache until a file of its folder changes.
    """


@image.command(epilog=EPILOG)
@click.argument("names", nargs=-1, type=_NAME, metavar="NAME...")
@click.option("--all", "every", is_flag=True, help="Every image that has a Dockerfile.")
@click.option("--name", "sandbox", help="A sandbox whose real node gets them.")
def build(names: tuple[str, ...], every: bool, sandbox: str | None) -> None:  # noqa: FBT001 - a flag
    """Build images; print the path of each archive."""
    chosen = images.NAMES if every else names
    if not chosen:
        raise click.UsageError(f"name an image, or --all; there are {', '.join(images.NAMES)}")
    for each in chosen:
        archive = images.built(each, _bench(), _say)
        click.echo(archive)
        if sandbox:
            _load(each, archive, Sandbox(sandbox, say=_say))


@image.command("list")
def list_() -> None:
    """Every image, what pods call it, and whether it is built."""
    rows = [("NAME", "REFERENCE", "BUILT"), *(_row(each) for each in images.IMAGES)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("   ".join(cells).rstrip())


@image.command()
def prune() -> None:
    """Drop what images were before: earlier archives, and layers that none consists of any more.

    It frees gigabytes; some steps are run again by the next build of their image.
    """
    folder = _bench().cache
    before = shutil.disk_usage(folder).free
    images.prune(_bench(), _say)
    click.echo(f"freed {max(0, shutil.disk_usage(folder).free - before) / MIB:,.0f} MiB")


def _row(each: images.Image) -> tuple[str, str, str]:
    archive = images.kept(each, _bench())
    said = f"{archive.stat().st_size / MIB:,.0f} MiB" if archive else "no"
    return each.name, each.reference, said


def _load(name: str, archive: Path, sandbox: Sandbox) -> None:
    if not sandbox.real:
        raise SandboxError(
            f"{name} is kept, but sandbox {sandbox.name} has no real node that could run it: "
            f"python -m sandbox up --real --name {sandbox.name}, then this again"
        )
    sandbox.import_image(archive)
    click.echo(f"sandbox {sandbox.name} has {images.reference(name)}")


def _bench() -> Bench:
    return Bench(places(os.environ).cache, os.environ)


def _say(line: str) -> None:
    click.echo(line, err=True)
