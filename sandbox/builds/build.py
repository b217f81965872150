"""Builds a Go module once, and keeps the result only if it is complete."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from sandbox.builds import toolchain
from sandbox.builds.logged_run import Task, fresh, watched
from sandbox.builds.progress import Progress
from sandbox.builds.recipe import Recipe, key, link_flags, version
from sandbox.errors import BuildError
from sandbox.files import made_once

FLAGS: Final = ("-buildvcs=false", "-gcflags=all=-dwarf=false")
"""The same for every recipe, so that a package that several need is compiled once.

Debug tables, which take an eighth of a compiler's time, would not be linked. No -trimpath: with it,
a module that go.mod replaces by another version is compiled apart from that version.
"""


@dataclass(frozen=True, slots=True)
class BuildEnvironment:
    """Where to build: the cache folder, the environment, and the stream for progress."""

    cache: Path
    environ: Mapping[str, str]
    stream: TextIO = sys.stderr


def built(recipe: Recipe, build_env: BuildEnvironment, say: Callable[[str], object]) -> Path:
    """The folder with the recipe's programs, built first if the cache lacks them.

    If several processes ask at the same time, one builds. Raises BuildError, which names the log.
    """
    name = key(recipe)
    return made_once(
        kept(recipe, build_env.cache),
        build_env.cache / "locks" / f"{name}.lock",
        lambda: say(f"waiting: another process builds {name}"),
        lambda folder: _build_into(folder, recipe, build_env),
    )


def kept(recipe: Recipe, cache: Path) -> Path:
    """The folder in the cache for the recipe's programs."""
    return cache / "binaries" / key(recipe)


def _build_into(folder: Path, recipe: Recipe, build_env: BuildEnvironment) -> None:
    go = toolchain.go(build_env.environ, recipe.folder)
    _compile(go, folder, recipe, build_env)
    _copy_files(go, folder, recipe, build_env)
    for link in recipe.links:
        (folder / link).symlink_to(recipe.programs[0])
    if recipe.says_version:
        _try(folder / (recipe.programs + recipe.links)[-1], recipe)


def _compile(go: str, folder: Path, recipe: Recipe, build_env: BuildEnvironment) -> None:
    ldflags = f"-ldflags={' '.join(link_flags(recipe))}"
    tags = f"-tags={','.join(recipe.tags)}"
    task = Task(
        what=f"build {recipe.version_of}",
        argv=(go, "build", "-v", *FLAGS, tags, ldflags, "-o", f"{folder}/", *recipe.packages),
        folder=recipe.folder,
        env=toolchain.environment(build_env.environ),
        log=fresh(build_env.cache / "logs" / f"build-{key(recipe)}.log"),
    )
    progress = Progress(f"building {recipe.version_of} {version(recipe)}", build_env.stream)
    watched(task, progress, _doing)
    progress.end("done")


def _copy_files(go: str, folder: Path, recipe: Recipe, build_env: BuildEnvironment) -> None:
    if not recipe.files:
        return
    asked = (go, "list", "-m", "-f", "{{.Dir}}", recipe.version_of)
    env = toolchain.environment(build_env.environ)
    found = subprocess.run(
        asked, cwd=recipe.folder, env=env, capture_output=True, text=True, check=False
    )
    if found.returncode:
        raise BuildError(f"{recipe.version_of}: its folder is not known: {found.stderr.strip()}")
    for part in recipe.files:
        for file in sorted((Path(found.stdout.strip()) / part).iterdir()):
            shutil.copyfile(file, folder / file.name)  # files in the module cache are read-only


def _doing(log: str) -> str:
    """The current step: `go build -v` prints each package compiled and each module fetched."""
    lines = log.splitlines()
    compiled = sum(not line.startswith("go: ") for line in lines)
    last = lines[-1].removeprefix("go: ") if lines else "reading the module"
    return f"{compiled} packages, {last}" if compiled else last


def _try(program: Path, recipe: Recipe) -> None:
    """Raise BuildError if the binary does not start or reports another version."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    if version(recipe).removeprefix("v") not in said.stdout:
        answer = " ".join((said.stdout + said.stderr).split())
        raise BuildError(
            f"{program.name} was built but says {answer!r} instead of {version(recipe)}: "
            "run `go clean -cache` and build again"
        )
