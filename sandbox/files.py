"""Files written whole or not at all, and locks between processes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import TextIOWrapper

PRIVATE_FOLDER = 0o700
TAIL_BYTES = 64 * 1024


def write_whole(path: Path, text: str) -> None:
    """Write a private file; a reader sees the old content or all of the new, never a part."""
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
def locked(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[TextIOWrapper]:
    """Hold the lock file alone; `waiting` is called once if that takes time.

    The kernel drops the lock when its holder ends, however it ends. A holder may remove the file.
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
    """Whether the lock could be taken at once."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def made_once(
    target: Path, lock: Path, waiting: Callable[[], None], make: Callable[[Path], None]
) -> Path:
    """The folder `target`, filled first by `make` where it is not there: whole or not at all.

    Several processes that ask at once make it once. `make` gets an empty folder; what it puts
    beside that one is thrown away.
    """
    if target.is_dir():
        return target
    with locked(lock, waiting):
        if not target.is_dir():
            target.parent.mkdir(parents=True, exist_ok=True)
            # We hold the lock: what lies there was left by a process that was killed.
            for abandoned in target.parent.glob(f".{target.name}-*"):
                shutil.rmtree(abandoned, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as work:
                (folder := Path(work) / "whole").mkdir()
                make(folder)
                folder.rename(target)
    return target


def last_lines(path: Path, count: int) -> str:
    """The last lines of a log, or what stands in for them."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - TAIL_BYTES))
            text = stream.read().decode(errors="replace")
    except FileNotFoundError:
        return "(no log)"
    return "\n".join(text.splitlines()[-count:]) or "(its log is empty)"


def _is_at(path: Path, stream: TextIOWrapper) -> bool:
    """False if the last holder removed the file while we waited: others lock a new one by now."""
    try:
        return os.path.samestat(path.stat(), os.fstat(stream.fileno()))
    except FileNotFoundError:
        return False
