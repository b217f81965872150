"""Topology domains in the order in which pods that must stay together use them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice
from math import inf
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import Horizon
from edl.planner.packing.node_capacity import ALL_NODES, NodeCapacity
from edl.planner.packing.pod_class import PodClass, PodSetRequest

ReadCapacity: TypeAlias = Callable[[Ints | slice], Ints]
"""Reads the capacity of these nodes; int64[resources, nodes read]."""
_Cells: TypeAlias = tuple["memoryview[int]", "memoryview[int]"]
"""One kind of amounts, of single nodes and of domains; the memory of numpy's arrays."""
_FEW: Final = 8
"""Up to this many nodes or domains, a Python loop is faster than one call of numpy for all."""
_TIGHTEST: Final = 12
_ROOMIEST: Final = 4
"""How many domains to try, from each end of the order, of those whose sums suffice."""
_ABOVE_ALL_SUMS: Final = 2.0**62
"""More than any sum of pods that fit."""


class TopologyDomains(NamedTuple):
    """Nodes by the value of one label."""

    label: str
    values: tuple[str, ...]
    of_nodes: Ints
    """The index in `values` of each node's value, -1 without the label; int64[nodes]."""
    by_domain: Ints
    """All nodes with the label, in the order of their domains."""
    ends: list[int]
    """The place in `by_domain` after each domain's nodes."""

    def nodes_of(self, number: int) -> Ints:
        """The nodes of a domain, ascending."""
        return self.by_domain[self.ends[number - 1] if number else 0 : self.ends[number]]

    @property
    def are_single_nodes(self) -> bool:
        return len(self.values) == len(self.of_nodes)


class DomainRanking:
    """Orders domains for pods of some shapes by the capacity of their nodes.

    All nodes are read once; later only nodes whose capacity has changed (`changed_nodes`), and
    only their domains change their places in an order.
    """

    def __init__(
        self,
        domains: TopologyDomains,
        pod_classes: Sequence[PodClass],
        read_capacity: ReadCapacity,
        horizon: Horizon,
        followed: NodeCapacity | None = None,
    ) -> None:
        """`followed`: the capacity that `read_capacity` reads; None if it does not change."""
        usable = reduce(np.logical_or, [pod_class.eligible for pod_class in pod_classes])
        self._nodes = np.flatnonzero(usable & (domains.of_nodes >= 0))
        numbers = domains.of_nodes[self._nodes]
        present = np.bincount(numbers, minlength=len(domains.values)) > 0
        self._numbers = np.flatnonzero(present)
        self._domain_of: Ints = (np.cumsum(present) - 1)[numbers]
        """The index in `_numbers` of each node's domain."""
        self._pod_classes, self._read_capacity, self._horizon = pod_classes, read_capacity, horizon
        self._resources = sorted({row for pod_class in pod_classes for row, _ in pod_class.amounts})
        self._changed_nodes: Sequence[int] = followed.changed_nodes if followed else ()
        self._seen = len(self._changed_nodes)
        self._changed_domains: list[int] = []
        """Domains whose sums changed, in order of the changes; repeated."""
        self._fits: dict[tuple[int, ...], _Fit] = {}
        self._amounts = self._read_amounts(self._nodes)
        """int64[kinds, nodes]: how many pods of each shape fit, their squares, idle amounts."""
        self._sums: Ints = np.zeros((len(self._amounts), len(self._numbers)), dtype=np.int64)
        """`_amounts` summed by domain; int64[kinds, domains]."""
        self._add(self._domain_of, self._amounts)
        self._columns: dict[int, int] = {}
        """The index in `_nodes` of each node; filled once some have changed."""
        pairs = zip(self._amounts, self._sums, strict=True)
        self._cells: list[_Cells] = [(memoryview(nodes), memoryview(sums)) for nodes, sums in pairs]
        plain = all(pod_class.is_unconstrained for pod_class in pod_classes)
        self._followed = followed if plain else None
        """The capacity, if resource amounts alone decide where pods fit."""

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
        fit = self._fit(requests)
        order = map(self._numbers.__getitem__, _ascending(fit.spare, fit.dispersion))
        yield from map(int, islice(order, _TIGHTEST))
        yield from map(int, [*order][-_ROOMIEST:])

    def roomiest(self, requests: Sequence[PodSetRequest]) -> Iterator[int]:
        """Domains with capacity for any of these pods, the one for most of them first."""
        self._follow()
        totals = self._sums[: len(requests)]
        pods = np.array([[request.pods] for request in requests], dtype=np.int64)
        fitting = np.minimum(totals, pods).sum(axis=0)
        for domain in _ascending(np.where(fitting > 0, -fitting, inf), -totals.sum(axis=0)):
            yield int(self._numbers[domain])

    def _fit(self, requests: Sequence[PodSetRequest]) -> "_Fit":
        """How well the domains fit these pods, computed anew where their sums have changed."""
        self._follow()
        wanted = tuple([pods for _, pods in requests])
        fit = self._fits.get(wanted)
        if fit is None:
            fit = self._fits[wanted] = _Fit(requests, self._resources, self._sums)
            fit.seen = len(self._changed_domains)
        elif fit.seen < len(self._changed_domains):
            fit.read(self._changed_domains[fit.seen :])
            fit.seen = len(self._changed_domains)
        return fit

    def _follow(self) -> None:
        """Read the nodes again whose capacity has changed."""
        if self._seen == len(self._changed_nodes):
            return
        new = {*self._changed_nodes[self._seen :]}
        self._seen = len(self._changed_nodes)
        if not self._columns:
            self._columns = {node: column for column, node in enumerate(self._nodes.tolist())}
        changed = sorted(new & self._columns.keys())
        if self._followed is not None and len(changed) <= _FEW:
            for node in changed:
                self._read_node(node, self._followed)
        elif changed:
            columns = [self._columns[node] for node in changed]
            amounts, domains = self._read_amounts(self._nodes[columns]), self._domain_of[columns]
            self._add(domains, amounts - self._amounts[:, columns])
            self._amounts[:, columns] = amounts
            self._changed_domains += domains.tolist()

    def _read_node(self, node: int, capacity: NodeCapacity) -> None:
        """Read a single node again, without numpy, which takes longer for few nodes."""
        column = self._columns[node]
        domain = int(self._domain_of[column])
        free = capacity.available_on(node, self._resources, self._horizon)
        pods = [pod_class.pods_on(node, free) for pod_class in self._pod_classes]
        amounts = [*pods, *[count * count for count in pods], *free.values()]
        for (by_node, by_domain), amount in zip(self._cells, amounts, strict=True):
            by_domain[domain] += amount - by_node[column]
            by_node[column] = amount
        self._changed_domains.append(domain)

    def _add(self, domains: Ints, more: Ints) -> None:
        """Add int64[kinds, nodes] to the sums of the nodes' `domains`, which may repeat."""
        for sums, row in zip(self._sums, more, strict=True):
            np.add.at(sums, domains, row)

    def _read_amounts(self, nodes: Ints) -> Ints:
        room, horizon = self._read_capacity(nodes), self._horizon
        pods = [
            pod_class.pods_by_resources(room, nodes)
            if pod_class.is_unconstrained
            else pod_class.pods_per_node(self._read_capacity(ALL_NODES), horizon)[nodes]
            for pod_class in self._pod_classes
        ]
        free = np.maximum(room[self._resources], 0)
        return np.array([*pods, *(count**2 for count in pods), *free], dtype=np.int64)


