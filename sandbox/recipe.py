"""What is built: the two Go modules, and the key under which a build is kept."""

from __future__ import annotations

import hashlib
import platform
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.errors import BuildError
from sandbox.places import HERE

if TYPE_CHECKING:
    from pathlib import Path

INPUTS = ("go.mod", "go.sum", "main.go")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
KEY_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Recipe:
    """One Go module, and the programs that come out of it.

    folder: go.mod, go.sum and, for a program of our own, main.go. package: what to build.
    version_of: the required module whose version the programs report. programs: the first is the
    file, the others are links to it.
    """

    name: str
    folder: Path
    package: str
    version_of: str
    programs: tuple[str, ...]


CONTROL_PLANE = Recipe(
    name="controlplane",
    folder=HERE / "controlplane",
    package=".",
    version_of="k8s.io/kubernetes",
    programs=(
        "controlplane",
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-proxy",
        "kube-scheduler",
        "kubectl",
        "kubelet",
    ),
)
KWOK = Recipe(
    name="kwok",
    folder=HERE / "kwok",
    package="sigs.k8s.io/kwok/cmd/kwok",
    version_of="sigs.k8s.io/kwok",
    programs=("kwok",),
)
RECIPES = (CONTROL_PLANE, KWOK)


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
    for name in INPUTS:
        path = recipe.folder / name
        content = path.read_bytes() if path.exists() else b""
        digest.update(f"{name} {len(content)}\n".encode() + content)
    digest.update(" ".join((*link_flags(recipe), architecture or machine())).encode())
    return f"{recipe.name}-{version(recipe)}-{digest.hexdigest()[:KEY_LENGTH]}"


def link_flags(recipe: Recipe) -> tuple[str, ...]:
    """-ldflags: no debug tables, and the version, without which clients refuse v0.0.0."""
    release = version(recipe)
    major, minor, _ = release.removeprefix("v").split(".", 2)
    values = {"gitVersion": release, "gitMajor": major, "gitMinor": minor}
    variables = (f"-X=k8s.io/component-base/version.{k}={v}" for k, v in values.items())
    return ("-s", "-w", *(variables if recipe is CONTROL_PLANE else ()))


def machine() -> str:
    """This machine's processor, in Go's words."""
    here = platform.machine()
    return ARCHITECTURES.get(here, here)
