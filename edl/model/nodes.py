"""Nodes, and what decides which pods may run on them."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from edl.model.devices import ClaimRef, Device, Share
from edl.model.pod_constraints import PodConstraints
from edl.model.selectors import Requirement, compares
from edl.quantities import Resources

_KEEPING_AWAY: Final = ("NoSchedule", "NoExecute")


class Toleration(msgspec.Struct, frozen=True):
    """A pod's toleration; an empty key tolerates every key, an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Taint(msgspec.Struct, frozen=True):
    """A node's taint, or a device's; only NoSchedule and NoExecute keep pods away."""

    key: str
    value: str = ""
    effect: str = ""

    def tolerated(self, tolerations: Iterable[Toleration]) -> bool:
        """Whether it keeps no pod away that has these."""
        return self.effect not in _KEEPING_AWAY or any(
            toleration.effect in ("", self.effect)
            and toleration.key in ("", self.key)
            and _accepts(toleration, self)
            for toleration in tolerations
        )


def _accepts(toleration: Toleration, taint: Taint) -> bool:
    """An operator that is left out is Equal; an empty key needs Exists.

    Gt and Lt compare whole numbers (KEP-5471, alpha in 1.35): a taint above, or below, the value.
    """
    if toleration.operator == "Exists":
        return True
    if toleration.key != taint.key:
        return False
    if toleration.operator in ("Gt", "Lt"):
        return compares(toleration.operator, taint.value, toleration.value)
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


class Shape(msgspec.Struct, frozen=True):
    """What the scheduler looks at in a pod. Pods of one shape are interchangeable; hashable.

    `affinity` holds the alternatives of requiredDuringScheduling nodeSelectorTerms (any one of
    them suffices; each is a conjunction); empty means no node affinity.
    """

    requests: Resources
    node_selector: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    affinity: tuple[tuple[Requirement, ...], ...] = ()
    constraints: PodConstraints | None = None
    """None where no rule, its own or another pod's, depends on its neighbours: the usual case."""
    share: Share | None = None
    """Its share of a GPU, where KubeShare hands them out; else None, the usual case."""
    claims: tuple[ClaimRef, ...] = ()
    """Its ResourceClaims, as long as `requests` do not say which devices they ask for."""


class Assignment(msgspec.Struct, frozen=True):
    """The nodes that a plan has for the replicas of a role from index `first` on."""

    first: int = 0
    nodes: tuple[str, ...] = ()

    def node(self, index: int) -> str:
        """The node of one replica, empty where the plan had none for it."""
        place = index - self.first
        return self.nodes[place] if 0 <= place < len(self.nodes) else ""


class Node(msgspec.Struct, frozen=True):
    """A node and the room that is taken on it.

    `used` sums the requests of every bound pod that has not ended, ours and others', terminating
    ones included: their room is busy until they are gone. `releasing` is their part of it.
    """

    name: str
    allocatable: Resources
    used: Resources
    releasing: Resources
    schedulable: bool = True
    """Ready and not cordoned."""
    labels: Mapping[str, str] | None = None
    taints: tuple[Taint, ...] = ()
    devices: tuple[Device, ...] = ()
    """Its GPUs, where KubeShare hands them out and they are counted one by one."""
    tenants: int = 0
    """Pods that would have to go elsewhere if it were removed: bound, neither ended nor leaving, no
    DaemonSet's, not the node's own."""
    kept: bool = False
    """Its annotations tell autoscalers to let it be."""
