"""One build, from the Dockerfile to the archive."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox import debian
from sandbox.errors import BuildError
from sandbox.files import locked
from sandbox.images import base, machine
from sandbox.images.builder import PACKAGES, Builder
from sandbox.progress import Progress
from sandbox.watched import fresh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sandbox.build import Bench
    from sandbox.images.image import Image


def require(image: Image) -> None:
    """Raises BuildError, with the way out, where nothing can be built."""
    if not (image.folder / "Dockerfile").is_file():
        raise BuildError(f"{image.folder} has no Dockerfile: the image {image.name} has no recipe")
    if os.geteuid() != 0:
        raise BuildError(
            f"the image {image.name} is built as root, with mounts of its own: run it with sudo, "
            f"or build it where Docker is: docker build -t {image.reference} {image.folder}"
        )


def make(
    target: Path,
    image: Image,
    borrowed: Mapping[str, Path],
    bench: Bench,
    say: Callable[[str], None],
) -> None:
    """Build the image into the archive `target`. The caller holds the lock. Raises BuildError."""
    packages = debian.fetched("images", PACKAGES, bench, say)
    target.parent.mkdir(parents=True, exist_ok=True)
    # We hold the lock: what lies there was left by a build that was killed.
    for abandoned in target.parent.glob(f".{image.name}@*"):
        shutil.rmtree(abandoned)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{image.name}@") as work:
        builder = Builder(
            what=f"build the image {image.name}",
            packages=packages,
            storage=target.parent / "storage",
            work=Path(work),
            environ=bench.environ,
            log=fresh(bench.cache / "logs" / f"image-{image.name}.log"),
            progress=Progress(f"building the image {image.name}", bench.stream),
        )
        with locked(bench.cache / "locks" / "image-base.lock"):
            base.ensure(builder)
        builder.buildah("build", *_flags(builder, image, borrowed), str(image.folder))
        archive = Path(work) / "whole.tar"
        # Docker's form is written in one go, and not compressed: what it costs is time.
        form = f"docker-archive:{archive}:{image.reference}"
        builder.buildah("push", "--disable-compression", image.reference, form)
        archive.rename(target)
        builder.progress.end("done")


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
