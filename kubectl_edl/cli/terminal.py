"""The terminal and this process's streams, which may be closed (`>&-`) or limited to ASCII."""

import io
import os
from collections.abc import Mapping
from typing import TextIO


def draws(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether it is a terminal on which a cursor moves."""
    return stream.isatty() and environ.get("TERM") != "dumb"


def knows_unicode(environ: Mapping[str, str]) -> bool:
    """As the locale says; LC_CTYPE may be Python's own word for the locale C (PEP 538)."""
    spoken = environ.get("LC_CTYPE", "")
    said = environ.get("LC_ALL") or (spoken != "C.UTF-8" and spoken) or environ.get("LANG", "")
    return "utf8" in said.lower().replace("-", "")


def printing(stream: TextIO | None) -> TextIO:
    """Python has None for one that is closed. A letter that it has no byte for is escaped."""
    if stream is None:
        return _nothing()
    if isinstance(stream, io.TextIOWrapper):
        # What programs read is manifests: UTF-8, as those that we read.
        encoding = None if stream.isatty() else "utf-8"
        stream.reconfigure(encoding=encoding, errors="backslashreplace")
    return stream


def reading(stream: TextIO | None) -> TextIO:
    """A closed stream cannot be read, and says so; an empty one could be."""
    return _nothing() if stream is None else stream


def _nothing() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 (pathlib: a cold start)
