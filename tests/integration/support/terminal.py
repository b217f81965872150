"""A shell on a terminal, as its user has it: keys in, what the screen got out."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WITHIN: Final = 120.0
_STEERING: Final = re.compile(
    rb"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[()][A-Z0-9]|[=>])|[\x07\r]"
)
KILL_LINE: Final = "\x15"


class Terminal:
    """One shell; `close` ends it."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self._mine, theirs = pty.openpty()
        self._shell = subprocess.Popen(
            # It must own the terminal, else no shell reads keys one by one.
            ["setsid", "--ctty", *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=dict(environ),
        )
        os.close(theirs)

    def type(self, keys: str) -> None:
        os.write(self._mine, keys.encode())

    def until(self, expected: str) -> str:
        """What came on the screen, up to `expected` and what came with it."""
        seen = b""
        deadline = time.monotonic() + WITHIN
        while expected not in (text := _STEERING.sub(b"", seen).decode(errors="replace")):
            left = deadline - time.monotonic()
            assert left > 0, f"no {expected!r} in {text!r}"
            if select.select([self._mine], [], [], left)[0]:
                seen += os.read(self._mine, 65536)
        return text

    def close(self) -> None:
        self._shell.kill()
        self._shell.wait()
        os.close(self._mine)
