"""The terminal: streams that may be closed (`>&-`) or ASCII only, key presses, and size."""

import io
import os
import select
import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from threading import Event, Thread
from typing import Final, TextIO


def draws(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether the stream is a terminal that supports cursor movement."""
    return stream.isatty() and environ.get("TERM") != "dumb"


def knows_unicode(environ: Mapping[str, str]) -> bool:
    """Whether the locale is UTF-8; Python sets LC_CTYPE=C.UTF-8 in the locale C (PEP 538)."""
    ctype = environ.get("LC_CTYPE", "")
    locale = environ.get("LC_ALL") or (ctype != "C.UTF-8" and ctype) or environ.get("LANG", "")
    return "utf8" in locale.lower().replace("-", "")


def printing(stream: TextIO | None) -> TextIO:
    """An output stream; Python has None for a closed one. Unencodable characters are escaped."""
    if stream is None:
        return _nothing()
    if isinstance(stream, io.TextIOWrapper):
        # Programs read manifests from a pipe: those are UTF-8, as our input is.
        encoding = None if stream.isatty() else "utf-8"
        stream.reconfigure(encoding=encoding, errors="backslashreplace")
    return stream


def reading(stream: TextIO | None) -> TextIO:
    """An input stream; reading a closed stdin raises an error, as it must not look empty."""
    return _nothing() if stream is None else stream


def _nothing() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - pathlib: a cold start


_ENDS: Final = frozenset(b"qQ")
_LOOK: Final = 0.2
"""Seconds between checks whether key presses are still read."""


class Attention:
    """Wakes the drawing thread; called by other threads and by signal handlers."""

    def __init__(self) -> None:
        self._woken = Event()
        self.ended = False
        self._at_once = False

    def wake(self) -> None:
        self._woken.set()

    def redraw(self) -> None:
        self._at_once = True
        self._woken.set()

    def end(self) -> None:
        self.ended = True
        self._woken.set()

    def wait(self, seconds: float) -> bool:
        """Wait for an event, at most `seconds`; returns whether to redraw immediately."""
        self._woken.wait(seconds)
        at_once, self._at_once = self._at_once, False
        return at_once

    def forget(self) -> None:
        """Reset: only later events end the next wait."""
        self._woken.clear()


@contextmanager
def listening(attention: Attention, stdin: TextIO) -> Iterator[None]:
    """While the context is active, `q` ends the command, and a resized terminal is redrawn."""
    with ExitStack() as stack:
        if hasattr(signal, "SIGWINCH"):
            before = signal.signal(signal.SIGWINCH, lambda *_: attention.redraw())
            stack.callback(signal.signal, signal.SIGWINCH, before)
        if stdin.isatty() and not _in_background(stdin.fileno()):
            stack.enter_context(_keys(attention, stdin.fileno()))
        yield


def _in_background(terminal: int) -> bool:
    """Whether this is a background process, which SIGTTOU would stop if it changed the terminal."""
    try:
        return os.tcgetpgrp(terminal) != os.getpgrp()
    except OSError:  # not this process's controlling terminal
        return False


@contextmanager
def _keys(attention: Attention, terminal: int) -> Iterator[None]:
    """Read single key presses without echo; Ctrl-C still interrupts."""
    import termios
    import tty

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
        if not typed:  # the terminal is closed
            return
        if not _ENDS.isdisjoint(typed):
            attention.end()
