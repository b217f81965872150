"""This process's own streams, as they are: closed by the shell (`>&-`), or of few letters."""

import io
import os
from typing import TextIO


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
    """What is closed cannot be read, which is told to whoever tries; an empty one could be."""
    return _nothing() if stream is None else stream


def _nothing() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 (pathlib: a cold start)
