"""Nodes and domains of nodes, and what decides which pods may run on them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from edl.model.devices import ClaimedDevices, ClaimRef, Device, Share
from edl.model.pod_constraints import PodConstraints
from edl.model.selectors import Requirement, compares
from edl.quantities import Amount, Resources

_KEEPING_AWAY: Final = ("NoSchedule", "NoExecute")
CORDONED: Final = "node.kubernetes.io/unschedulable"
_STATES: Final = (CORDONED, "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Taints that Kubernetes sets while a node is cordoned, or not ready."""


class Toleration(msgspec.Struct, frozen=True):
    """A pod's toleration; an empty key tolerates every key, an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    seconds: int | None = msgspec.field(default=None, name="tolerationSeconds")
    """How long a NoExecute taint is tolerated; None: as long as it lasts."""


class Taint(msgspec.Struct, frozen=True):
    """A node's taint, or a device's; only NoSchedule and NoExecute keep pods away."""

    key: str
    value: str = ""
    effect: str = ""

    def __str__(self) -> str:
        """As kubectl writes it: `nvidia.com/gpu=present:NoSchedule`."""
        return f"{self.key}{'=' if self.value else ''}{self.value}:{self.effect}"

    def tolerated(self, tolerations: Iterable[Toleration]) -> bool:
        """Whether a pod with these tolerations may run in spite of the taint."""
        return self.effect not in _KEEPING_AWAY or self.toleration(tolerations) is not None

    def toleration(self, tolerations: Iterable[Toleration]) -> Toleration | None:
        """The first of these tolerations that tolerates the taint; None without one."""
        return next(
            (
                toleration
                for toleration in tolerations
                if toleration.effect in ("", self.effect)
                and toleration.key in ("", self.key)
                and _accepts(toleration, self)
            ),
            None,
        )


def _accepts(toleration: Toleration, taint: Taint) -> bool:
    """Without an operator it is Equal; an empty key needs Exists.

    Gt and Lt compare whole numbers (KEP-5471, alpha in 1.35): a taint above, or below, the value.
    """
    if toleration.operator == "Exists":
        return True
    if toleration.key != taint.key:
        return False
    if toleration.operator in ("Gt", "Lt"):
        return compares(toleration.operator, taint.value, toleration.value)
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


class Shape(msgspec.Struct, frozen=True, cache_hash=True):
    """The fields of a pod that kube-scheduler considers; pods of one shape are interchangeable.

    `affinity` holds the alternatives of requiredDuringScheduling nodeSelectorTerms (any one of
    them suffices; each is a conjunction); empty means no node affinity.
    """

    requests: Resources
    node_selector: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    affinity: tuple[tuple[Requirement, ...], ...] = ()
    constraints: PodConstraints | None = None
    """None where neither its rules nor those of other pods depend on neighbours: the usual case."""
    share: Share | None = None
    """Its share of a GPU, under KubeShare; usually None."""
    claims: tuple[ClaimRef, ...] = ()
    """Its ResourceClaims, until `requests` contain their devices."""
    implied: Resources = Resources()
    """What its devices count as besides, in other names and wider kinds of the same devices."""

    @property
    def counted(self) -> Resources:
        """What a pod counts in teams."""
        return self.requests + self.implied if self.implied else self.requests


class Assignment(msgspec.Struct, frozen=True):
    """The planned nodes of a role's replicas, from index `first` on."""

    first: int = 0
    nodes: tuple[str, ...] = ()

    def node(self, index: int) -> str:
        """The planned node of one replica; empty without one."""
        place = index - self.first
        return self.nodes[place] if 0 <= place < len(self.nodes) else ""


class NodeStateTimes(msgspec.Struct, frozen=True):
    """Since when a node is in a state that keeps pods away; None if it is not, or if unknown."""

    cordoned: datetime | None = None
    unready: datetime | None = None


