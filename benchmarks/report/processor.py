"""Processor time: seconds per process, and of the whole machine."""

import os
from pathlib import Path
from typing import Final

from sandbox import Sandbox

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def processor(sandbox: Sandbox) -> dict[str, float]:
    """The processor seconds that each process of the sandbox and this process have used."""
    pids = sandbox.running() | {"benchmark": os.getpid()}
    return {name: _spent(pid) for name, pid in pids.items()}


def _spent(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def busy_seconds() -> float:
    """The processor seconds that the machine has spent on anything."""
    user, nice, system, _idle, _wait, irq, soft, *_ = Path("/proc/stat").read_text().split()[1:]
    return sum(map(int, (user, nice, system, irq, soft))) / _TICKS
