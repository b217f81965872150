"""What is built: the Go modules, and the key under which a build is kept."""

from __future__ import annotations

import hashlib
import platform
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.errors import BuildError
from sandbox.paths import HERE

if TYPE_CHECKING:
    from pathlib import Path

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
KEY_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Recipe:
    """One Go module, and the programs that come out of it.

    folder: go.mod and go.sum. main: the path from there to a program of our own, if there is one.
    packages: what to build, each into a program called like its last element, without `.go`.
    version_of: the required module whose version the last program reports. version_in: the
    variables that hold it, as the linker names them. links: further names of the first program.
    says_version: the last program knows `--version`. files: folders of the module `version_of`
    whose files are kept beside the programs.
    """

    name: str
    folder: Path
    packages: tuple[str, ...]
    programs: tuple[str, ...]
    version_of: str
    version_in: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    says_version: bool = True
    main: str = "main.go"
    files: tuple[str, ...] = ()


KWOK = Recipe(
    name="kwok",
    folder=HERE / "kwok",
    packages=("sigs.k8s.io/kwok/cmd/kwok",),
    programs=("kwok",),
    version_of="sigs.k8s.io/kwok",
)
_CONTAINERD = "github.com/containerd/containerd/v2"
CONTAINERD = Recipe(
    name="containerd",
    folder=HERE / "containerd",
    packages=(
        ".",
        f"{_CONTAINERD}/cmd/containerd-shim-runc-v2",
        f"{_CONTAINERD}/cmd/ctr",
        f"{_CONTAINERD}/cmd/containerd",
    ),
    programs=("pause", "containerd-shim-runc-v2", "ctr", "containerd"),
    version_of=_CONTAINERD,
    version_in=(f"{_CONTAINERD}/version.Version",),
)
COREDNS = Recipe(
    name="coredns",
    folder=HERE / "coredns",
    packages=(".",),
    programs=("coredns",),
    version_of="github.com/coredns/coredns",
)
_HELM = "helm.sh/helm/v4"
HELM = Recipe(
    name="helm",
    folder=HERE / "helm",
    packages=(f"{_HELM}/cmd/helm",),
    programs=("helm",),
    version_of=_HELM,
    version_in=(f"{_HELM}/internal/version.version",),
    says_version=False,
)
"""For the chart's tests."""
KIND = Recipe(
    name="kind",
    folder=HERE / "kind",
    packages=("sigs.k8s.io/kind",),
    programs=("kind",),
    version_of="sigs.k8s.io/kind",
)
"""For tests on a cluster in containers."""
_KARPENTER = "sigs.k8s.io/karpenter"
KARPENTER = Recipe(
    name="karpenter",
    folder=HERE / "karpenter",
    packages=(f"{_KARPENTER}/kwok",),
    programs=("kwok",),
    version_of=_KARPENTER,
    links=("karpenter",),
    says_version=False,
    files=("pkg/apis/crds", "kwok/apis/crds"),
)
"""An autoscaler, and the CustomResourceDefinitions that it reads."""
REAL = (CONTAINERD, COREDNS)
"""What a real node needs besides those of simulated nodes."""


def version(recipe: Recipe) -> str:
    """The version that go.mod pins, such as v1.36.3."""
    text = (recipe.folder / "go.mod").read_text()
    found = re.search(rf"^(?:require)?\s*{re.escape(recipe.version_of)} (v\S+)", text, re.MULTILINE)
    if found is None:
        raise BuildError(f"{recipe.folder / 'go.mod'} does not require {recipe.version_of}")
    return found[1]


def key(recipe: Recipe, architecture: str | None = None) -> str:
    """The name of a build, made of all that decides its content.

    That is the module's files, which pin the language version and every dependency by hash, how it
    is linked, and the processor. The Go release that happens to be installed is left out: a build
    that was kept must be found where no Go is.
    """
    digest = hashlib.sha256()
    for name, file in (("go.mod", "go.mod"), ("go.sum", "go.sum"), ("main.go", recipe.main)):
        path = recipe.folder / file
        content = path.read_bytes() if path.exists() else b""
        digest.update(f"{name} {len(content)}\n".encode() + content)
    parts = (*link_flags(recipe), architecture or machine(), *recipe.files)
    digest.update(" ".join(parts).encode())
    return f"{recipe.name}-{version(recipe)}-{digest.hexdigest()[:KEY_LENGTH]}"


def link_flags(recipe: Recipe) -> tuple[str, ...]:
    """-ldflags: no debug tables, and the version, without which clients refuse v0.0.0."""
    release = version(recipe)
    major, minor, _ = release.removeprefix("v").split(".", 2)
    values = (release, major, minor)
    variables = (
        f"-X={name}={value}" for name, value in zip(recipe.version_in, values, strict=False)
    )
    return ("-s", "-w", *variables)


def machine() -> str:
    """This machine's processor, in Go's words."""
    here = platform.machine()
    return ARCHITECTURES.get(here, here)
