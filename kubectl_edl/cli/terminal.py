"""The terminal: streams that may be closed (`>&-`) or limited to ASCII, keys, and its size."""

from __future__ import annotations

import io
import os
import select
import signal
from contextlib import ExitStack, contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


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


_ENDS: Final = frozenset(b"qQ")
_LOOK: Final = 0.2
"""Seconds between two looks whether the keys still matter."""


class Attention:
    """Wakes the drawing thread; set by another thread or a signal handler."""

    def __init__(self) -> None:
        self._woken = Event()
        self.ended = False
        self._at_once = False

    def wake(self) -> None:
        """Something may have changed."""
        self._woken.set()

    def redraw(self) -> None:
        """The picture is wrong until it is drawn again."""
        self._at_once = True
        self._woken.set()

    def end(self) -> None:
        self.ended = True
        self._woken.set()

    def wait(self, seconds: float) -> bool:
        """Until something happens, at most so long; whether it is drawn at once."""
        self._woken.wait(seconds)
        at_once, self._at_once = self._at_once, False
        return at_once

    def forget(self) -> None:
        """What happens from now on wakes again."""
        self._woken.clear()


@contextmanager
def listening(attention: Attention, stdin: TextIO) -> Iterator[None]:
    """As long as a terminal shows a picture: `q` ends it, and a new size draws it again."""
    with ExitStack() as stack:
        if hasattr(signal, "SIGWINCH"):
            before = signal.signal(signal.SIGWINCH, lambda *_: attention.redraw())
            stack.callback(signal.signal, signal.SIGWINCH, before)
        if stdin.isatty() and not _in_background(stdin.fileno()):
            stack.enter_context(_keys(attention, stdin.fileno()))
        yield


def _in_background(terminal: int) -> bool:
    """A background process that changes the terminal is stopped by it (SIGTTOU)."""
    try:
        return os.tcgetpgrp(terminal) != os.getpgrp()
    except OSError:  # a terminal that is not this process's own
        return False


@contextmanager
def _keys(attention: Attention, terminal: int) -> Iterator[None]:
    """Key by key, and without an echo; Ctrl-C stays what it is."""
    import termios  # noqa: PLC0415 (only where keys are read)
    import tty  # noqa: PLC0415 (the same)

    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    done = Event()
    reader = Thread(target=_read, args=(attention, terminal, done), daemon=True)
    reader.start()
    try:
        yield
    finally:
        done.set()
        reader.join()
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _read(attention: Attention, terminal: int, done: Event) -> None:
    while not (done.is_set() or attention.ended):
        if not select.select([terminal], [], [], _LOOK)[0]:
            continue
        typed = os.read(terminal, 64)
        if not typed:  # it is closed
            return
        if not _ENDS.isdisjoint(typed):
            attention.end()
