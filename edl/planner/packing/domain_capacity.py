"""Domains of nodes by a label, and which of them have room for pods that stay together."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from edl.feasibility.eligibility import Eligibility
from edl.feasibility.horizon import IDLE, Horizon
from edl.model import Domain
from edl.planner.packing.node_capacity import ALL_NODES, Ints, NodeCapacity
from edl.planner.packing.pod_class import PodClass, PodSetRequest

ReadCapacity: TypeAlias = Callable[[Ints | slice], Ints]
"""The room of some nodes; int64[resources, rows]."""
_FEW: Final = 4
"""Nodes whose changes are added one by one, as numpy is slow with few."""
_RANKED: Final = 2**20
"""Nodes that rankings remember together: some 50 MiB."""
_TIGHTEST: Final = 12
_ROOMIEST: Final = 4
"""That many domains are tried from each end of those whose sums have room."""


class TopologyDomains(NamedTuple):
    """Nodes by the value of one label."""

    label: str
    values: tuple[str, ...]
    of_nodes: Ints
    """The place of each node's value in `values`, -1 without the label; int64[nodes]."""


class DomainRanking:
    """Domains in the order in which pods of some shapes use them, by the room of their nodes.

    A node is read again where pods came to it or left it since (`changed_nodes`): a plan reads
    all nodes once for each set of shapes.
    """

    __slots__ = (
        "_at",
        "_capacity",
        "_changed_nodes",
        "_horizon",
        "_known",
        "_nodes",
        "_numbers",
        "_pod_classes",
        "_resources",
        "_seen",
        "_sums",
    )  # fmt: skip

    def __init__(
        self,
        domains: TopologyDomains,
        pod_classes: Sequence[PodClass],
        room: ReadCapacity,
        horizon: Horizon,
        touched: Sequence[int] = (),
    ) -> None:
        usable = np.any([pod_class.eligible for pod_class in pod_classes], axis=0)
        self._nodes = np.flatnonzero(usable & (domains.of_nodes >= 0))
        own = domains.of_nodes[self._nodes]
        present = np.bincount(own, minlength=len(domains.values)) > 0
        self._numbers = np.flatnonzero(present)
        self._at: Ints = (np.cumsum(present) - 1)[own]
        """The place of each node's domain in `_numbers`."""
        self._pod_classes, self._capacity, self._horizon = pod_classes, room, horizon
        self._resources = sorted(
            {resource for pod_class in pod_classes for resource, _ in pod_class.amounts}
        )
        kinds = 2 * len(pod_classes) + len(self._resources)
        self._known: Ints = np.zeros((kinds, len(self._nodes)), dtype=np.int64)
        """For each node the pods that it takes of each shape, their squares, and its room."""
        self._sums: Ints = np.zeros((kinds, len(self._numbers)), dtype=np.int64)
        self._changed_nodes, self._seen = touched, len(touched)
        self._read(np.arange(len(self._nodes)))

    @property
    def size(self) -> int:
        """How many nodes it remembers."""
        return len(self._nodes)

    def tightest(self, requests: Sequence[PodSetRequest]) -> Iterator[int]:
        """Domains that seem to have room for all, the one with the least room to spare first.

        Of equal ones, the one whose room is on fewer nodes. Shapes together may find less room than
        their sums say: placing them shows it. If there are many, those between are left out.
        """
        self._follow()
        count, asked = len(requests), dict.fromkeys(self._resources, 0)
        for pod_class, pods in requests:
            for resource, amount in pod_class.amounts:
                asked[resource] += amount * pods
        wanted = np.array([request.pods for request in requests], dtype=np.int64)
        some = np.flatnonzero(wanted)
        spare = (self._sums[some] / wanted[some, None]).min(axis=0, initial=np.inf)
        close = -self._sums[count + some].sum(axis=0)
        least = np.array([*asked.values()], dtype=np.int64)
        has = spare >= 1
        has &= (self._sums[2 * count :] >= least[:, None]).all(axis=0)
        enough = np.flatnonzero(has)
        for rank, place in enumerate(_ascending(spare[enough], close[enough])):
            if not _TIGHTEST <= rank < len(enough) - _ROOMIEST:
                yield int(self._numbers[enough[place]])

    def roomiest(self, requests: Sequence[PodSetRequest]) -> Iterator[int]:
        """Domains with room for any of these pods, the one with room for most of them first."""
        self._follow()
        totals = self._sums[: len(requests)]
        pods = np.array([[request.pods] for request in requests], dtype=np.int64)
        fitting = np.minimum(totals, pods).sum(axis=0)
        some = np.flatnonzero(fitting > 0)
        for place in _ascending(-fitting[some], -totals.sum(axis=0)[some]):
            yield int(self._numbers[some[place]])

    def _follow(self) -> None:
        new = self._changed_nodes[self._seen :]
        self._seen += len(new)
        if len(new) > len(self._nodes):
            self._read(np.arange(len(self._nodes)))
        elif new:
            nodes = np.array(sorted(set(new)), dtype=np.int64)
            columns = np.minimum(np.searchsorted(self._nodes, nodes), len(self._nodes) - 1)
            self._read(columns[self._nodes[columns] == nodes])

    def _read(self, columns: Ints) -> None:
        if columns.size:
            amounts, at = self._amounts(self._nodes[columns]), self._at[columns]
            self._add(at, amounts - self._known[:, columns])
            self._known[:, columns] = amounts

    def _add(self, at: Ints, more: Ints) -> None:
        """More of each kind in these domains, of which one may be there several times."""
        if at.size <= _FEW:
            for place, column in zip(at.tolist(), more.T, strict=True):
                self._sums[:, place] += column
        else:
            for sums, row in zip(self._sums, more, strict=True):
                np.add.at(sums, at, row)

    def _amounts(self, nodes: Ints) -> Ints:
        room, horizon = self._capacity(nodes), self._horizon
        pods = [
            pod_class.pods_by_resources(room, nodes)
            if pod_class.is_unconstrained
            else pod_class.pods_per_node(self._capacity(ALL_NODES), horizon)[nodes]
            for pod_class in self._pod_classes
        ]
        free = np.maximum(room[self._resources], 0)
        return np.array([*pods, *(one**2 for one in pods), *free], dtype=np.int64)


