"""The one base image, `debian:12-slim`, made by Debian's mmdebstrap instead of being pulled."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from sandbox.builds.recipe import KEY_LENGTH, machine
from sandbox.images import sources

if TYPE_CHECKING:
    from sandbox.images.builder import Builder

RELEASE: Final = "bookworm"
REFERENCE: Final = "docker.io/library/debian:12-slim"
DOCKERFILE: Final = 'FROM scratch\nADD rootfs.tar /\nCMD ["bash"]\n'
MARK: Final = "base"
"""A file in the storage: the key of the base image that lies there."""
# As Debian's own slim image: no manuals, no translations, and of documents the licences.
_SLIM: Final = (
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/man/*",
    "force-unsafe-io",
)
# So that `apt-get install` leaves nothing behind but what it installs.
_CLEAN: Final = (
    'APT::Keep-Downloaded-Packages "false";',
    'Dir::Cache::pkgcache "";',
    'Dir::Cache::srcpkgcache "";',
)
OPTIONS: Final = (
    "--mode=root",
    "--variant=apt",
    "--format=tar",
    # With the package usrmerge instead, the image would have 45 MB of Perl.
    "--include=usr-is-merged",
    "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
    *(f"--dpkgopt={option}" for option in _SLIM),
    '--aptopt=Acquire::Languages "none"',
    "--skip=output/dev",
    # Copied from this machine or left by apt, for the time of the making.
    '--customize-hook=rm -f "$1"/etc/resolv.conf "$1"/etc/hostname "$1"/var/cache/apt/*.bin',
    f"""--customize-hook=echo '{" ".join(_CLEAN)}' > "$1"/etc/apt/apt.conf.d/docker-clean""",
)


def key() -> str:
    """Changes with whatever decides the base image's content, but for Debian's own updates."""
    text = "\n".join((*OPTIONS, DOCKERFILE, RELEASE, *sources.of_release(RELEASE), machine()))
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def ensure(builder: Builder) -> None:
    """Have the base image in the builder's storage. Raises BuildError."""
    mark = builder.storage / MARK
    if mark.exists() and mark.read_text() == key():
        return
    folder = builder.work / "base"
    folder.mkdir()
    (folder / "Dockerfile").write_text(DOCKERFILE)
    rootfs = folder / "rootfs.tar"
    builder.run("mmdebstrap", *OPTIONS, RELEASE, str(rootfs), *sources.of_release(RELEASE))
    builder.buildah("build", "--tag", REFERENCE, str(folder))
    rootfs.unlink()
    mark.write_text(key())
