"""Processor time of processes and of the whole machine, and memory of processes."""

import os
from pathlib import Path
from typing import Final

from sandbox import Sandbox

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def processor(sandbox: Sandbox) -> dict[str, float]:
    """The processor seconds that each process of the sandbox and this process have used."""
    pids = sandbox.running() | {"benchmark": os.getpid()}
    return {name: processor_seconds(pid) for name, pid in pids.items()}


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def busy_seconds() -> float:
    """The processor seconds that the machine has spent on anything."""
    user, nice, system, _idle, _wait, irq, soft, *_ = Path("/proc/stat").read_text().split()[1:]
    return sum(map(int, (user, nice, system, irq, soft))) / _TICKS


def memory_mib(name: str = "VmRSS", process: int | str = "self") -> float:
    """The resident memory; `VmHWM` is the maximum since `forget_peak`."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def forget_peak() -> None:
    """Let this process's peak of resident memory begin at what is resident now (proc(5))."""
    Path("/proc/self/clear_refs").write_text("5")