def _ascending(by: NDArray[np.float64] | Ints, then: Ints) -> Iterator[int]:
    """Places in this order; they are sorted only where the first of them does not do."""
    if by.size:
        least = np.flatnonzero(by == by.min())
        yield int(least[np.argmin(then[least])])
        yield from np.lexsort((then, by))[1:].tolist()


def topology_domains(label: str, values: Sequence[str | None]) -> TopologyDomains:
    """values: of each node, None without the label."""
    names = sorted({value for value in values if value is not None})
    numbers: dict[str | None, int] = {name: number for number, name in enumerate(names)}
    nodes = np.array([numbers.get(value, -1) for value in values], dtype=np.int64)
    return TopologyDomains(label, tuple(names), nodes)


class NodeDomains:
    """The domains of one plan's nodes, and rankings of them, worked out once."""

    def __init__(self, capacity: NodeCapacity, eligibility: Eligibility) -> None:
        self._capacity, self._eligibility = capacity, eligibility
        self._by_label: dict[str, TopologyDomains] = {}
        self._rankings: dict[tuple[str, tuple[PodClass, ...], Horizon], DomainRanking] = {}
        self._ranked = 0
        """The nodes in all of `_rankings`."""
        self._within: dict[tuple[PodClass, str, int], PodClass] = {}
        """Shapes that are kept to a domain: by label, and by the domain's number."""
        self._kept_to: dict[PodClass, tuple[Domain, ...]] = {}

    def forget_rankings(self) -> None:
        """Capacity has changed as a whole."""
        self._rankings.clear()

    def by_label(self, label: str) -> TopologyDomains:
        """The nodes by the value of a label."""
        found = self._by_label.get(label)
        if found is None:
            found = self._by_label[label] = topology_domains(label, self._eligibility.values(label))
        return found

    def ranking(
        self, label: str, requests: Sequence[PodSetRequest], horizon: Horizon
    ) -> DomainRanking:
        """The domains by their room that is promised to no pod."""
        pod_classes = tuple(request.pod_class for request in requests)
        found = self._rankings.get((label, pod_classes, horizon))
        if found is None:
            room = self._capacity.available if horizon is IDLE else self._capacity.future_available
            found = DomainRanking(
                self.by_label(label), pod_classes, room, horizon, self._capacity.changed_nodes
            )
            if all(
                pod_class.is_unconstrained for pod_class in pod_classes
            ):  # else what fits depends on more than its node
                self._ranked += found.size
                if self._ranked > _RANKED:
                    self._rankings.clear()
                    self._ranked = found.size
                self._rankings[label, pod_classes, horizon] = found
        return found

    def within(self, pod_class: PodClass, label: str, number: int) -> PodClass:
        """The same shape on the nodes of one domain."""
        key = (pod_class, label, number)
        found = self._within.get(key)
        if found is None:
            domains = self.by_label(label)
            found = self._within[key] = pod_class.within(domains.of_nodes == number)
            self._kept_to[found] = (
                *self.kept_to(pod_class),
                Domain(label, domains.values[number]),
            )
        return found

    def kept_to(self, pod_class: PodClass) -> tuple[Domain, ...]:
        """The domains that `within` restricts a pod class to."""
        return self._kept_to.get(pod_class, ())
