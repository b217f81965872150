"""The topology that a training job requires or prefers, and domains of nodes."""

from collections.abc import Iterable
from typing import Final

import msgspec

HOSTNAME: Final = "kubernetes.io/hostname"
"""The label by which each node is a domain of its own."""


class Topology(msgspec.Struct, frozen=True):
    """A domain is all nodes with the same value of a label: a zone, a block, a rack, one node."""

    required: tuple[tuple[str, str], ...] = ()
    """(role, label): the role's pods run in one domain; the role "" is the whole training job."""
    preferred: tuple[str, ...] = ()
    """Labels, the widest first: the pods use as few domains of each as possible."""

    def __bool__(self) -> bool:
        return bool(self.required or self.preferred)

    @property
    def labels(self) -> tuple[str, ...]:
        """All of its labels, the widest first."""
        return tuple(dict.fromkeys((*(label for _, label in self.required), *self.preferred)))


class Domain(msgspec.Struct, frozen=True):
    """The domain to which the pods of a role are limited; the role "" stands for all roles."""

    label: str
    value: str
    role: str = ""

    def __str__(self) -> str:
        return f"{self.label}={self.value}"


def is_one_node(domains: Iterable[Domain], node: str) -> bool:
    """Whether `node` is the only node that can be in all of these domains."""
    return any(one.label == HOSTNAME or one.value == node for one in domains)
