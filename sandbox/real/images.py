"""The images of a real node, through containerd's own command."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

WITHIN: Final = 30.0  # seconds for containerd to answer
PAUSE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Images:
    """ctr: the command and all that comes before its own words."""

    ctr: tuple[str, ...]
    env: Mapping[str, str]

    def wait(self, check: Callable[[], None]) -> None:
        """Return when containerd answers; `check` raises when that has become pointless."""
        deadline = time.monotonic() + WITHIN
        while self._run("version").returncode:
            check()
            if time.monotonic() > deadline:
                raise SandboxError(f"containerd does not answer after {WITHIN:.0f} s: see its log")
            time.sleep(PAUSE)

    def add(self, archive: Path) -> None:
        """Unpack an OCI or docker archive. Raises SandboxError with containerd's message."""
        # containerd's own transfer takes an archive in messages of 32 KiB: a third more work.
        self._asked("images", "import", "--local", str(archive))

    def references(self) -> set[str]:
        """What pods may ask for, in full: docker.io/library/NAME:TAG. Raises SandboxError."""
        listed = self._asked("images", "list", "--quiet").split()
        # Each is there under its digest, too.
        return {name for name in listed if not name.startswith("sha256:")}

    def _asked(self, *words: str) -> str:
        done = self._run(*words)
        if done.returncode:
            raise SandboxError(f"ctr {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        argv = (*self.ctr, *words)
        return subprocess.run(argv, env=self.env, capture_output=True, text=True, check=False)
