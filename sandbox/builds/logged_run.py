"""Runs a long program: its output goes to a log, and one live line says what it does."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.errors import BuildError
from sandbox.files import last_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from sandbox.builds.progress import Progress

LOOK_EVERY = 0.25  # seconds
LOG_LINES = 10


@dataclass(frozen=True, slots=True)
class Task:
    """What to run, and where. what: "build tool", for the error. log: is appended to."""

    what: str
    argv: tuple[str, ...]
    folder: Path
    env: Mapping[str, str]
    log: Path


def fresh(log: Path) -> Path:
    """The log without what an earlier run wrote there."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    return log


def watched(task: Task, progress: Progress, doing: Callable[[str], str]) -> None:
    """Run it to its end; `doing` makes the live line of what the log says so far.

    Raises BuildError with the log's last lines. Only if it fails is the progress ended.
    """
    with task.log.open("ab") as stream:
        runs = subprocess.Popen(
            task.argv,
            cwd=task.folder,
            env=task.env,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that its children can be ended with it
        )
        try:
            while not _ends(runs):
                progress.show(doing(task.log.read_text(errors="replace")))
        finally:
            _end(runs)
    if runs.returncode:
        progress.end("failed")
        raise BuildError(
            f"cannot {task.what}; the last lines of {task.log}:\n{last_lines(task.log, LOG_LINES)}"
        )


def _ends(runs: subprocess.Popen[bytes]) -> bool:
    """Whether it ends before it is time for another look."""
    try:
        runs.wait(LOOK_EVERY)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(runs: subprocess.Popen[bytes]) -> None:
    if runs.poll() is None:
        os.killpg(runs.pid, signal.SIGKILL)
        runs.wait()
