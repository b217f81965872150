"""Programs from the distribution's packages, unpacked into the cache: nothing is installed."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sandbox.errors import BuildError
from sandbox.files import last_lines, locked
from sandbox.progress import Progress
from sandbox.recipe import KEY_LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sandbox.build import Bench

LOG_LINES: Final = 10
NEEDED: Final = ("apt-get", "dpkg")
OS_RELEASE: Final = Path("/etc/os-release")
PROGRAMS: Final = ("usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin")


def fetched(name: str, packages: Sequence[str], bench: Bench, say: Callable[[str], None]) -> Path:
    """A folder with the files of these packages and of what they need beyond this machine's own.

    Kept in the cache by name, packages and release; several processes that ask at once fetch once.
    apt's own sources are used, with lists and archives of ours. Raises BuildError.
    """
    if lacking := [each for each in NEEDED if not _which(each, bench.environ)]:
        raise BuildError(
            f"{' and '.join(lacking)} not found: {', '.join(packages)} come from the packages of "
            "Debian or Ubuntu"
        )
    target = bench.cache / "debian" / f"{name}-{_key(packages)}"
    if target.is_dir():
        return target
    lock = bench.cache / "locks" / f"{target.name}.lock"
    with locked(lock, lambda: say(f"waiting: another process fetches {name}")):
        if not target.is_dir():
            _fetch_into(target, packages, bench)
    return target


def environment(prefix: Path) -> dict[str, str]:
    """What lets the folder's programs run from where they lie."""
    libraries = sorted({path.parent for path in (prefix / "usr" / "lib").rglob("*.so*")})
    path = [str(prefix / folder) for folder in PROGRAMS]
    return {
        "PATH": os.pathsep.join((*path, os.defpath)),
        "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries)),
    }


def _fetch_into(target: Path, packages: Sequence[str], bench: Bench) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # We hold the lock: what lies there was left by a fetch that was killed.
    for abandoned in target.parent.glob(f".{target.name}-*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    log = bench.cache / "logs" / f"fetch-{target.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    progress = Progress(f"fetching {', '.join(packages)}", bench.stream)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as temporary:
        work = Path(temporary)
        try:
            _download(work, packages, bench, log)
            _unpack(work, bench, log)
        except subprocess.CalledProcessError as error:
            progress.end("failed")
            raise BuildError(
                f"cannot fetch {', '.join(packages)}: {error.cmd[0]} failed; the last lines of "
                f"{log}:\n{last_lines(log, LOG_LINES)}"
            ) from None
        progress.end("done")
        (work / "whole").rename(target)


def _download(work: Path, packages: Sequence[str], bench: Bench, log: Path) -> None:
    """Named packages always; others only if this machine lacks them."""
    for folder in ("lists/partial", "archives/partial"):
        (work / folder).mkdir(parents=True)
    options = (
        f"Dir::State::lists={work / 'lists'}",
        f"Dir::Cache={work}",
        f"Dir::Cache::archives={work / 'archives'}",
        # The download folder is ours alone: the user _apt could not write there.
        "APT::Sandbox::User=root",
        "Debug::NoLocking=1",
    )
    apt = ("apt-get", "-q", *(f"-o{option}" for option in options))
    _run((*apt, "update"), bench.environ, log)
    how = ("--download-only", "--reinstall", "--no-install-recommends", "--yes")
    _run((*apt, "install", *how, *packages), bench.environ, log)


def _unpack(work: Path, bench: Bench, log: Path) -> None:
    for archive in sorted((work / "archives").glob("*.deb")):
        _run(("dpkg-deb", "--extract", str(archive), str(work / "whole")), bench.environ, log)


def _run(argv: tuple[str, ...], environ: Mapping[str, str], log: Path) -> None:
    quiet = {**environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    with log.open("ab") as stream:
        subprocess.run(
            argv, env=quiet, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, check=True
        )


def _key(packages: Iterable[str], release: Path = OS_RELEASE) -> str:
    """What decides the content: which packages, of which release, for which processor."""
    said = release.read_text() if release.exists() else ""
    named = [line for line in said.splitlines() if line.startswith(("ID=", "VERSION_CODENAME="))]
    text = " ".join((*packages, *named, platform.machine()))
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def _which(program: str, environ: Mapping[str, str]) -> str | None:
    return shutil.which(program, path=environ.get("PATH"))
