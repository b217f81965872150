"""Files written whole or not at all, and locks between processes."""

from __future__ import annotations

import contextlib
import fcntl
import os
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
def locked(
    path: Path, waiting: Callable[[], None] = lambda: None, *, shared: bool = False
) -> Iterator[TextIOWrapper]:
    """Hold the lock file, alone or with other sharers; `waiting` is called once if that takes time.

    The kernel drops the lock when its holder ends, however it ends. A holder may remove the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=PRIVATE_FOLDER)
    operation = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    while True:
        with path.open("a") as stream:
            if not taken(stream, operation):
                waiting()
                fcntl.flock(stream, operation)
            if _is_at(path, stream):
                yield stream
                return


def taken(stream: TextIOWrapper, operation: int) -> bool:
    """Whether the lock (LOCK_SH or LOCK_EX) could be taken at once."""
    try:
        fcntl.flock(stream, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
