"""The cgroup of a sandbox's real node, which contains all of its containers."""

import contextlib
import hashlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sandbox.errors import SandboxError

MOUNTS: Final = Path("/proc/self/mounts")
NEEDED: Final = frozenset({"cpu", "cpuset", "devices", "memory", "pids"})
# In version 2, kernel programs replace the controller `devices`.
UNIFIED: Final = NEEDED - {"devices"}
CPUSET: Final = ("cpuset.cpus", "cpuset.mems")
END_WITHIN: Final = 20.0  # seconds after SIGKILL


def name_for(folder: Path) -> str:
    """The cgroup's name for a sandbox's folder, which can be computed after the folder is gone."""
    return f"edl-{folder.name}-{hashlib.sha256(bytes(folder)).hexdigest()[:8]}"


def hierarchies(mounts: Path = MOUNTS) -> list[Path]:
    """The mount points of cgroups: those of version 1, then version 2's.

    A machine may have both. Then runc creates a cgroup per container in version 2 as well, without
    controllers.
    """
    return [*_mounted("cgroup", mounts), *_mounted("cgroup2", mounts)]


def lacking(mounts: Path = MOUNTS) -> str:
    """What a kubelet needs and is missing; empty if nothing is."""
    folders = hierarchies(mounts)
    if not folders:
        return "they are not mounted"
    if shut := [folder for folder in folders if not os.access(folder, os.W_OK)]:
        return f"{shut[0]} cannot be written"
    named = {word for path in _mounted("cgroup", mounts) for word in path.name.split(",")}
    if absent := sorted(NEEDED - named) if named else sorted(UNIFIED - _given_on(folders[0])):
        said = f"the controllers {', '.join(absent)} are missing"
        return said if named else f"{said}, or held by processes in {folders[0]} itself"
    return ""


def create(name: str) -> None:
    """Create an empty cgroup in every hierarchy; an existing one is kept."""
    for root in hierarchies():
        group = root / name
        _enable(root)
        group.mkdir(exist_ok=True)
        _enable(group)
        # In version 1, a new cpuset is empty and accepts no process until it is set.
        for file in CPUSET:
            if not _controllers(root) and (root / file).exists():
                (group / file).write_text((root / file).read_text())


def remove(name: str) -> bool:
    """Kill every process in it, and remove it; True if it existed.

    Raises SandboxError if a process survives SIGKILL.
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
    """Kill its processes and remove its folders as far as possible; True if nothing is left."""
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


def _mounted(kind: str, mounts: Path) -> list[Path]:
    rows = (line.split() for line in mounts.read_text().splitlines())
    return [Path(row[1]) for row in rows if row[2] == kind]


def _controllers(group: Path) -> set[str]:
    """The controllers of a cgroup: version 2 lists them in a file, version 1 does not."""
    return _words(group / "cgroup.controllers")


def _given_on(root: Path) -> set[str]:
    """The version 2 controllers that a cgroup below this one has or can have.

    Only the machine's own root, which has no type, may both contain processes and delegate
    controllers.
    """
    occupied = (root / "cgroup.type").exists() and _words(root / "cgroup.procs")
    return _words(root / "cgroup.subtree_control") if occupied else _controllers(root)


def _enable(group: Path) -> None:
    file = group / "cgroup.subtree_control"
    for controller in sorted(_controllers(group) - _words(file)):
        with contextlib.suppress(OSError):  # some, such as a realtime cpu, cannot be delegated
            file.write_text(f"+{controller}")


def _words(file: Path) -> set[str]:
    try:
        return set(file.read_text().split())
    except FileNotFoundError:
        return set()
