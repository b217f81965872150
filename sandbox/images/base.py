"""The base image, `debian:12-slim`, made by Debian's mmdebstrap instead of being pulled."""

import hashlib
from typing import Final

from sandbox.builds.recipe import KEY_LENGTH, machine
from sandbox.images.builder import Builder
from sandbox.images.machine import sources

RELEASE: Final = "bookworm"
REFERENCE: Final = "docker.io/library/debian:12-slim"
DOCKERFILE: Final = 'FROM scratch\nADD rootfs.tar /\nCMD ["bash"]\n'
MARK: Final = "base"
"""A file in the storage with the key of its base image."""
# As in Debian's own slim image: no manuals or translations, and only licences of the documents.
_SLIM: Final = (
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/man/*",
    "force-unsafe-io",
)
# Makes `apt-get install` leave no files other than those it installs.
_CLEAN: Final = (
    'APT::Keep-Downloaded-Packages "false";',
    'Dir::Cache::pkgcache "";',
    'Dir::Cache::srcpkgcache "";',
)
OPTIONS: Final = (
    "--mode=root",
    "--variant=apt",
    "--format=tar",
    # The package usrmerge instead would add 45 MB of Perl to the image.
    "--include=usr-is-merged",
    "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
    *(f"--dpkgopt={option}" for option in _SLIM),
    '--aptopt=Acquire::Languages "none"',
    "--skip=output/dev",
    # Files copied from this machine or left by apt while the image is made.
    '--customize-hook=rm -f "$1"/etc/resolv.conf "$1"/etc/hostname "$1"/var/cache/apt/*.bin',
    f"""--customize-hook=echo '{" ".join(_CLEAN)}' > "$1"/etc/apt/apt.conf.d/docker-clean""",
)


def key() -> str:
    """A key that depends on all inputs of the base image except Debian's own updates."""
    text = "\n".join((*OPTIONS, DOCKERFILE, RELEASE, *sources(RELEASE), machine()))
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def ensure(builder: Builder) -> None:
    """Create the base image in the builder's storage unless it exists. Raises BuildError."""
    mark = builder.storage / MARK
    if mark.exists() and mark.read_text() == key():
        return
    folder = builder.work / "base"
    folder.mkdir()
    (folder / "Dockerfile").write_text(DOCKERFILE)
    rootfs = folder / "rootfs.tar"
    builder.run("mmdebstrap", *OPTIONS, RELEASE, str(rootfs), *sources(RELEASE))
    builder.buildah("build", "--tag", REFERENCE, str(folder))
    rootfs.unlink()
    mark.write_text(key())
