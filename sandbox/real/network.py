"""The addresses of a sandbox's real node: a link to this machine, and a range for its pods."""

import ipaddress
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.errors import SandboxError

NUMBERS: Final = range(256)
ROUTES: Final = Path("/proc/net/route")
WIDE: Final = 16  # routes to wider ranges are ignored, because a more specific route wins


@dataclass(frozen=True, slots=True)
class Network:
    """A network; `number`, 0 to 255, is unique among the real nodes of this machine."""

    number: int

    @property
    def link(self) -> str:
        """The interface on this machine; its other end is the node's eth0."""
        return f"edl{self.number}"

    @property
    def host(self) -> str:
        """This machine's address on the link, where the API server listens."""
        return f"10.201.{self.number}.1"

    @property
    def node(self) -> str:
        return f"10.201.{self.number}.2"

    @property
    def pods(self) -> str:
        return f"10.202.{self.number}.0/24"


def free_number(routes: Path = ROUTES) -> int:
    """A number whose addresses no route of this machine covers; if there is none, SandboxError.

    Routes may lead to another sandbox's pods, or to a private network.
    """
    taken = [each for each in _reached(routes.read_text()) if each.prefixlen >= WIDE]
    free = [number for number in NUMBERS if not _overlaps(Network(number), taken)]
    if not free:
        raise SandboxError(
            "no addresses are left for a real node: all of 10.201.0.0/16 and 10.202.0.0/16 is "
            "routed elsewhere, or to other sandboxes (end one: python -m sandbox down)"
        )
    return random.SystemRandom().choice(free)


def _overlaps(network: Network, taken: Sequence[ipaddress.IPv4Network]) -> bool:
    link = ipaddress.IPv4Network(f"{network.host}/30", strict=False)
    own = (link, ipaddress.IPv4Network(network.pods))
    return any(each.overlaps(other) for each in own for other in taken)


def _reached(table: str) -> Iterator[ipaddress.IPv4Network]:
    """The networks in /proc/net/route, whose addresses are hexadecimal and little-endian."""
    for row in (line.split() for line in table.splitlines()[1:]):
        destination, mask = (ipaddress.IPv4Address(_swapped(row[i])) for i in (1, 7))
        yield ipaddress.IPv4Network(f"{destination}/{mask}")


def _swapped(word: str) -> int:
    return int.from_bytes(bytes.fromhex(word), "little")
