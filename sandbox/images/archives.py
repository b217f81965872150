"""Images as archives in the cache, each built once per content and kept only if complete."""

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from sandbox.builds import binaries
from sandbox.builds import build as programs
from sandbox.builds.build import BuildEnvironment
from sandbox.builds.recipe import KEY_LENGTH, machine
from sandbox.files import locked
from sandbox.images import base, context, image_build
from sandbox.images.image_build import Image
from sandbox.paths import places
from sandbox.releases import wanted

EARLIER: Final = 1
"""The number of earlier archives of an image that are kept."""


def build(image: Image, build_env: BuildEnvironment, say: Callable[[str], object]) -> Path:
    """The archive of an image, built first if the cache lacks it.

    containerd imports it (`ctr images import`) as `image.reference`. If several processes ask for
    one image at the same time, one builds it. Raises BuildError, which names the log.
    """
    borrowed = _borrowed(image, build_env, say)
    while not (target := _target(image, borrowed, build_env.cache)).exists():
        image_build.require(image)
        with _alone(image, build_env, say):
            if not target.exists():
                image_build.build_archive(target, image, borrowed, build_env, say)
                _forget_earlier(build_env.cache, image, keep=1 + EARLIER)
                if _target(image, borrowed, build_env.cache) != target:
                    # A file changed during the build, so the archive's content is uncertain.
                    target.unlink()
    os.utime(target)
    return target


def prune(
    images: Sequence[Image], build_env: BuildEnvironment, say: Callable[[str], object]
) -> None:
    """Delete earlier archives of these images, and layers that no image uses. Raises BuildError.

    Steps of stages that are not part of an image run again in its next build.
    """
    image_build.require_root("the cache of images is root's")
    with contextlib.ExitStack() as builds:
        for image in images:
            builds.enter_context(_alone(image, build_env, say))
        for image in images:
            _forget_earlier(build_env.cache, image, keep=1)
        image_build.prune_layers(build_env, say)


def kept(image: Image, build_env: BuildEnvironment) -> Path | None:
    """The archive that a build would return now, if it exists; nothing is built."""
    folder = places(build_env.environ).binaries or programs.kept(
        wanted(build_env.environ), build_env.cache
    )
    borrowed = {name: folder / name for name in image.programs}
    if not (image.folder / "Dockerfile").exists():
        return None
    if not all(path.exists() for path in borrowed.values()):
        return None
    target = _target(image, borrowed, build_env.cache)
    return target if target.exists() else None


def key(image: Image, borrowed: Mapping[str, Path]) -> str:
    """The cache key, which depends on all inputs of a build except newer package versions."""
    whole = hashlib.sha256(f"{image.reference} {machine()} {base.key()}".encode())
    whole.update(context.digest(image.folder))
    for name, path in sorted(borrowed.items()):
        with path.open("rb") as stream:
            whole.update(name.encode() + hashlib.file_digest(stream, "sha256").digest())
    return whole.hexdigest()[:KEY_LENGTH]


def _borrowed(
    image: Image, build_env: BuildEnvironment, say: Callable[[str], object]
) -> dict[str, Path]:
    """The sandbox's own programs for the image, built first if the cache lacks them."""
    if not image.programs:
        return {}
    if own := places(build_env.environ).binaries:
        found = binaries.named(own, image.programs)
        return {name: found[name] for name in image.programs}
    folder = programs.built(wanted(build_env.environ), build_env, say)
    return {name: folder / name for name in image.programs}


def _target(image: Image, borrowed: Mapping[str, Path], cache: Path) -> Path:
    return cache / image_build.FOLDER / f"{image.name}-{key(image, borrowed)}.tar"


def _alone(
    image: Image, build_env: BuildEnvironment, say: Callable[[str], object]
) -> contextlib.AbstractContextManager[object]:
    """Hold the image's lock."""
    lock = build_env.cache / "locks" / f"image-{image.name}.lock"
    return locked(lock, lambda: say(f"waiting: another process builds the image {image.name}"))


def _forget_earlier(cache: Path, image: Image, *, keep: int) -> None:
    """Delete old archives, which are large, except the last `keep`, which may be in use."""
    any_key = "[0-9a-f]" * KEY_LENGTH
    found = (cache / image_build.FOLDER).glob(f"{image.name}-{any_key}.tar")
    for path in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)[keep:]:
        path.unlink()
