"""Pods that do not fit: their number and the scarce resource."""

from enum import StrEnum

import msgspec

from edl.model.nodes import Domain, Taint
from edl.model.selectors import Requirement
from edl.quantities import Amount, Resources


class Scarce(StrEnum):
    """The kind of what nodes lack for pending pods."""

    RESOURCE = "Resource"
    NODES = "Nodes"
    """No node is available for pods without requests."""
    RULES = "Rules"
    """Nodes have the resources, but pod (anti-)affinity or topology spread excludes them."""
    PORTS = "Ports"
    """Nodes have the resources, but other pods there use its host ports, or its own would."""
    DEVICES = "Devices"
    """Nodes have enough GPU capacity in sum, but no single GPU has enough left."""


class Lack(msgspec.Struct, frozen=True):
    """What nodes lack. `resource`: the one that admits the fewest pods, if they lack resources.

    `short`: the requests of one pod of which no node has enough; empty if each fits somewhere.
    """

    scarce: Scarce
    resource: str = ""
    short: Resources = Resources()


class ResourceNeed(msgspec.Struct, frozen=True):
    """The pods that one role asks for; `requests` are those of each pod."""

    role: str
    pods: Amount
    requests: Resources


class Shortage(msgspec.Struct, frozen=True, tag=True):
    """Pods of a gang of which only `fitting` fit at once."""

    needs: tuple[ResourceNeed, ...]
    fitting: int
    lack: Lack
    domains: tuple[Domain, ...] = ()
    """With a required topology: the domains in which most of the pods fit."""


class NoRoom(msgspec.Struct, frozen=True, tag=True):
    """No node has capacity for one more pod."""

    requests: Resources
    lack: Lack
    domains: tuple[Domain, ...] = ()
    """With a required topology: the domains to which the pod is limited."""


class NodePoolLimit(msgspec.Struct, frozen=True, tag=True):
    """A gang needs more of a resource on new nodes than NodePools may `add`."""

    resource: str
    needs: Amount
    add: Amount


class NodeRule(StrEnum):
    """The constraint that excludes every node for pods of one shape."""

    UNSCHEDULABLE = "Unschedulable"
    """Every node is cordoned."""
    NODE_NAME = "NodeName"
    """The nodes that it names do not exist."""
    NODE_SELECTOR = "NodeSelector"
    NODE_AFFINITY = "NodeAffinity"
    TAINTS = "Taints"
    TOPOLOGY = "Topology"
    """No node has the label of the required topology."""
    TOPOLOGY_SPREAD = "TopologySpread"
    """No node has the labels of its topology spread."""
    POD_AFFINITY = "PodAffinity"
    """No pod that its pod affinity requires runs near a node."""
    POD_ANTI_AFFINITY = "PodAntiAffinity"
    """Other owners' pods that its pod anti-affinity excludes run near every node."""
    OTHERS_UNSCHEDULABLE = "OthersUnschedulable"
    """Every node that the other constraints permit is cordoned."""


class NoEligibleNode(msgspec.Struct, frozen=True, tag=True):
    """No node is eligible for the pods. `selector`: the node selector that no node matches.

    With TOPOLOGY and TOPOLOGY_SPREAD, its keys are the missing labels. With POD_AFFINITY and
    POD_ANTI_AFFINITY, it selects pods, and `names` is the label whose values are the domains.

    With NODE_NAME, `names` are the nodes that the pods name, of which none exists.
    """

    rule: NodeRule
    selector: tuple[tuple[str, str], ...] = ()
    needs: tuple[ResourceNeed, ...] = ()
    taints: tuple[Taint, ...] = ()
    """The taints that the pods do not tolerate."""
    large_nodes: bool = False
    """Other nodes are eligible, but too small: `rule` excludes those that are large enough."""
    names: tuple[str, ...] = ()
    affinity: tuple[tuple[Requirement, ...], ...] = ()
    """NODE_AFFINITY: the alternatives of which no node matches one, each a conjunction."""


class UnplacedMinimum(msgspec.Struct, frozen=True, tag=True):
    """Pods of a started job's minimum that do not fit where the job runs.

    `lacks`: why; its `needs` are those pods. `domains`: those of its running pods, if required.
    `seconds`: how long such a pod waits until the job is queued again; None if it is not.
    """

    lacks: Shortage | NoEligibleNode
    domains: tuple[Domain, ...] = ()
    seconds: float | None = None
