"""Atomic file writes, and locks between processes."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from pathlib import Path

PRIVATE_FOLDER = 0o700
TAIL_BYTES = 64 * 1024


def write_whole(path: Path, text: str) -> None:
    """Write a private file atomically: a reader sees the old content or all of the new."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w") as stream:
            stream.write(text)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def locked(path: Path, waiting: Callable[[], object] = lambda: None) -> Iterator[TextIOWrapper]:
    """Hold the lock file exclusively; `waiting` is called once if another process holds it.

    The kernel releases the lock when its holder ends, even by SIGKILL. A holder may remove the
    file.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    while True:
        with path.open("a") as stream:
            if not _taken(stream):
                waiting()
                fcntl.flock(stream, fcntl.LOCK_EX)
            if _is_at(path, stream):
                yield stream
                return


def _taken(stream: TextIOWrapper) -> bool:
    """Take the lock without waiting; False if another process holds it."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def made_once(
    target: Path, lock: Path, waiting: Callable[[], object], make: Callable[[Path], None]
) -> Path:
    """The folder `target`; if it does not exist, `make` fills it first, completely or not at all.

    If several processes ask at the same time, one makes it. `make` receives an empty folder; files
    that it puts next to that folder are discarded.
    """
    if target.is_dir():
        return target
    with locked(lock, waiting):
        if not target.is_dir():
            target.parent.mkdir(parents=True, exist_ok=True)
            # We hold the lock, so these remains are from a killed process.
            for abandoned in target.parent.glob(f".{target.name}-*"):
                shutil.rmtree(abandoned, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as work:
                (folder := Path(work) / "whole").mkdir()
                make(folder)
                folder.rename(target)
    return target


def last_lines(path: Path, count: int) -> str:
    """The last lines of a log, or a note that there are none."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - TAIL_BYTES))
            text = stream.read().decode(errors="replace")
    except FileNotFoundError:
        return "(no log)"
    return "\n".join(text.splitlines()[-count:]) or "(its log is empty)"


def _is_at(path: Path, stream: TextIOWrapper) -> bool:
    """False if the previous holder removed the file while we waited: others lock a new one."""
    try:
        return os.path.samestat(path.stat(), os.fstat(stream.fileno()))
    except FileNotFoundError:
        return False
