"""Identifies the processes of a sandbox by information from the kernel.

Every process is started with two variables in its environment: its sandbox's folder and its
component. The kernel keeps them with the process, so no pid file can be stale, incomplete or
lost, and a program that reuses a pid is never mistaken for ours.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxError

FOLDER = "EDL_SANDBOX_PROCESS_OF"
COMPONENT = "EDL_SANDBOX_COMPONENT"
PROC = Path("/proc")
DEAD_STATES = ("Z", "X")
END_WITHIN = 20.0  # seconds after SIGKILL
_children: set[int] = set()


@dataclass(frozen=True, slots=True)
class Process:
    """A live process of a sandbox.

    started: clock ticks after boot. leads: we started it; otherwise one of ours did.
    """

    pid: int
    started: int
    folder: str
    component: str
    leads: bool


def spawn(
    folder: Path, component: str, argv: Sequence[str], env: Mapping[str, str], log: Path
) -> int:
    """Start a program in its own session, with its output appended to the log; returns its pid.

    Raises SandboxError if the program cannot be started.
    """
    output = (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    silence = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    try:
        pid = os.posix_spawnp(
            argv[0],
            list(argv),
            marked(env, folder, component),
            file_actions=[silence, output, (os.POSIX_SPAWN_DUP2, 1, 2)],
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGPIPE, signal.SIGINT],
        )
    except OSError as error:
        raise SandboxError(f"cannot start {component}: {argv[0]}: {error.strerror}") from None
    _children.add(pid)
    _await_exec(pid)
    return pid


def marked(env: Mapping[str, str], folder: Path, component: str) -> dict[str, str]:
    """The environment that identifies a process as the sandbox's."""
    return {**env, FOLDER: str(folder), COMPONENT: component}


def _await_exec(pid: int) -> None:
    """Wait until the process runs its program: until then the kernel shows no environment."""
    while not (read(pid) or _is_dead(pid)):
        time.sleep(0.001)


def live() -> Iterator[Process]:
    """Every process of any sandbox of this user."""
    reap()
    for entry in os.scandir(PROC):
        if entry.name.isdecimal() and (found := read(int(entry.name))):
            yield found


def of_sandbox(folder: Path) -> list[Process]:
    """Every process of this sandbox, including children, oldest first."""
    found = [process for process in live() if process.folder == str(folder)]
    return sorted(found, key=lambda process: (process.started, process.pid))


def leaders(folder: Path) -> dict[str, int]:
    """The pid of each running component."""
    found: dict[str, int] = {}
    for process in of_sandbox(folder):
        if process.leads:
            found.setdefault(process.component, process.pid)
    return found


def read(pid: int) -> Process | None:
    """The process, if it is alive and belongs to a sandbox."""
    try:
        environment = (PROC / str(pid) / "environ").read_bytes()
        if FOLDER.encode() not in environment:
            return None
    except OSError:  # it has ended, or belongs to another user
        return None
    marks, fields = _variables(environment), _stat(pid)
    if not fields or fields[0] in DEAD_STATES or FOLDER not in marks:
        return None
    leads = int(fields[3]) == pid
    return Process(pid, int(fields[19]), marks[FOLDER], marks.get(COMPONENT, ""), leads)


def runs(process: Process) -> bool:
    """Whether it is still alive: much faster than read(), which needs its environment."""
    fields = _stat(process.pid)
    alive = bool(fields) and fields[0] not in DEAD_STATES
    return alive and int(fields[19]) == process.started


def send(process: Process, number: signal.Signals) -> None:
    """Send a signal to this process, and never to another one that reuses its pid."""
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(process.pid)
        try:
            if read(process.pid) == process:
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)


def end_all(folder: Path, component: str | None = None) -> None:
    """Kill the sandbox's processes, or one component's, until none is left.

    Raises SandboxError if one survives SIGKILL.
    """
    while remaining := _chosen(folder, component):
        for process in remaining:
            send(process, signal.SIGKILL)
        for process in remaining:
            await_end(process)


def await_end(process: Process) -> None:
    """Return when the process is gone. Raises SandboxError if that takes too long."""
    if not ended(process, END_WITHIN):
        raise SandboxError(
            f"{process.component}, process {process.pid}, outlives SIGKILL: try again"
        )


def ended(process: Process, within: float) -> bool:
    """Whether the process ends within this many seconds; its ports and files are then free.

    An ending process loses its memory, and so the environment that read() needs, before its open
    files: only a pid descriptor signals when it is completely gone.
    """
    with contextlib.suppress(ProcessLookupError):
        descriptor = os.pidfd_open(process.pid)
        try:
            fields = _stat(process.pid)
            if fields and int(fields[19]) == process.started:
                waiting = select.poll()
                waiting.register(descriptor, select.POLLIN)
                return bool(waiting.poll(within * 1000))
        finally:
            os.close(descriptor)
            reap()
    return True


def _chosen(folder: Path, component: str | None) -> list[Process]:
    """The processes to kill. Looks twice: a child shows no environment while it is in exec."""
    for _ in range(2):
        found = [p for p in of_sandbox(folder) if component in (None, p.component)]
        if found:
            break
        time.sleep(0.005)
    return found


def reap() -> None:
    """Collect the exit status of ended children, so that none remains a zombie."""
    for pid in tuple(_children):
        _reap_one(pid)


def _reap_one(pid: int) -> None:
    try:
        done, _ = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        done = pid
    if done:
        _children.discard(pid)


def _is_dead(pid: int) -> bool:
    fields = _stat(pid)
    return not fields or fields[0] in DEAD_STATES


def _stat(pid: int) -> list[str]:
    """The fields of proc(5) from the state on, for an ending process as well; empty if it is gone.

    The name before them may contain any character.
    """
    try:
        return (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _variables(environment: bytes) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in environment.decode(errors="replace").split("\0"))
    return {name: value for name, _, value in pairs}