class Node(msgspec.Struct, frozen=True):
    """A node and its used capacity.

    `used`: the sum of the requests of all bound pods that have not ended, terminating ones
    included. `releasing`: the part of it that terminating pods hold.
    """

    name: str
    allocatable: Resources
    used: Resources
    releasing: Resources
    cordoned: bool = False
    ready: bool = True
    """Whether its kubelet reports that it is ready; a cordon does not change that."""
    since: NodeStateTimes = NodeStateTimes()
    labels: Mapping[str, str] | None = None
    taints: tuple[Taint, ...] = ()
    devices: tuple[Device, ...] = ()
    """Its GPUs, under KubeShare, where each GPU is counted on its own."""
    claimed: ClaimedDevices = ClaimedDevices()
    """Its devices of DRA: how their kinds overlap, and which pod holds which."""
    evictable_pods: int = 0
    """Pods that would have to go elsewhere if it were removed: bound, neither ended nor leaving, no
    DaemonSet's, not the node's own."""
    kept: bool = False
    """Its annotations tell node autoscalers not to remove it."""
    uid: str = ""
    created_at: datetime | None = None

    @property
    def schedulable(self) -> bool:
        return self.ready and not self.cordoned

    @property
    def restored(self) -> "Node":
        """The node once it is ready again and not cordoned, without the taints of these states."""
        taints = tuple(taint for taint in self.taints if taint.key not in _STATES)
        return replace(self, cordoned=False, ready=True, since=NodeStateTimes(), taints=taints)

    @property
    def status(self) -> str:
        """As `kubectl get nodes` prints it: `NotReady,SchedulingDisabled`."""
        state = "Ready" if self.ready else "NotReady"
        return f"{state},SchedulingDisabled" if self.cordoned else state


NODES: Final = "nodes"
"""The name by which a NodePool limits its number of nodes."""


class NodePoolTemplate(msgspec.Struct, frozen=True):
    """What a NodePool says of its nodes. `requirements` are of labels, also those that it sets."""

    taints: tuple[Taint, ...] = ()
    requirements: tuple[Requirement, ...] = ()


class NodePoolHeadroom(msgspec.Struct, frozen=True):
    """What Karpenter may add to one NodePool: its limits less the capacity of its nodes."""

    limited: tuple[tuple[str, Amount], ...] = ()
    """(resource, amount) sorted by name; zeros are kept, as an absent resource has no limit."""
    name: str = ""
    template: NodePoolTemplate | None = None
    """None if unknown: any pod may use the NodePool."""


# Topology: domains of nodes.

HOSTNAME: Final = "kubernetes.io/hostname"
"""The label by which each node is a domain of its own."""
MAX_TOPOLOGY_LABELS: Final = 8
"""Labels per annotation: clusters have a handful of topology levels."""


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
        """All of its labels, the required ones first."""
        return tuple(dict.fromkeys((*(label for _, label in self.required), *self.preferred)))


class Domain(msgspec.Struct, frozen=True):
    """The domain to which the pods of a role are limited; the role "" stands for all roles."""

    label: str
    value: str
    role: str = ""

    def __str__(self) -> str:
        return (
            f"a new domain of {self.label}"
            if is_added(self.value)
            else f"{self.label}={self.value}"
        )


class SplitDomains(msgspec.Struct, frozen=True, tag=True):
    """The job's pods run in these domains of a label; `outside`: also on nodes without it."""

    label: str
    domains: tuple[str, ...]
    outside: bool = False


_ADDED: Final = "+"
"""In names of nodes and domains that a what-if adds; Kubernetes permits it in none."""
NEW: Final = _ADDED
"""The name of a node or domain like no existing one."""


def added_name(like: str, number: int) -> str:
    """The name of an added node like an existing one; `like` may be empty."""
    return f"{like}{_ADDED}{number}"


def is_added(name: str) -> bool:
    """Whether a what-if has added the node or the domain of this name."""
    return _ADDED in name


def existing_name(name: str) -> str:
    """The name of the existing node that an added one is like; empty if it is like none."""
    return name.partition(_ADDED)[0]


def is_one_node(domains: Iterable[Domain], node: str) -> bool:
    """Whether `node` is the only node that can be in all of these domains."""
    return any(domain.label == HOSTNAME or domain.value == node for domain in domains)
