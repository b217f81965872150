"""The Kubernetes releases of sandboxes: a folder with go.mod and go.sum each, and one program.

A release is named by its minor version, such as 1.35; go.mod pins the patch. `python -m
sandbox.builds.pin v1.35.4` writes the folder.
"""

from collections.abc import Mapping
from typing import Final

from sandbox.builds.recipe import Recipe
from sandbox.errors import SandboxError
from sandbox.paths import HERE

CONTROL_PLANES: Final = HERE / "controlplane"
PROGRAM: Final = "controlplane.go"
VARIABLE: Final = "EDL_KUBERNETES"
DEFAULT: Final = "1.37"
RELEASES: Final = tuple(
    sorted(
        (folder.parent.name for folder in CONTROL_PLANES.glob("*/go.mod")),
        key=lambda minor: tuple(map(int, minor.split("."))),
    )
)
"""Oldest first."""
_VERSION: Final = "k8s.io/component-base/version.git"


def chosen(environ: Mapping[str, str]) -> str | None:
    """The release in EDL_KUBERNETES; None if it is not set. Raises SandboxError."""
    minor = environ.get(VARIABLE)
    if not minor:
        return None
    if minor not in RELEASES:
        raise SandboxError(f"Kubernetes {minor!r}: must be one of {', '.join(RELEASES)}")
    if own := environ.get("EDL_BINARIES"):
        raise SandboxError(f"Kubernetes {minor}: EDL_BINARIES={own} holds one already: unset it")
    return minor


def control_plane(minor: str) -> Recipe:
    """The recipe of a release's components, from the shared program or one in its folder."""
    folder = CONTROL_PLANES / minor
    main = PROGRAM if (folder / PROGRAM).exists() else f"../{PROGRAM}"
    return Recipe(
        name="controlplane",
        folder=folder,
        main=main,
        packages=(main,),
        programs=("controlplane",),
        version_of="k8s.io/kubernetes",
        version_in=(f"{_VERSION}Version", f"{_VERSION}Major", f"{_VERSION}Minor"),
        links=(
            "etcd",
            "kube-apiserver",
            "kube-controller-manager",
            "kube-proxy",
            "kube-scheduler",
            "kubectl",
            "kubelet",
        ),
    )


def wanted(environ: Mapping[str, str]) -> Recipe:
    """The recipe for EDL_KUBERNETES, or else for the default release. Raises SandboxError."""
    return control_plane(chosen(environ) or DEFAULT)
