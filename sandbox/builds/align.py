"""`python -m sandbox.builds.align`: give other programs the control plane's versions of modules.

Go compiles a package once for all programs that need it at the same version, together with the same
versions of all that it imports. Most packages of the other programs are also the control plane's.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from typing import Final

from sandbox.builds import toolchain
from sandbox.builds.recipe import CONTAINERD, HELM, KARPENTER, KWOK, REAL, Recipe
from sandbox.releases import DEFAULT, control_plane

ALIGNED: Final = (KWOK, *REAL, HELM, KARPENTER)
OWN: Final[Mapping[str, Mapping[str, str]]] = {
    CONTAINERD.name: {
        "github.com/containerd/containerd/api": "v1.12.0",
        "github.com/containerd/log": "v0.2.0",
        "github.com/sirupsen/logrus": "v1.10.2",
        # The last that works with the control plane's OpenTelemetry.
        "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp": "v1.44.0",
    }
}
"""Versions that a program needs although the control plane has others, by the recipe's name."""
_PINNED: Final = re.compile(r"^(?:require)?\s*([^\s(]+) (v\S+)", re.MULTILINE)
_REPLACED: Final = re.compile(r"^(?:replace)?\s*(\S+) => \1 (\S+)$", re.MULTILINE)


def align(recipe: Recipe, versions: Mapping[str, str]) -> None:
    """Rewrite the recipe's go.mod and go.sum for these versions of the modules that it names."""
    own = OWN.get(recipe.name, {})
    wanted = {**versions, **own}
    _edit(recipe, (f"-dropreplace={module}" for module in replaced(_text(recipe))))
    _replace(recipe, own)
    while differing := {m for m, v in pinned(recipe).items() if wanted.get(m, v) != v}:
        _replace(recipe, {module: wanted[module] for module in differing})


def pinned(recipe: Recipe) -> dict[str, str]:
    """The version of each module that go.mod names."""
    text = _text(recipe)
    return dict(_PINNED.findall(text)) | replaced(text)


def replaced(text: str) -> dict[str, str]:
    """The modules that a go.mod replaces by another version of themselves, and these versions."""
    return dict(_REPLACED.findall(text))


def _replace(recipe: Recipe, versions: Mapping[str, str]) -> None:
    edits = (f"-replace={module}={module}@{version}" for module, version in versions.items())
    _edit(recipe, sorted(edits))
    _go(recipe, "mod", "tidy")


def _edit(recipe: Recipe, changes: Iterable[str]) -> None:
    _go(recipe, "mod", "edit", "-fmt", *changes)


def _go(recipe: Recipe, *args: str) -> None:
    env = toolchain.environment(os.environ)
    go = toolchain.go(env, recipe.folder)
    subprocess.run((go, *args), cwd=recipe.folder, env=env, check=True)


def _text(recipe: Recipe) -> str:
    return (recipe.folder / "go.mod").read_text()


if __name__ == "__main__":
    usual = pinned(control_plane(DEFAULT))
    for each in ALIGNED:
        align(each, usual)
