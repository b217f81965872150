"""The images of a real node, managed with containerd's `ctr`."""

import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.errors import SandboxError

WITHIN: Final = 30.0  # seconds for containerd to respond
PAUSE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Images:
    """ctr: the command with its global options."""

    ctr: tuple[str, ...]
    env: Mapping[str, str]

    def wait(self, check: Callable[[], None]) -> None:
        """Return when containerd responds; `check` raises if waiting is pointless."""
        deadline = time.monotonic() + WITHIN
        while self._run("version").returncode:
            check()
            if time.monotonic() > deadline:
                raise SandboxError(f"containerd does not answer after {WITHIN:.0f} s: see its log")
            time.sleep(PAUSE)

    def add(self, archive: Path) -> None:
        """Import an OCI or Docker archive. Raises SandboxError with containerd's message."""
        # Without --local, the archive is sent in messages of 32 KiB, which is a third more work.
        self._asked("images", "import", "--local", str(archive))

    def references(self) -> set[str]:
        """The images' full names, docker.io/library/NAME:TAG. Raises SandboxError."""
        listed = self._asked("images", "list", "--quiet").split()
        # Each image is also listed under its digest.
        return {name for name in listed if not name.startswith("sha256:")}

    def _asked(self, *words: str) -> str:
        done = self._run(*words)
        if done.returncode:
            raise SandboxError(f"ctr {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        argv = (*self.ctr, *words)
        return subprocess.run(argv, env=self.env, capture_output=True, text=True, check=False)
