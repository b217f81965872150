"""The traceback of an unexpected error, in a file: the command may not be safe to run again."""

import os
import platform
import re
import traceback
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

_MAX_FILES: Final = 10
"""Files that are kept: each further one replaces the oldest."""
_WORD: Final = r"[\w-]{0,40}(?:token|passw(?:or)?d|pwd|passphrase|(?:api|access)[_-]?key)"
_MEMBER_NAME: Final = rf"(?i:{_WORD}|[\w-]{{0,40}}(?:secret|key-?data))"
_MEMBER: Final = (
    r"""((?:^|[{,?&(\[:]|(?<!-)--|\\?['"]|\b(?=[A-Z_]{1,80}=)|[.!]\s)(?:[ \t]*|\s{0,40})"""
    rf"""{_MEMBER_NAME}\\?['"]?\s{{0,40}}[:=]\s*(?:(?i:bearer|basic|token)[ ])?"""
)
_ODD: Final = r"(?:(?!\2)[^0-9\n])*[0-9]|(?:(?!\2)\S){20}"
"""The rest of a quoted token that looks like a secret: it has a digit, or is long."""
_CREDENTIALS: Final = (
    re.compile(r"(\b(?:(?i:bearer)|Basic)\s+)[^\s'\"]+"),
    re.compile(r"((?i:\bauthorization)\\?['\"]?\s*[:=]\s*\\?['\"]?\w+ )[^\s'\"\\]+"),
    re.compile(r"((?i:\bcookie): )(?=[^=\n]{1,200}=).+"),
    re.compile(r"(://[^\s/@:'\"]*:)(?:(?!://)[^\s'\"])+(?=@)"),
    re.compile(r"(://)[^\s/@:'\"]+(?=@)"),
    re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?=-----END|\Z)", re.DOTALL),
    re.compile(r"((?<![\w-])(?:[\w-]{0,200}?-)?)eyJ[\w-]+\.[\w-]+\.[\w-]*"),
    re.compile(r"((?<!-)--" + _MEMBER_NAME + r"\s+)(?:'[^']*'|\"[^\"]*\"|[^\s'\"]+)"),
    re.compile(_MEMBER + r"b?(\\?['\"]))(?:(?!\2)(?:[^\\]|\\.))*", re.MULTILINE),
    re.compile(_MEMBER + r"(?:\|[-+]?\s+)?)(?:[^\s'\"\\,}&)]|\\(?!['\"]))+", re.MULTILINE),
    re.compile(
        rf"((?<![\w-])(?i:{_WORD}) (['\"]))(?:(?<!(?i:token)..)|(?={_ODD}))(?:(?!\2).){{3,}}"
    ),
    re.compile(rf"((?<![\w-])(?i:{_WORD}) (?:is|was) )(?=\S*[0-9])[^\s'\"]{{8,}}"),
)
"""Headers, users and passwords in URLs, private keys, JSON web tokens, options, variables of an
environment, members of a kubeconfig or of a plugin's answer, and what prose says of them.

None is searched for again from each place in a run of line ends, blanks or URLs, or only over a
bounded length: a message that repeats them would take the square of its length.
"""


def write_crash(error: Exception, command: str, now: datetime, environ: Mapping[str, str]) -> str:
    """Write it below the user's cache directory and return its path; empty if that is impossible.

    Only the user may read it: messages of errors can contain names and values from the cluster.
    Options are left out, because `--env` may have a password, and so is what `redacted` replaces:
    users attach the file to public reports.
    """
    folder = _folder(environ)
    if folder is None:
        return ""
    versions = f"version {_version()}, Python {platform.python_version()}"
    text = redacted("".join(traceback.format_exception(error)))
    text = f"kubectl edl {command}, {versions}\n\n{text}"
    path = folder / f"{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}-{os.getpid()}.txt"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(text.encode(errors="backslashreplace"))
        _remove_oldest(folder)
    except OSError:
        return ""
    return str(path)


def redacted(text: str) -> str:
    """The text of an error without credentials, which errors of other libraries can quote."""
    for pattern in _CREDENTIALS:
        text = pattern.sub(r"\1[redacted]", text)
    return text


def _version() -> str:
    """A copied tree on PYTHONPATH has none."""
    try:
        return version("kubectl-edl")
    except PackageNotFoundError:
        return "unknown"


def _folder(environ: Mapping[str, str]) -> Path | None:
    """By the XDG specification, which ignores a relative path."""
    cache = Path(environ.get("XDG_CACHE_HOME", ""))
    if not cache.is_absolute():
        cache = Path(environ.get("HOME", "")) / ".cache"
    return cache / "kubectl-edl" / "crashes" if cache.is_absolute() else None


def _remove_oldest(folder: Path) -> None:
    """The names begin with their time."""
    for path in sorted(folder.glob("*.txt"))[:-_MAX_FILES]:
        with suppress(OSError):  # another command was faster
            path.unlink()
