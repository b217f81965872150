"""Devices of DRA that count in several resources, and what pods hold of them.

A new pod gets whichever matching device kube-scheduler picks, so on each node it is counted in all
resources that one of these devices counts in. A bound pod is counted as what it holds.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from edl.feasibility.eligibility import Ints, Mask
from edl.model import Node, Pod

_Amounts: TypeAlias = tuple[tuple[int, int], ...]
"""(row of the arrays, amount) of each resource."""


class _Holding(NamedTuple):
    node: str
    amounts: _Amounts
    counted: frozenset[int]
    """The rows of all devices of its node."""


class DeviceClaims:
    """Rows and columns are those of the capacity arrays."""

    def __init__(self, nodes: Sequence[Node], resources: Sequence[str]) -> None:
        self._rows = {name: row for row, name in enumerate(resources)}
        self._node_count = len(nodes)
        self._kinds: dict[tuple[int, ...], list[int]] = {}
        """By combination of resources in which some device counts: the nodes with such devices."""
        self._holdings: dict[tuple[str, str], _Holding] = {}
        for column, node in enumerate(nodes):
            if node.claimed.kinds:
                self._read(column, node)
        self.rows = sorted({row for kind in self._kinds for row in kind})
        """The rows of devices."""
        self._overlaps: dict[tuple[int, int], Mask] = {}

    def __bool__(self) -> bool:
        """Whether pods request any such device."""
        return bool(self.rows)

    def _read(self, column: int, node: Node) -> None:
        for names in node.claimed.kinds:
            if kind := tuple(row for name, row in self._rows.items() if name in names):
                self._kinds.setdefault(kind, []).append(column)
        counted = frozenset(
            self._rows[name] for names in node.claimed.kinds for name in names if name in self._rows
        )
        for pod, held in node.claimed.held.items():
            pairs = ((self._rows[name], amount) for name, amount in held if name in self._rows)
            self._holdings[pod] = _Holding(node.name, tuple(sorted(pairs)), counted)

    def concern(self, amounts: _Amounts) -> bool:
        """Whether pods that request these amounts may hold devices."""
        return any(row in self.rows for row, _ in amounts)

    def taken(self, namespace: str, pod: Pod, amounts: _Amounts) -> _Amounts | None:
        """What a bound pod that requests `amounts` takes of its node; None if it is not known."""
        holding = self._holdings.get((namespace, pod.name))
        if holding is None or holding.node != pod.node:
            return None
        others = (pair for pair in amounts if pair[0] not in holding.counted)
        return tuple(sorted((*others, *holding.amounts)))

    def beside(self, amounts: _Amounts) -> dict[int, Ints]:
        """What one new pod may take besides what it requests: by row, int64[nodes]."""
        requested = {row: amount for row, amount in amounts if row in self.rows}
        widest, by_row = [*self._widest(requested)], dict[int, Ints]()
        for other in self.rows if widest else ():
            most = np.zeros(self._node_count, dtype=np.int64)
            for row in widest:
                most += requested[row] * (1 if row == other else self._overlap(row, other))
            more = np.maximum(most - requested.get(other, 0), 0)
            if more.any():
                by_row[other] = more
        return by_row

    def _overlap(self, row: int, other: int) -> Mask:
        """The nodes with a device that counts in both; bool[nodes]."""
        pair = (min(row, other), max(row, other))
        if pair not in self._overlaps:
            overlap = self._overlaps[pair] = np.zeros(self._node_count, dtype=np.bool_)
            for kind, nodes in self._kinds.items():
                if row in kind and other in kind:
                    overlap[nodes] = True
        return self._overlaps[pair]

    def _widest(self, requested: Mapping[int, int]) -> Iterable[int]:
        """The requested rows without those whose devices all count in another of them."""
        kinds_by_row = {row: {kind for kind in self._kinds if row in kind} for row in requested}
        for row, kinds in kinds_by_row.items():
            within = (
                kinds < others or (kinds == others and other < row)
                for other, others in kinds_by_row.items()
                if other != row
            )
            if not any(within):
                yield row
