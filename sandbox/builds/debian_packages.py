"""The sets of distribution packages that the sandbox and its tests unpack into the cache."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from sandbox.builds import debian
from sandbox.builds.build import Bench

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "node": ("runc", "containernetworking-plugins", "nftables"),
    "images": ("buildah", "mmdebstrap", "debian-archive-keyring"),
    # A quarter of the size of `chromium`, because it has no graphical interface.
    "chromium": ("chromium-headless-shell", "fonts-dejavu-core"),
    "busybox": ("busybox-static",),
    "faketime": ("libfaketime",),
    "prometheus": ("prometheus",),
    "shells": ("bash-completion", "fish", "zsh"),
}
"""Packages by set; each set becomes one folder in the cache."""


def unpacked(name: str, bench: Bench, say: Callable[[str], None]) -> Path:
    """The folder with the files of this set. Raises BuildError if they cannot be fetched."""
    return debian.fetched(name, PACKAGES[name], bench, say)
