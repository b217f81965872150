"""Runs a long program with its output in a log, and shows its progress in one live line."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.builds.progress import Progress
from sandbox.errors import BuildError
from sandbox.files import last_lines

LOOK_EVERY = 0.25  # seconds
LOG_LINES = 10


@dataclass(frozen=True, slots=True)
class Task:
    """What to run, and where. what: for errors, such as "build tool". log: output is appended."""

    what: str
    argv: tuple[str, ...]
    folder: Path
    env: Mapping[str, str]
    log: Path


def fresh(log: Path) -> Path:
    """The path of a log, after removing an earlier one."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    return log


def watched(task: Task, progress: Progress, doing: Callable[[str], str]) -> None:
    """Run the task to its end; `doing` derives the live line from the log so far.

    Raises BuildError with the log's last lines, and ends the progress line only in that case.
    """
    with task.log.open("ab") as stream:
        runs = subprocess.Popen(
            task.argv,
            cwd=task.folder,
            env=task.env,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # a session of its own, so that its children can be killed too
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
    """Whether it ends within LOOK_EVERY seconds."""
    try:
        runs.wait(LOOK_EVERY)
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(runs: subprocess.Popen[bytes]) -> None:
    if runs.poll() is None:
        os.killpg(runs.pid, signal.SIGKILL)
        runs.wait()
