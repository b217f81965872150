"""What no container can do to itself: its first process is deaf to a SIGKILL from inside."""

import os
import signal
from pathlib import Path

import pytest

from edl.writes import Json


def kill_container(pod: Json) -> None:
    """SIGKILL every process of the pod's first container, as the kernel does when memory is short.

    Skips the test where the node's processes are not this machine's.
    """
    (status, *_) = pod["status"]["containerStatuses"]
    _, _, container = status["containerID"].partition("://")
    found = [path for path in Path("/proc").glob("[0-9]*") if container in _cgroups(path)]
    if not found:
        pytest.skip("needs to kill a process on the node; its node is not this machine")
    for path in found:
        _kill(int(path.name))


def _cgroups(process: Path) -> str:
    try:
        return (process / "cgroup").read_text()
    except OSError:  # it has ended meanwhile
        return ""


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # the first process took it along
