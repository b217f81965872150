"""Options of `kubectl edl simulate`."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class SimulateOptions:
    """What to simulate, and how to print the result."""

    filename: str = ""
    trace: tuple[str, ...] = ()
    policy: tuple[str, ...] = ()
    growth: tuple[str, ...] = ()
    plain: bool = False
    seed: int | None = None
    until: timedelta | None = None
    output: str = "table"
    plot: str = ""
    live: bool = False
    add_nodes: int = 0
    like: str = ""
    set: tuple[str, ...] = ()
