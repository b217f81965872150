"""One image build, from the Dockerfile to the archive."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.builds import debian
from sandbox.builds.build import BuildEnvironment
from sandbox.builds.logged_run import fresh
from sandbox.builds.progress import Progress
from sandbox.errors import BuildError
from sandbox.files import locked
from sandbox.images import base, machine
from sandbox.images.builder import Builder


@dataclass(frozen=True, slots=True)
class Image:
    """A folder with a Dockerfile, and the name by which pods refer to the image.

    reference: the full name, as on a node. programs: the sandbox's own programs, each of which
    replaces the Dockerfile's stage of the same name, with the program at the top level.
    """

    name: str
    reference: str
    folder: Path
    programs: tuple[str, ...] = ()


FOLDER: Final = "images"
"""The cache folder of archives, and of the storage of their layers."""


def require(image: Image) -> None:
    """Raise BuildError with a remedy if the image cannot be built here."""
    if not (image.folder / "Dockerfile").is_file():
        raise BuildError(f"{image.folder} has no Dockerfile: the image {image.name} has no recipe")
    require_root(
        f"the image {image.name} is built with mounts of its own (where Docker is, "
        f"docker build -t {image.reference} {image.folder} does the same)"
    )


def require_root(reason: str) -> None:
    """Raise BuildError unless this is root."""
    if os.geteuid() != 0:
        raise BuildError(f"{reason}: run this as root, with sudo -E")


def build_archive(
    target: Path,
    image: Image,
    borrowed: Mapping[str, Path],
    build_env: BuildEnvironment,
    say: Callable[[str], object],
) -> None:
    """Build the image into the archive `target`. The caller holds the lock. Raises BuildError."""
    doing = ("build", "building", f"the image {image.name}")
    with _builder(image.name, doing, build_env, say) as builder:
        with locked(build_env.cache / "locks" / "image-base.lock"):
            base.ensure(builder)
        builder.buildah("build", *_flags(builder, image, borrowed), str(image.folder))
        archive = builder.work / "whole.tar"
        # Docker's format is written in one pass; compressing it would only take time.
        form = f"docker-archive:{archive}:{image.reference}"
        builder.buildah("push", "--disable-compression", image.reference, form)
        archive.rename(target)


def prune_layers(build_env: BuildEnvironment, say: Callable[[str], object]) -> None:
    """Delete layers that no image uses. The caller holds the lock of every image."""
    doing = ("drop", "dropping", "unused layers")
    with _builder("prune", doing, build_env, say) as builder:
        builder.buildah("rmi", "--prune")


@contextmanager
def _builder(
    name: str,
    doing: tuple[str, str, str],
    build_env: BuildEnvironment,
    say: Callable[[str], object],
) -> Iterator[Builder]:
    """A builder with a temporary work folder and a progress line."""
    unpacked = debian.unpacked("images", build_env, say)
    images = build_env.cache / FOLDER
    images.mkdir(parents=True, exist_ok=True)
    # We hold the lock, so these remains are from a killed build.
    for abandoned in images.glob(f".{name}@*"):
        shutil.rmtree(abandoned)
    do, does, what = doing
    progress = Progress(f"{does} {what}", build_env.stream)
    with tempfile.TemporaryDirectory(dir=images, prefix=f".{name}@") as work:
        yield Builder(
            what=f"{do} {what}",
            packages=unpacked,
            storage=images / "storage",
            work=Path(work),
            environ=build_env.environ,
            log=fresh(build_env.cache / "logs" / f"image-{name}.log"),
            progress=progress,
        )
        progress.end("done")


def _flags(builder: Builder, image: Image, borrowed: Mapping[str, Path]) -> Iterator[str]:
    yield from ("--layers", "--pull=never", "--tag", image.reference)
    mounted = machine.mounts(builder.work, builder.environ)
    for place, path in mounted.items():
        yield from ("--volume", f"{path}:{place}:ro")
    for name, path in borrowed.items():
        folder = builder.work / "borrowed" / name
        folder.mkdir(parents=True)
        shutil.copy2(path, folder / name)
        yield from ("--build-context", f"{name}={folder}")
