"""Topology domains, and which of them have capacity for pods that must stay together."""

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
"""Reads the capacity of these nodes; int64[resources, nodes read]."""
_FEW: Final = 4
"""Up to this many changed nodes are added in a Python loop, which is faster than numpy."""
_RANKED: Final = 2**20
"""Most nodes in all cached rankings together: about 50 MiB."""
_TIGHTEST: Final = 12
_ROOMIEST: Final = 4
"""How many domains to try, from each end of the order, of those whose sums suffice."""


class TopologyDomains(NamedTuple):
    """Nodes by the value of one label."""

    label: str
    values: tuple[str, ...]
    of_nodes: Ints
    """The index in `values` of each node's value, -1 without the label; int64[nodes]."""


class DomainRanking:
    """Orders domains for pods of some shapes by the capacity of their nodes.

    All nodes are read once; later only nodes whose capacity has changed (`changed_nodes`).
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
        """The index in `_numbers` of each node's domain."""
        self._pod_classes, self._capacity, self._horizon = pod_classes, room, horizon
        self._resources = sorted(
            {resource for pod_class in pod_classes for resource, _ in pod_class.amounts}
        )
        kinds = 2 * len(pod_classes) + len(self._resources)
        self._known: Ints = np.zeros((kinds, len(self._nodes)), dtype=np.int64)
        """int64[kinds, nodes]: how many pods of each shape fit, their squares, idle amounts."""
        self._sums: Ints = np.zeros((kinds, len(self._numbers)), dtype=np.int64)
        """`_known` summed by domain; int64[kinds, domains]."""
        self._changed_nodes, self._seen = touched, len(touched)
        self._read(np.arange(len(self._nodes)))

    @property
    def size(self) -> int:
        """The number of nodes whose capacity it caches."""
        return len(self._nodes)

    def tightest(self, requests: Sequence[PodSetRequest]) -> Iterator[int]:
        """Domains whose sums suffice for all pods, the one with the least to spare first.

        Among equals, the one whose capacity is on fewer nodes comes first. Several shapes together
        may still not fit, which only placing them shows. If there are many domains, only the
        `_TIGHTEST` first and the `_ROOMIEST` last ones are tried.
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
        """Domains with capacity for any of these pods, the one for most of them first."""
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
        """Add int64[kinds, nodes] to the sums of the nodes' domains; `at` may repeat a domain."""
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
    """Indexes in ascending order of `by`, then `then`; sorted only if more than one is read."""
    if by.size:
        least = np.flatnonzero(by == by.min())
        yield int(least[np.argmin(then[least])])
        yield from np.lexsort((then, by))[1:].tolist()


def topology_domains(label: str, values: Sequence[str | None]) -> TopologyDomains:
    """The domains of a label. `values`: each node's value, None without the label."""
    names = sorted({value for value in values if value is not None})
    numbers: dict[str | None, int] = {name: number for number, name in enumerate(names)}
    nodes = np.array([numbers.get(value, -1) for value in values], dtype=np.int64)
    return TopologyDomains(label, tuple(names), nodes)


class NodeDomains:
    """The domains of one plan's nodes, with cached rankings."""

    def __init__(self, capacity: NodeCapacity, eligibility: Eligibility) -> None:
        self._capacity, self._eligibility = capacity, eligibility
        self._by_label: dict[str, TopologyDomains] = {}
        self._rankings: dict[tuple[str, tuple[PodClass, ...], Horizon], DomainRanking] = {}
        self._ranked = 0
        """The number of nodes in all of `_rankings`."""
        self._within: dict[tuple[PodClass, str, int], PodClass] = {}
        """Pod classes restricted to one domain, by (pod class, label, number of the domain)."""
        self._kept_to: dict[PodClass, tuple[Domain, ...]] = {}

    def forget_rankings(self) -> None:
        """Drop cached rankings, after a change of capacity that `changed_nodes` does not list."""
        self._rankings.clear()

    def by_label(self, label: str) -> TopologyDomains:
        """The domains of a label."""
        found = self._by_label.get(label)
        if found is None:
            found = self._by_label[label] = topology_domains(label, self._eligibility.values(label))
        return found

    def ranking(
        self, label: str, requests: Sequence[PodSetRequest], horizon: Horizon
    ) -> DomainRanking:
        """The ranking of a label's domains by capacity that is reserved for no pod."""
        pod_classes = tuple(request.pod_class for request in requests)
        found = self._rankings.get((label, pod_classes, horizon))
        if found is None:
            room = self._capacity.available if horizon is IDLE else self._capacity.future_available
            found = DomainRanking(
                self.by_label(label), pod_classes, room, horizon, self._capacity.changed_nodes
            )
            if all(
                pod_class.is_unconstrained for pod_class in pod_classes
            ):  # else the pods that fit on a node depend on other nodes too
                self._ranked += found.size
                if self._ranked > _RANKED:
                    self._rankings.clear()
                    self._ranked = found.size
                self._rankings[label, pod_classes, horizon] = found
        return found

    def within(self, pod_class: PodClass, label: str, number: int) -> PodClass:
        """The pod class, restricted to the nodes of one domain."""
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
        """The domains to which `within` has restricted this pod class."""
        return self._kept_to.get(pod_class, ())
