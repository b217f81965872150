"""The Go modules to build, and the key under which a build is cached."""

import hashlib
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import BuildError
from sandbox.paths import HERE

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
KEY_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Recipe:
    """One Go module, and the programs built from it.

    folder: contains go.mod and go.sum. main: the path from there to our own program, if any.
    packages: what to build, each into a program named after its last element, without `.go`.
    version_of: the required module whose version the last program reports. version_in: the linker's
    names of the variables that hold it. links: further names of the first program. says_version:
    the last program supports `--version`. files: folders of the module `version_of` whose files are
    copied next to the programs. tags: of the build.
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
    tags: tuple[str, ...] = ()


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
    tags=("no_btrfs", "no_devmapper", "no_tracing", "no_zfs"),
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
"""For tests of the Helm chart."""
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
"""An autoscaler, with the CustomResourceDefinitions that it needs."""
REAL = (CONTAINERD, COREDNS)
"""Recipes that only a real node needs."""


def version(recipe: Recipe) -> str:
    """The version that go.mod pins, such as v1.36.3."""
    text = (recipe.folder / "go.mod").read_text()
    found = re.search(rf"^(?:require)?\s*{re.escape(recipe.version_of)} (v\S+)", text, re.MULTILINE)
    if found is None:
        raise BuildError(f"{recipe.folder / 'go.mod'} does not require {recipe.version_of}")
    return found[1]


def key(recipe: Recipe, architecture: str | None = None) -> str:
    """The name of a build, derived from everything that determines its content.

    That is the module's files, which pin the language version and every dependency by hash, the
    linker flags, the build tags, and the processor. The installed Go release is excluded, because a
    cached build must be found on machines without Go.
    """
    digest = hashlib.sha256()
    for name, file in (("go.mod", "go.mod"), ("go.sum", "go.sum"), ("main.go", recipe.main)):
        path = recipe.folder / file
        content = path.read_bytes() if path.exists() else b""
        digest.update(f"{name} {len(content)}\n".encode() + content)
    parts = (*link_flags(recipe), architecture or machine(), *recipe.files, *recipe.tags)
    digest.update(" ".join(parts).encode())
    return f"{recipe.name}-{version(recipe)}-{digest.hexdigest()[:KEY_LENGTH]}"


def link_flags(recipe: Recipe) -> tuple[str, ...]:
    """-ldflags: without debug tables, and with the version, because clients reject v0.0.0."""
    release = version(recipe)
    major, minor, _ = release.removeprefix("v").split(".", 2)
    values = (release, major, minor)
    variables = (
        f"-X={name}={value}" for name, value in zip(recipe.version_in, values, strict=False)
    )
    return ("-s", "-w", *variables)


def machine() -> str:
    """This machine's processor, by Go's name."""
    here = platform.machine()
    return ARCHITECTURES.get(here, here)
