"""GPUs that several pods share, one by one."""

from typing import NamedTuple


class Share(NamedTuple):
    """What a pod asks of KubeShare.

    `compute` in thousandths of a GPU: up to 1000 of one GPU, above it so many whole ones.
    """

    compute: int
    memory: int = 0
    """Bytes; 0 for as large a part of the GPU's memory as of its compute."""
    model: str = ""
    """Empty for any."""


class Held(NamedTuple):
    """A part of one GPU: compute in thousandths, memory in bytes."""

    compute: int = 0
    memory: int = 0

    def plus(self, other: "Held") -> "Held":
        return Held(self.compute + other.compute, self.memory + other.memory)


class Device(NamedTuple):
    """One GPU of a node. `used` is what bound pods hold; `leaving` the terminating part of it."""

    uuid: str = ""
    """Empty while nobody has a share of it: only the pods that hold one tell."""
    memory: int = 0
    """Bytes; 0 where nobody tells: then only compute counts."""
    used: Held = Held()
    leaving: Held = Held()
