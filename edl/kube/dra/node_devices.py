"""Adds a node's devices to its resources, unless the kubelet counts them itself."""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from edl.model import Node
from edl.quantities import Resources


class NodeDevices(NamedTuple):
    """The numbers of a node's devices by resource.

    `leaving` is the part of `used` about to be freed.
    """

    has: Mapping[str, int]
    used: Mapping[str, int]
    leaving: Mapping[str, int]


def with_devices(node: Node, offer: NodeDevices) -> Node:
    """The node with its devices as resources, except those that its kubelet counts.

    kube-scheduler allocates no device for an extended resource that a device plugin offers there.
    """
    names = [name for name in offer.has if not node.allocatable.get(name)]
    if not names:
        return node

    def filled(amounts: Resources, devices: Mapping[str, int]) -> Resources:
        return Resources.of(dict(amounts.items) | {name: devices.get(name, 0) for name in names})

    return replace(
        node,
        allocatable=filled(node.allocatable, offer.has),
        used=filled(node.used, offer.used),
        releasing=filled(node.releasing, offer.leaving),
    )
