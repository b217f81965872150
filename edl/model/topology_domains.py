"""Where the pods of a training job are to run near each other: domains of nodes, by node labels."""

from collections.abc import Iterable
from typing import Final

import msgspec

HOSTNAME: Final = "kubernetes.io/hostname"
"""The label of which each node is a domain."""


class Topology(msgspec.Struct, frozen=True):
    """Domains are nodes with the same value of a label: a zone, a block, a rack, a node itself."""

    required: tuple[tuple[str, str], ...] = ()
    """(role, label): all its pods run in one domain; the role "" stands for the training job."""
    preferred: tuple[str, ...] = ()
    """Labels, that of the widest domains first: as few domains of each as possible."""

    def __bool__(self) -> bool:
        return bool(self.required or self.preferred)

    @property
    def labels(self) -> tuple[str, ...]:
        """All of its labels, that of the widest domains first."""
        return tuple(dict.fromkeys((*(label for _, label in self.required), *self.preferred)))


class Domain(msgspec.Struct, frozen=True):
    """One domain to which the pods of a role are kept, "" for those of all roles."""

    label: str
    value: str
    role: str = ""

    def __str__(self) -> str:
        return f"{self.label}={self.value}"


def is_one_node(domains: Iterable[Domain], node: str) -> bool:
    """Whether no other node can be in all of these domains, in which `node` is."""
    return any(one.label == HOSTNAME or one.value == node for one in domains)
