"""The cgroup of a sandbox's real node: all of its containers are in it, and end with it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Iterator

MOUNTS: Final = Path("/proc/self/mounts")
NEEDED: Final = frozenset({"cpu", "memory", "pids", "devices"})
CPUSET: Final = ("cpuset.cpus", "cpuset.mems")
END_WITHIN: Final = 20.0  # seconds after SIGKILL


def hierarchies(mounts: Path = MOUNTS) -> list[Path]:
    """Where controllers are mounted: several folders of version 1, else the one of version 2."""
    rows = [line.split() for line in mounts.read_text().splitlines()]
    first = [Path(row[1]) for row in rows if row[2] == "cgroup"]
    return first or [Path(row[1]) for row in rows if row[2] == "cgroup2"]


def lacking(mounts: Path = MOUNTS) -> str:
    """What is missing for a kubelet; empty if nothing is."""
    found = hierarchies(mounts)
    if not found:
        return "cgroups are not mounted"
    unified = _controllers(found[0])
    present = unified or {word for path in found for word in path.name.split(",")}
    # Version 2 has no controller for devices: programs in the kernel do that.
    absent = sorted(NEEDED - present - ({"devices"} if unified else set()))
    return f"the cgroup controllers {', '.join(absent)} are missing" if absent else ""


def create(name: str) -> None:
    """An empty cgroup in every hierarchy; one that exists stays as it is."""
    for root in hierarchies():
        controllers = _controllers(root)
        if controllers:
            _enable(root, controllers)
        group = root / name
        group.mkdir(exist_ok=True)
        if controllers:
            _enable(group, controllers)
        # In version 1 a new cpuset is empty, and takes no process as long as it is.
        for file in CPUSET:
            if not controllers and (root / file).exists():
                (group / file).write_text((root / file).read_text())


def remove(name: str) -> bool:
    """Kill every process in it, and remove it; True if there was one.

    Raises SandboxError if a process outlives SIGKILL.
    """
    groups = [root / name for root in hierarchies() if (root / name).is_dir()]
    existed = bool(groups)
    deadline = time.monotonic() + END_WITHIN
    while groups := [group for group in groups if not _emptied(group)]:
        if time.monotonic() > deadline:
            raise SandboxError(f"processes in the cgroup {name} outlive SIGKILL: try again")
        time.sleep(0.02)
    return existed


def _emptied(group: Path) -> bool:
    """Kill and remove what can be; True if nothing of it is left."""
    for folder, _, _ in os.walk(group, topdown=False):
        for pid in _processes(Path(folder)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            Path(folder).rmdir()
    return not group.exists()


def _processes(group: Path) -> Iterator[int]:
    with contextlib.suppress(OSError):
        yield from map(int, (group / "cgroup.procs").read_text().split())


def _controllers(group: Path) -> set[str]:
    """Version 2 lists them in a file; version 1 has none."""
    try:
        return set((group / "cgroup.controllers").read_text().split())
    except FileNotFoundError:
        return set()


def _enable(group: Path, controllers: set[str]) -> None:
    for controller in sorted(controllers):
        with contextlib.suppress(OSError):  # some cannot be given on, such as a realtime cpu
            (group / "cgroup.subtree_control").write_text(f"+{controller}")
