"""The addresses of a sandbox's real node: a link to this machine, and a range for its pods."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.errors import SandboxError

NUMBERS: Final = range(256)
INTERFACES: Final = Path("/sys/class/net")


@dataclass(frozen=True, slots=True)
class Network:
    """Number 0 to 255, one for each sandbox with a real node on this machine."""

    number: int

    @property
    def link(self) -> str:
        """The interface on this machine; its other end is the node's eth0."""
        return f"edl{self.number}"

    @property
    def host(self) -> str:
        """This machine as the node sees it: the API server listens here."""
        return f"10.201.{self.number}.1"

    @property
    def node(self) -> str:
        return f"10.201.{self.number}.2"

    @property
    def pods(self) -> str:
        return f"10.202.{self.number}.0/24"


def free_number(interfaces: Path = INTERFACES) -> int:
    """A number that no sandbox's link has. Raises SandboxError if all are taken."""
    taken = {path.name for path in interfaces.iterdir()}
    free = [number for number in NUMBERS if Network(number).link not in taken]
    if not free:
        raise SandboxError(f"{len(NUMBERS)} real nodes run already: end one (sandbox down)")
    return random.SystemRandom().choice(free)
