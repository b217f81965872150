"""Which nodes a pod may use, whatever their room: cordons, taints, selector, node affinity.

The rules are kube-scheduler's (plugins NodeUnschedulable, TaintToleration and NodeAffinity).
"""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from edl.model import Node, Requirement, Shape, Taint, Toleration

Mask = NDArray[np.bool_]

NAME_FIELD: Final = "metadata.name"
"""The one matchFields key that Kubernetes knows; it stands among the requirements."""

_KEEPING_AWAY: Final = ("NoSchedule", "NoExecute")
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
"""No longer: a label has 63 characters, but a user's rule any number, and int() refuses 5,000."""


class Eligibility:
    """Masks over the nodes, in their order; each distinct rule is worked out once."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._open: Mask = np.array([node.schedulable for node in nodes], dtype=np.bool_)
        self._values: dict[str, list[str | None]] = {}
        self._selected: dict[object, Mask] = {}
        self._tolerated: dict[tuple[Toleration, ...], Mask] = {}

    def mask(self, shape: Shape) -> Mask:
        """True where a pod of this shape may run; bool[nodes]."""
        return self._open & self.tolerated(shape) & self.selected(shape)

    def tolerated(self, shape: Shape) -> Mask:
        """Nodes whose taints this shape tolerates."""
        found = self._tolerated.get(shape.tolerations)
        if found is None:
            verdicts = {
                taints: all(_tolerates(shape.tolerations, taint) for taint in taints)
                for taints in {node.taints for node in self._nodes}
            }
            found = np.array([verdicts[node.taints] for node in self._nodes], dtype=np.bool_)
            self._tolerated[shape.tolerations] = found
        return found

    def selected(self, shape: Shape) -> Mask:
        """Nodes that the node selector and the required node affinity name."""
        rule = (shape.node_selector, shape.affinity)
        if rule not in self._selected:
            self._selected[rule] = self._select(shape)
        return self._selected[rule]

    def _select(self, shape: Shape) -> Mask:
        found: Mask = np.ones(len(self._nodes), dtype=np.bool_)
        for key, value in shape.node_selector:
            found &= self._matches(Requirement(key, "In", (value,)))
        if shape.affinity:
            found &= np.any([self._matches_term(term) for term in shape.affinity], axis=0)
        return found

    def _matches_term(self, term: tuple[Requirement, ...]) -> Mask:
        """An empty term matches no node (Kubernetes, NodeSelectorTerm)."""
        if not term:
            return np.zeros(len(self._nodes), dtype=np.bool_)
        found: Mask = np.all([self._matches(requirement) for requirement in term], axis=0)
        return found

    def _matches(self, requirement: Requirement) -> Mask:
        values = self._values_of(requirement.key)
        verdicts = {value: _satisfies(requirement, value) for value in set(values)}
        return np.array([verdicts[value] for value in values], dtype=np.bool_)

    def _values_of(self, key: str) -> list[str | None]:
        if key not in self._values:
            self._values[key] = [
                node.name if key == NAME_FIELD else (node.labels or {}).get(key)
                for node in self._nodes
            ]
        return self._values[key]


def _tolerates(tolerations: tuple[Toleration, ...], taint: Taint) -> bool:
    return taint.effect not in _KEEPING_AWAY or any(
        toleration.effect in ("", taint.effect)
        and toleration.key in ("", taint.key)
        and (toleration.operator == "Exists" or (_equals(toleration, taint)))
        for toleration in tolerations
    )


def _equals(toleration: Toleration, taint: Taint) -> bool:
    """Operator Equal, also when it is left out; an empty key needs Exists."""
    named = toleration.key == taint.key
    return named and toleration.operator in ("", "Equal") and toleration.value == taint.value


def _satisfies(requirement: Requirement, value: str | None) -> bool:
    """Kubernetes, labels.Requirement: NotIn and DoesNotExist also match a missing label."""
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(requirement, value)
    return False


def _compares(requirement: Requirement, value: str | None) -> bool:
    bound = requirement.values[0] if len(requirement.values) == 1 else ""
    if value is None or not _INTEGER.fullmatch(value) or not _INTEGER.fullmatch(bound):
        return False
    return int(value) > int(bound) if requirement.operator == "Gt" else int(value) < int(bound)