class _Fit:
    """How well each domain of a ranking fits a number of pods of each of its shapes."""

    def __init__(
        self, requests: Sequence[PodSetRequest], resources: Sequence[int], sums: Ints
    ) -> None:
        """`sums` is read by reference."""
        requested = dict.fromkeys(resources, 0)
        for pod_class, pods in requests:
            for row, amount in pod_class.amounts:
                requested[row] += amount * pods
        self._pods = [request.pods for request in requests]
        self._requested = [*requested.values()]
        self._sums = sums
        self.seen = 0
        """How many changes of domains it contains (`DomainRanking._changed_domains`)."""
        self.spare: NDArray[np.float64] = np.empty(sums.shape[1])
        """How many times all pods fit by the sums; infinite where they do not fit once."""
        self.dispersion: Ints = np.empty(sums.shape[1], dtype=np.int64)
        """Less where the capacity is on fewer nodes."""
        self._read(slice(None))

    def read(self, changed: Iterable[int]) -> None:
        """Compute these domains anew."""
        domains = [*{*changed}]
        if len(domains) > _FEW:
            self._read(domains)
            return
        for domain in domains:
            self._read_one(domain)

    def _read(self, domains: slice | list[int]) -> None:
        there, kinds = self._sums[:, domains], len(self._pods)
        spare: NDArray[np.float64] = np.full(there.shape[1], _ABOVE_ALL_SUMS)
        dispersion: Ints = np.zeros(there.shape[1], dtype=np.int64)
        for pods, fitting, squares in zip(self._pods, there, there[kinds:], strict=False):
            if pods:
                spare = np.minimum(spare, fitting / pods)
                dispersion = dispersion - squares
        short = spare < 1
        for least, free in zip(self._requested, there[2 * kinds :], strict=True):
            short |= free < least
        self.spare[domains] = np.where(short, inf, spare)
        self.dispersion[domains] = dispersion

    def _read_one(self, domain: int) -> None:
        """The same for one domain, without numpy, which takes longer for few domains."""
        there, kinds = self._sums[:, domain].tolist(), len(self._pods)
        spare, dispersion = _ABOVE_ALL_SUMS, 0
        for pods, fitting, squares in zip(self._pods, there, there[kinds:], strict=False):
            if pods:
                spare = min(spare, fitting / pods)
                dispersion -= squares
        pairs = zip(self._requested, there[2 * kinds :], strict=True)
        short = spare < 1 or any(free < least for least, free in pairs)
        self.spare[domain] = inf if short else spare
        self.dispersion[domain] = dispersion


def _ascending(by: NDArray[np.float64], ties: Ints) -> Iterator[int]:
    """Indexes in ascending order of `by`, then `ties`, without those whose `by` is infinite.

    Sorted only if more than a few are read.
    """
    left = by
    for _ in range(_FEW):
        first = left.min(initial=inf)
        if first == inf:
            return
        least = np.flatnonzero(left == first)
        index = int(least[np.argmin(ties[least])])
        yield index
        left = left.copy() if left is by else left
        left[index] = inf
    yield from np.lexsort((ties, by))[_FEW : np.count_nonzero(by < inf)].tolist()


def topology_domains(label: str, values: Sequence[str | None]) -> TopologyDomains:
    """The domains of a label. `values`: each node's value, None without the label."""
    names = sorted({value for value in values if value is not None})
    numbers: dict[str | None, int] = {name: number for number, name in enumerate(names)}
    nodes = np.array([numbers.get(value, -1) for value in values], dtype=np.int64)
    by_domain = np.argsort(nodes, kind="stable")[np.count_nonzero(nodes < 0) :]
    ends = np.cumsum(np.bincount(nodes[by_domain], minlength=len(names)))
    return TopologyDomains(label, tuple(names), nodes, by_domain, ends.tolist())
