"""Pods that find no room: how many of them, and of what nodes have too little."""

from enum import StrEnum

import msgspec

from edl.model.topology_domains import Domain
from edl.quantities import Amount, Resources


class Scarce(StrEnum):
    """The resource that nodes have too little of for pods."""

    RESOURCE = "Resource"
    NODES = "Nodes"
    """Pods that ask for no resource find no node."""
    RULES = "Rules"
    """Sums of resources would do: pod (anti-)affinity or topology spread keeps pods off."""
    DEVICES = "Devices"
    """Sums would do: other pods have shares of the GPUs."""


class Lack(msgspec.Struct, frozen=True):
    """What nodes have too little of; `resource` names it where it is a single one."""

    scarce: Scarce
    resource: str = ""


class ResourceNeed(msgspec.Struct, frozen=True):
    """The pods that one role asks for; `requests` is what each of them asks for."""

    role: str
    pods: Amount
    requests: Resources


class Shortage(msgspec.Struct, frozen=True, tag=True):
    """Pods that find no room together."""

    needs: tuple[ResourceNeed, ...]
    fitting: int
    lack: Lack
    domains: tuple[Domain, ...] = ()
    """Where a topology is required: the domains in which most of them fit."""


class NoRoom(msgspec.Struct, frozen=True, tag=True):
    """One more pod finds no room."""

    requests: Resources
    lack: Lack
    domains: tuple[Domain, ...] = ()
    """Where a topology is required: the domains that it is kept to."""


class NodeRule(StrEnum):
    """Which rule keeps pods of one shape off every node."""

    UNSCHEDULABLE = "Unschedulable"
    """Every node is cordoned."""
    NODE_SELECTOR = "NodeSelector"
    NODE_AFFINITY = "NodeAffinity"
    TAINTS = "Taints"
    TOPOLOGY = "Topology"
    """None has the labels of the topology that is required."""
    OTHERS_UNSCHEDULABLE = "OthersUnschedulable"
    """Every node that it may use is cordoned."""


class NoEligibleNode(msgspec.Struct, frozen=True, tag=True):
    """No node is one that the pods may use. `selector`: the node selector that none matches."""

    rule: NodeRule
    selector: tuple[tuple[str, str], ...] = ()
    needs: tuple[ResourceNeed, ...] = ()
