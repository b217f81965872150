"""Programs from the distribution's packages, unpacked into the cache without installing them."""

import hashlib
import os
import platform
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from sandbox.builds.build import BuildEnvironment
from sandbox.builds.logged_run import Task, fresh, watched
from sandbox.builds.progress import Progress
from sandbox.builds.recipe import KEY_LENGTH
from sandbox.errors import BuildError
from sandbox.files import made_once

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


def unpacked(name: str, build_env: BuildEnvironment, say: Callable[[str], object]) -> Path:
    """The folder with the files of this set. Raises BuildError if they cannot be fetched."""
    return fetched(name, PACKAGES[name], build_env, say)


NEEDED: Final = ("apt-get", "dpkg-deb")
OS_RELEASE: Final = Path("/etc/os-release")
LIBRARIES: Final = ("lib", "usr/lib")
PROGRAMS: Final = ("usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin")


def fetched(
    name: str, packages: Sequence[str], build_env: BuildEnvironment, say: Callable[[str], object]
) -> Path:
    """A folder with the files of these packages, and of dependencies that this machine lacks.

    The cache key consists of name, packages and release; if several processes ask at the same time,
    one fetches. Uses apt's own sources, with separate lists and archives. Raises BuildError.
    """
    target = build_env.cache / "debian" / f"{name}-{_key(packages)}"
    return made_once(
        target,
        build_env.cache / "locks" / f"{target.name}.lock",
        lambda: say(f"waiting: another process fetches {name}"),
        lambda folder: _fetch_into(folder, target.name, packages, build_env),
    )


def environment(prefix: Path) -> dict[str, str]:
    """Variables with which the folder's programs run from there."""
    found = (path.parent for root in LIBRARIES for path in (prefix / root).rglob("*.so*"))
    path = [str(prefix / folder) for folder in PROGRAMS]
    return {
        "PATH": os.pathsep.join((*path, os.defpath)),
        "LD_LIBRARY_PATH": os.pathsep.join(sorted(set(map(str, found)))),
    }


def _require_apt(packages: Sequence[str], environ: Mapping[str, str]) -> None:
    if lacking := [each for each in NEEDED if not shutil.which(each, path=environ.get("PATH"))]:
        raise BuildError(
            f"{' and '.join(lacking)} not found: {', '.join(packages)} come from the packages of "
            "Debian or Ubuntu"
        )


def _fetch_into(
    folder: Path, name: str, packages: Sequence[str], build_env: BuildEnvironment
) -> None:
    _require_apt(packages, build_env.environ)
    log = fresh(build_env.cache / "logs" / f"fetch-{name}.log")
    what = f"fetch {', '.join(packages)}"
    progress = Progress(f"fetching {', '.join(packages)}", build_env.stream)
    env = {**build_env.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    work = folder.parent
    for needed in ("lists/partial", "archives/partial"):
        (work / needed).mkdir(parents=True)
    for argv in _apt(work, packages):
        watched(Task(what, argv, work, env, log), progress, _doing)
    for archive in sorted((work / "archives").glob("*.deb")):
        argv = ("dpkg-deb", "--extract", str(archive), str(folder))
        watched(Task(what, argv, work, env, log), progress, _doing)
    progress.end("done")


def _apt(work: Path, packages: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The commands that download: the named packages always, dependencies only if not installed."""
    options = (
        f"Dir::State::lists={work / 'lists'}",
        f"Dir::Cache={work}",
        f"Dir::Cache::archives={work / 'archives'}",
        # The user _apt could not write to our download folder.
        "APT::Sandbox::User=root",
        "Debug::NoLocking=1",
    )
    apt = ("apt-get", "-q", *(f"-o{option}" for option in options))
    yield (*apt, "update")
    how = ("--download-only", "--reinstall", "--no-install-recommends", "--yes")
    yield (*apt, "install", *how, *packages)


def _doing(log: str) -> str:
    lines = log.splitlines()
    return lines[-1] if lines else "starting"


def _key(packages: Iterable[str], release: Path = OS_RELEASE) -> str:
    """The cache key: packages, release and processor, which determine the content."""
    said = release.read_text() if release.exists() else ""
    named = [line for line in said.splitlines() if line.startswith(("ID=", "VERSION_CODENAME="))]
    text = " ".join((*packages, *named, platform.machine()))
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]
