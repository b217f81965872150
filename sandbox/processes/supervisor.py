"""Starts a sandbox's processes, knows which of them should run, and says which do not."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from sandbox.errors import ComponentDied, SandboxError
from sandbox.files import last_lines, write_whole
from sandbox.processes import ownership

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from sandbox.processes.ownership import Process

LOG_LINES = 12
BLIND = 0.005  # seconds
STOP_GRACE = 5.0  # seconds between SIGTERM and SIGKILL


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start a component, and whether it should run.

    env: is added to the starter's. outlived: its children run on when it is stopped.
    """

    name: str
    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    wanted: bool = True
    outlived: bool = False


class Supervisor:
    """The processes of one folder: what to run stands in `launches/`, what they print in `logs/`.

    Which of them live is asked of the kernel each time: several Supervisors of one folder agree.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder = folder
        self._environ = environ
        self._seen: dict[str, Process] = {}

    def launch(self, launch: Launch) -> int:
        """Record it and start it, unless it runs already; return its pid."""
        self._record(launch)
        return self.running().get(launch.name) or self._spawn(launch)

    def start(self, name: str) -> int:
        """Start again what was launched before; return its pid. Raises SandboxError for others."""
        return self.launch(replace(self._launch(name), wanted=True))

    def stop(self, name: str) -> None:
        """End it, with SIGTERM and after 5 s SIGKILL, and its children, unless it is outlived.

        It is not expected to run any more.
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

        Those of the components `abruptly` are killed last and at once, the others may end by
        themselves within 5 s.
        """
        found = ownership.of_sandbox(self.folder)
        _end_kindly([p for p in found if p.leads and p.component not in abruptly])
        ownership.end_all(self.folder)
        return bool(found)

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to it; it is still expected to run, so that check() reports a death."""
        pid = self.running().get(name)
        process = ownership.read(pid) if pid else None
        if process is None:
            raise SandboxError(f"{name} does not run: {self._known()}")
        ownership.send(process, number)
        if number is signal.SIGKILL:
            ownership.await_end(process)

    def running(self) -> dict[str, int]:
        """The pid of each component that runs."""
        return ownership.leaders(self.folder)

    def launches(self) -> dict[str, Launch]:
        """Everything ever launched here. A damaged record counts as none."""
        found = (_read(path) for path in sorted((self.folder / "launches").glob("*.json")))
        return {launch.name: launch for launch in found if launch}

    def dead(self) -> tuple[str, ...]:
        """The components that should run and do not.

        Looks twice: one that is just becoming another program shows no environment.
        """
        if self._absent():
            time.sleep(BLIND)
        return self._absent()

    def check(self, names: Collection[str] | None = None) -> None:
        """Raise ComponentDied, with its log's end, if one (of these) should run and does not."""
        if dead := [name for name in self.dead() if names is None or name in names]:
            raise ComponentDied("\n".join(self.obituary(name) for name in dead))

    def obituary(self, name: str) -> str:
        """That a component died, and the last lines of its log."""
        log = self.log(name)
        return f"{name} died; the last lines of {log}:\n{last_lines(log, LOG_LINES)}"

    def log(self, name: str) -> Path:
        """The file with what it printed."""
        return self.folder / "logs" / f"{name}.log"

    def _absent(self) -> tuple[str, ...]:
        wanted = [name for name, launch in self.launches().items() if launch.wanted]
        if not all(map(self._lives, wanted)):
            leaders = [each for each in ownership.of_sandbox(self.folder) if each.leads]
            self._seen = {each.component: each for each in reversed(leaders)}
        return tuple(name for name in wanted if name not in self._seen)

    def _lives(self, name: str) -> bool:
        """Whether it is still the process that was seen last: to look at all takes far longer."""
        seen = self._seen.get(name)
        return seen is not None and ownership.read(seen.pid) == seen

    def _spawn(self, launch: Launch) -> int:
        log = self.log(launch.name)
        log.parent.mkdir(parents=True, exist_ok=True)
        env = {**self._environ, **launch.env}
        return ownership.spawn(self.folder, launch.name, launch.argv, env, log)

    def _record(self, launch: Launch) -> None:
        write_whole(self.folder / "launches" / f"{launch.name}.json", json.dumps(asdict(launch)))

    def _launch(self, name: str) -> Launch:
        if launch := self.launches().get(name):
            return launch
        raise SandboxError(f"{name} was never launched: {self._known()}")

    def _known(self) -> str:
        return f"known here are {', '.join(self.launches()) or 'none'}"


def _end_kindly(chosen: Sequence[Process]) -> None:
    """SIGTERM to all, and 5 s for them to end; processes that still run are left to end_all()."""
    for process in chosen:
        ownership.send(process, signal.SIGTERM)
    deadline = time.monotonic() + STOP_GRACE
    for process in chosen:
        ownership.ended(process, max(0.0, deadline - time.monotonic()))


def _read(path: Path) -> Launch | None:
    try:
        record = json.loads(path.read_text())
        argv = tuple(str(word) for word in record["argv"])
        env = {str(key): str(value) for key, value in record["env"].items()}
        flags = bool(record["wanted"]), bool(record.get("outlived"))
        return Launch(str(record["name"]), argv, env, *flags)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
