"""`python -m dev.images`: builds the images of our own pods and of the examples."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from sandbox import images
from sandbox.builds.build import BuildEnvironment
from sandbox.cli import SandboxGroup
from sandbox.errors import SandboxError
from sandbox.images import Image
from sandbox.paths import places
from sandbox.sandbox import Sandbox

REPOSITORY: Final = Path(__file__).resolve().parents[1]
MIB: Final = 1024 * 1024
EPILOG: Final = """\b
Examples:
  python -m dev.images build kubectl-edl
  python -m dev.images build tensorflow --name demo
  python -m dev.images list
"""


def _example(name: str) -> Image:
    return Image(name, f"docker.io/edl-examples/{name}:1", REPOSITORY / "examples" / name)


IMAGES: Final = (
    # kubectl would take minutes to compile; the sandbox has it already.
    Image("kubectl-edl", "docker.io/library/kubectl-edl:0.1.0", REPOSITORY, ("kubectl",)),
    _example("tensorflow"),
    _example("pytorch"),
    _example("horovod"),
    _example("mxnet"),
    _example("paddle"),
)
NAMES: Final = tuple(image.name for image in IMAGES)


def find(name: str) -> Image:
    """The image of this name. Raises SandboxError if there is none."""
    for image in IMAGES:
        if image.name == name:
            return image
    raise SandboxError(f"no image {name!r}; one of {', '.join(NAMES)}")


def built(name: str, build_env: BuildEnvironment, say: Callable[[str], object]) -> Path:
    """The archive of the image of this name, which is built first if it is not in the cache.

    Raises SandboxError if the name is unknown or the build fails.
    """
    return images.build(find(name), build_env, say)


@click.group(
    cls=SandboxGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
def main() -> None:
    """Build the images of kubectl-edl's pods and of the examples from their Dockerfiles.

    No registry is needed: the base image is made from Debian packages. What was built is kept in
    the cache until a file of its folder changes.
    """


@main.command(epilog=EPILOG)
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar="NAME...")
@click.option("--all", "every", is_flag=True, help="Every image that has a Dockerfile.")
@click.option("--name", "sandbox", help="A sandbox whose real node gets them.")
def build(names: tuple[str, ...], every: bool, sandbox: str | None) -> None:  # noqa: FBT001 - a flag
    """Build images; print the path of each archive."""
    chosen = NAMES if every else names
    if not chosen:
        raise click.UsageError(f"name an image, or --all; there are {', '.join(NAMES)}")
    for each in chosen:
        archive = built(each, _build_env(), _say)
        click.echo(archive)
        if sandbox:
            _load(each, archive, Sandbox(sandbox, say=_say))


@main.command("list")
def list_() -> None:
    """Every image, what pods call it, and whether it is built."""
    rows = [("NAME", "REFERENCE", "BUILT"), *(_row(each) for each in IMAGES)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("   ".join(cells).rstrip())


@main.command()
def prune() -> None:
    """Drop what images were before: earlier archives, and layers that none of them uses.

    It frees gigabytes; some steps are run again by the next build of their image.
    """
    folder = _build_env().cache
    before = shutil.disk_usage(folder).free
    images.prune(IMAGES, _build_env(), _say)
    click.echo(f"freed {max(0, shutil.disk_usage(folder).free - before) / MIB:,.0f} MiB")


def _row(each: Image) -> tuple[str, str, str]:
    archive = images.kept(each, _build_env())
    said = f"{archive.stat().st_size / MIB:,.0f} MiB" if archive else "no"
    return each.name, each.reference, said


def _load(name: str, archive: Path, sandbox: Sandbox) -> None:
    if not sandbox.real:
        raise SandboxError(
            f"{name} is kept, but sandbox {sandbox.name} has no real node that could run it: "
            f"python -m sandbox up --real --name {sandbox.name}, then this again"
        )
    sandbox.import_image(archive)
    click.echo(f"sandbox {sandbox.name} has {find(name).reference}")


def _build_env() -> BuildEnvironment:
    return BuildEnvironment(places(os.environ).cache, os.environ)


def _say(line: str) -> None:
    click.echo(line, err=True)


if __name__ == "__main__":
    main(prog_name="python -m dev.images")
