"""Which nodes a pod may use, whatever their capacity: cordons, taints, selector, node affinity.

The rules are kube-scheduler's (plugins NodeUnschedulable, TaintToleration and NodeAffinity).
"""

from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from edl.model import Node, Requirement, Shape, Taint
from edl.model.nodes import CORDONED

if TYPE_CHECKING:
    from edl.model import Toleration

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]

NAME_FIELD: Final = "metadata.name"
"""The only matchFields key of Kubernetes; shapes keep it among the label requirements."""


class EligibleNodes(NamedTuple):
    """Nodes that a pod may use; read-only, since all shapes with the same rules share them."""

    mask: Mask
    """bool[nodes]."""
    nodes: Ints
    """The same nodes, ascending."""

    @classmethod
    def of(cls, mask: Mask) -> "EligibleNodes":
        nodes = cls(mask, np.flatnonzero(mask))
        for array in nodes:
            array.setflags(write=False)
        return nodes


class Eligibility:
    """Masks over the nodes, in their order; each distinct rule is evaluated once."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._index = {node.name: index for index, node in enumerate(nodes)}
        self._schedulable: Mask = np.array([node.schedulable for node in nodes], dtype=np.bool_)
        self._ready: Mask = np.array([node.ready for node in nodes], dtype=np.bool_)
        self._values: dict[str, list[str | None]] = {}
        self._labels: set[str] | None = None
        """Those of all nodes, once one was asked for that no node has."""
        self.absent: list[str | None] = [None] * len(nodes)
        """The values of each label that no node has: a pod may name many."""
        self._selected: dict[object, Mask] = {}
        self._tolerated: dict[tuple[Toleration, ...], Mask] = {}
        self._eligible: dict[object, EligibleNodes] = {}

    def mask(self, shape: Shape) -> Mask:
        """True where a pod of this shape may run; bool[nodes]."""
        return self.eligible(shape).mask

    def eligible(self, shape: Shape) -> EligibleNodes:
        """The nodes on which a pod of this shape may run."""
        rules = (shape.tolerations, shape.node_selector, shape.affinity)
        nodes = self._eligible.get(rules)
        if nodes is None:
            usable = self._ready if tolerates_cordon(shape) else self._schedulable
            mask = usable & self.tolerated(shape) & self.selected(shape)
            nodes = self._eligible[rules] = EligibleNodes.of(mask)
        return nodes

    def tolerated(self, shape: Shape) -> Mask:
        """Nodes whose taints this shape tolerates; bool[nodes]."""
        mask = self._tolerated.get(shape.tolerations)
        if mask is None:
            verdicts = {
                taints: all(taint.tolerated(shape.tolerations) for taint in taints)
                for taints in {node.taints for node in self._nodes}
            }
            mask = np.array([verdicts[node.taints] for node in self._nodes], dtype=np.bool_)
            self._tolerated[shape.tolerations] = mask
        return mask

    def untolerated(self, shape: Shape, nodes: Mask) -> tuple[Taint, ...]:
        """The distinct taints of these nodes that this shape does not tolerate, by key."""
        taints = {taint for node in compress(self._nodes, nodes) for taint in node.taints}
        repelling = (taint for taint in taints if not taint.tolerated(shape.tolerations))
        return tuple(sorted(repelling, key=lambda taint: (taint.key, taint.value, taint.effect)))

    def selected(self, shape: Shape) -> Mask:
        """Nodes that match the node selector and the required node affinity; bool[nodes]."""
        rule = (shape.node_selector, shape.affinity)
        if rule not in self._selected:
            self._selected[rule] = self._select(shape)
        return self._selected[rule]

    def absent_nodes(self, shape: Shape) -> tuple[str, ...]:
        """The nodes to which the affinity limits the shape by name, if none of them exists."""
        terms = [[need.values for need in term if _names(need)] for term in shape.affinity]
        named = {name for term in terms for values in term for name in values}
        return () if not all(terms) or named & self._index.keys() else tuple(sorted(named))

    def _select(self, shape: Shape) -> Mask:
        mask: Mask = np.ones(len(self._nodes), dtype=np.bool_)
        for key, value in shape.node_selector:
            mask &= self._matches(Requirement(key, "In", (value,)))
        if shape.affinity:
            mask &= np.any([self._matches_term(term) for term in shape.affinity], axis=0)
        return mask

    def _matches_term(self, term: tuple[Requirement, ...]) -> Mask:
        """An empty term matches no node (Kubernetes, NodeSelectorTerm)."""
        if not term:
            return np.zeros(len(self._nodes), dtype=np.bool_)
        mask: Mask = np.all([self._matches(requirement) for requirement in term], axis=0)
        return mask

    def _matches(self, requirement: Requirement) -> Mask:
        if _names(requirement):
            return self._named(requirement.values)
        values = self.values(requirement.key)
        if values is self.absent:
            return np.full(len(values), requirement.holds(None))
        verdicts = {value: requirement.holds(value) for value in set(values)}
        return np.array([verdicts[value] for value in values], dtype=np.bool_)

    def _named(self, names: Sequence[str]) -> Mask:
        """Nodes by name: a look-up per term, as pinned pods name many nodes, one per term."""
        mask: Mask = np.zeros(len(self._nodes), dtype=np.bool_)
        mask[[self._index[name] for name in names if name in self._index]] = True
        return mask

    def values(self, key: str) -> list[str | None]:
        """The value of a label on each node, None without the label."""
        if self._labels is not None and key not in self._labels:
            return self.absent
        if key not in self._values:
            values = [
                node.name if key == NAME_FIELD else (node.labels or {}).get(key)
                for node in self._nodes
            ]
            if values == self.absent:
                self._labels = {NAME_FIELD}.union(*(node.labels or {} for node in self._nodes))
                return self.absent
            self._values[key] = values
        return self._values[key]


def tolerates_cordon(shape: Shape) -> bool:
    """Whether the shape tolerates cordons by their key, as pods of DaemonSets do.

    A toleration of all keys is written for taints of devices: kube-scheduler may bind its pods to
    a cordoned node, but no plan counts on nodes that are about to be drained.
    """
    named = (toleration for toleration in shape.tolerations if toleration.key)
    return Taint(CORDONED, effect="NoSchedule").tolerated(named)


def _names(requirement: Requirement) -> bool:
    return requirement.key == NAME_FIELD and requirement.operator == "In"
