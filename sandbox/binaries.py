"""Where the programs come from: a folder that the user names, the cache, or a build."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from sandbox.build import Bench, built
from sandbox.errors import BuildError
from sandbox.recipe import RECIPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from sandbox.places import Places

NEEDED = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
    "kwok",
)


def find(where: Places, environ: Mapping[str, str], say: Callable[[str], None]) -> dict[str, Path]:
    """The path of each program, built if need be. Raises BuildError."""
    if where.binaries:
        return named(where.binaries)
    bench = Bench(where.cache, environ)
    folders = {recipe: built(recipe, bench, say) for recipe in RECIPES}
    return {p: folder / p for recipe, folder in folders.items() for p in recipe.programs}


def named(folder: Path) -> dict[str, Path]:
    """The programs of the user's own folder. Raises BuildError if one is lacking."""
    lacking = [name for name in NEEDED if not shutil.which(folder / name)]
    if lacking:
        raise BuildError(
            f"EDL_BINARIES={folder} lacks {', '.join(lacking)}: "
            "put them there, or unset it so that they are built"
        )
    return {path.name: path for path in folder.iterdir() if os.access(path, os.X_OK)}
