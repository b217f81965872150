"""Starts a sandbox's processes, records which should run, and reports those that do not."""

import signal
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from sandbox.errors import ComponentDied, SandboxError
from sandbox.files import last_lines, write_whole
from sandbox.processes import ownership
from sandbox.processes.ownership import Process

LOG_LINES = 12
BLIND = 0.005  # seconds
STOP_GRACE = 5.0  # seconds between SIGTERM and SIGKILL


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a component, and whether it should run.

    env: added to the starter's environment. outlived: its children keep running when it is stopped.
    port: of this machine, on which it accepts connections once it is ready; 0: unknown.
    """

    name: str
    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    wanted: bool = True
    outlived: bool = False
    port: int = 0


class Supervisor:
    """The processes of one folder, with commands in `launches/` and output in `logs/`.

    The kernel is asked each time which are alive, so several Supervisors of one folder agree.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder = folder
        self._environ = environ
        self._seen: dict[str, Process] = {}

    def launch(self, launch: Launch) -> int:
        """Record the program, and start it unless it runs already; returns its pid."""
        self._record(launch)
        return self.running().get(launch.name) or self._spawn(launch)

    def start(self, name: str) -> int:
        """Start a program that was launched before; returns its pid. Else raises SandboxError."""
        return self.launch(replace(self._launch(name), wanted=True))

    def stop(self, name: str) -> None:
        """End it and its children with SIGTERM, after 5 s with SIGKILL.

        It is no longer expected to run. The children of an `outlived` program keep running.
        """
        launch = self._launch(name)
        self._record(replace(launch, wanted=False))
        found = ownership.of_sandbox(self.folder)
        _end_kindly([each for each in found if each.component == name and each.leads])
        if not launch.outlived:
            ownership.end_all(self.folder, name)
        elif name in self.running():
            self.kill(name)

    def end_everything(self, abruptly: Collection[str] = ()) -> bool:
        """End every process of the folder, recorded or not; True if there was one.

        Components in `abruptly` are killed last and immediately; others get 5 s to end.
        """
        found = ownership.of_sandbox(self.folder)
        _end_kindly([p for p in found if p.leads and p.component not in abruptly])
        ownership.end_all(self.folder)
        return bool(found)

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal; as it is still expected to run, check() reports its death."""
        pid = self.running().get(name)
        process = ownership.read(pid) if pid else None
        if process is None:
            raise SandboxError(f"{name} does not run: {self._known()}")
        ownership.send(process, number)
        if number is signal.SIGKILL:
            ownership.await_end(process)

    def running(self) -> dict[str, int]:
        """The pid of each running component."""
        return ownership.leaders(self.folder)

    def launches(self) -> dict[str, Launch]:
        """Everything that was ever launched here. A damaged record is ignored."""
        found = (_read(path) for path in sorted((self.folder / "launches").glob("*.json")))
        return {launch.name: launch for launch in found if launch}

    def dead(self) -> tuple[str, ...]:
        """The components that should run and do not.

        Looks twice: a process shows no environment while it executes a program.
        """
        if not self._absent():
            return ()
        time.sleep(BLIND)
        return self._absent()

    def check(self, names: Collection[str] | None = None) -> None:
        """Raise ComponentDied, with the log's end, if one (of `names`) should run but does not."""
        if dead := [name for name in self.dead() if names is None or name in names]:
            raise ComponentDied("\n".join(self.death_report(name) for name in dead))

    def death_report(self, name: str) -> str:
        """A message that the component died, with the last lines of its log."""
        log = self.log(name)
        return f"{name} died; the last lines of {log}:\n{last_lines(log, LOG_LINES)}"

    def log(self, name: str) -> Path:
        """The file with its output."""
        return self.folder / "logs" / f"{name}.log"

    def _absent(self) -> tuple[str, ...]:
        wanted = [name for name, launch in self.launches().items() if launch.wanted]
        seen = self._seen
        if not all(_lives(seen.get(name)) for name in wanted):
            leaders = [each for each in ownership.of_sandbox(self.folder) if each.leads]
            self._seen = seen = {each.component: each for each in reversed(leaders)}
        return tuple(name for name in wanted if name not in seen)

    def _spawn(self, launch: Launch) -> int:
        log = self.log(launch.name)
        log.parent.mkdir(parents=True, exist_ok=True)
        env = {**self._environ, **launch.env}
        return ownership.spawn(self.folder, launch.name, launch.argv, env, log)

    def _record(self, launch: Launch) -> None:
        text = msgspec.json.encode(launch).decode()
        write_whole(self.folder / "launches" / f"{launch.name}.json", text)

    def _launch(self, name: str) -> Launch:
        if launch := self.launches().get(name):
            return launch
        raise SandboxError(f"{name} was never launched: {self._known()}")

    def _known(self) -> str:
        return f"known here are {', '.join(self.launches()) or 'none'}"


def _lives(seen: Process | None) -> bool:
    """Whether it is still the process seen last: much faster than reading all processes."""
    return seen is not None and ownership.runs(seen)


def _end_kindly(chosen: Sequence[Process]) -> None:
    """Send SIGTERM to all and wait up to 5 s; those that still run are left to end_all()."""
    for process in chosen:
        ownership.send(process, signal.SIGTERM)
    deadline = time.monotonic() + STOP_GRACE
    for process in chosen:
        ownership.ended(process, max(0.0, deadline - time.monotonic()))


def _read(path: Path) -> Launch | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Launch)
    except (OSError, msgspec.DecodeError):
        return None
