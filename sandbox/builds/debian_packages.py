"""Every set of the distribution's packages that the sandbox or its tests unpack into the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sandbox.builds import debian

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from sandbox.builds.build import Bench

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "node": ("runc", "containernetworking-plugins", "nftables"),
    "images": ("buildah", "mmdebstrap", "debian-archive-keyring"),
    # A quarter of the size of `chromium`: it has no window, and needs no display.
    "chromium": ("chromium-headless-shell", "fonts-dejavu-core"),
    "busybox": ("busybox-static",),
    "faketime": ("libfaketime",),
    "prometheus": ("prometheus",),
    "shells": ("bash-completion", "fish", "zsh"),
}
"""By the name of the set; each becomes one folder of the cache."""


def unpacked(name: str, bench: Bench, say: Callable[[str], None]) -> Path:
    """The folder with the files of this set. Raises BuildError where they cannot be fetched."""
    return debian.fetched(name, PACKAGES[name], bench, say)
