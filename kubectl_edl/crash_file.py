"""The traceback of an unexpected error, in a file: the command may not be safe to run again."""

import os
import platform
import traceback
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

_MOST: Final = 10
"""Files that are kept: each further one replaces the oldest."""


def write_crash(error: Exception, command: str, at: datetime, environ: Mapping[str, str]) -> str:
    """Write it below the user's cache directory and return its path; empty if that is impossible.

    Only the user may read it: messages of errors can contain names and values from the cluster.
    Options are left out, because `--env` may have a password.
    """
    folder = _folder(environ)
    if folder is None:
        return ""
    versions = f"version {version('kubectl-edl')}, Python {platform.python_version()}"
    text = "".join((f"kubectl edl {command}, {versions}\n\n", *traceback.format_exception(error)))
    path = folder / f"{at.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}-{os.getpid()}.txt"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(text.encode(errors="backslashreplace"))
        _remove_oldest(folder)
    except OSError:
        return ""
    return str(path)


def _folder(environ: Mapping[str, str]) -> Path | None:
    """By the XDG specification, which ignores a relative path."""
    cache = Path(environ.get("XDG_CACHE_HOME", ""))
    if not cache.is_absolute():
        cache = Path(environ.get("HOME", "")) / ".cache"
    return cache / "kubectl-edl" / "crashes" if cache.is_absolute() else None


def _remove_oldest(folder: Path) -> None:
    """The names begin with their time."""
    for path in sorted(folder.glob("*.txt"))[:-_MOST]:
        with suppress(OSError):  # another command was faster
            path.unlink()
