"""The cluster and the pods of PaddlePaddle EDL's published experiment."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Kind:
    """The requests of one pod: thousandths of a CPU, and MiB."""

    name: str
    cpu: int
    memory: int


@dataclass(frozen=True, slots=True)
class Machines:
    """`count` nodes of one size: thousandths of a CPU, and MiB."""

    name: str
    count: int
    cpu: int
    memory: int


TRAINER: Final = Kind("trainer", 5_000, 8 * 1024)
PSERVER: Final = Kind("pserver", 4_000, 5 * 1024)
MASTER: Final = Kind("master", 1_000, 300)
NGINX: Final = Kind("nginx", 3_000, 3 * 1024)
BASE: Final = Kind("base", 380, 300)
"""The load of every node before the experiment: 133 such pods are 2.15 % of the CPU."""
KINDS: Final = {kind.name: kind for kind in (TRAINER, PSERVER, MASTER, NGINX, BASE)}

MACHINES: Final = (
    Machines("small", 70, 12_000, 65 * 1024),
    Machines("large", 63, 24_000, 130 * 1024),
)
"""133 nodes, 2,352 CPU, 13.7 TB: the published cluster had 2,348 and 13.67. Its node sizes were
not published; if all nodes had one size, each pair of trainers would waste 2 of 12 cores.
"""

TOTAL_CPU: Final = sum(machines.count * machines.cpu for machines in MACHINES)
LOAD_CEILING: Final = 0.97


def nodes() -> Iterator[tuple[str, Machines]]:
    """The name and the size of each node."""
    for machines in MACHINES:
        for number in range(machines.count):
            yield f"{machines.name}-{number:03d}", machines
