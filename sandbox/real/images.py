"""The images of a real node, managed with containerd's `ctr`."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxError


@dataclass(frozen=True, slots=True)
class Images:
    """ctr: the command with its global options."""

    ctr: tuple[str, ...]
    env: Mapping[str, str]

    def gap(self) -> str:
        """Why containerd does not respond yet; empty if it does."""
        done = self._run("version")
        return f"containerd: {done.stderr.strip()}" if done.returncode else ""

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
