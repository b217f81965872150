"""Finds the programs: in a folder that the user names, in the cache, or by a build."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sandbox.builds.build import BuildEnvironment, built
from sandbox.builds.debian import PACKAGES, unpacked
from sandbox.builds.recipe import HELM, KARPENTER, KWOK, REAL
from sandbox.errors import BuildError
from sandbox.paths import Places
from sandbox.releases import control_plane, wanted

NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok")
NEEDED_BY_A_REAL_NODE = (
    *("kubelet", "kube-proxy", "coredns", "pause"),
    *("containerd", "containerd-shim-runc-v2", "ctr"),
)


def find(
    where: Places,
    environ: Mapping[str, str],
    say: Callable[[str], object],
    *,
    release: str | None = None,
    real: bool = False,
) -> dict[str, Path]:
    """The path of each program, built if the cache lacks it. Raises BuildError.

    release: of Kubernetes, instead of the environment's. real: include those of a real node.
    """
    if where.binaries:
        return named(where.binaries, NEEDED + (NEEDED_BY_A_REAL_NODE if real else ()))
    build_env = BuildEnvironment(where.cache, environ)
    kubernetes = control_plane(release) if release else wanted(environ)
    recipes = (kubernetes, KWOK, *(REAL if real else ()))
    folders = {recipe: built(recipe, build_env, say) for recipe in recipes}
    return {p: folder / p for r, folder in folders.items() for p in r.programs + r.links}


def prepare(where: Places, environ: Mapping[str, str], say: Callable[[str], object]) -> list[Path]:
    """Build or unpack everything that any test runs; returns the folders. Raises BuildError.

    Packages are skipped where apt cannot fetch them: the tests that need them say so.
    """
    build_env = BuildEnvironment(where.cache, environ)
    others = (HELM, KARPENTER)
    recipes = others if where.binaries else (wanted(environ), KWOK, *REAL, *others)
    folders = [built(recipe, build_env, say) for recipe in recipes]
    for name in PACKAGES:
        try:
            folders.append(unpacked(name, build_env, say))
        except BuildError as error:
            say(f"left out: {error}")
    return folders


def named(folder: Path, needed: Sequence[str] = NEEDED) -> dict[str, Path]:
    """The programs in the user's own folder. Raises BuildError if one is missing."""
    lacking = [name for name in needed if not shutil.which(folder / name)]
    if lacking:
        raise BuildError(
            f"EDL_BINARIES={folder} lacks {', '.join(lacking)}: "
            "put them there, or unset it so that they are built"
        )
    return {path.name: path for path in folder.iterdir() if os.access(path, os.X_OK)}
