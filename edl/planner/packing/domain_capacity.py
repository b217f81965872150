"""Topology domains, and which of them have capacity for pods that must stay together."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from typing import Final

from edl.feasibility.eligibility import Eligibility, Mask
from edl.feasibility.horizon import Horizon
from edl.model import Domain
from edl.planner.packing.domain_ranking import DomainRanking, TopologyDomains, topology_domains
from edl.planner.packing.node_capacity import NO_NODE, NodeCapacity
from edl.planner.packing.pod_class import PodClass, PodSetRequest

_RANKED: Final = 2**20
"""Most nodes in all cached rankings together: about 50 MiB."""


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

    def by_label(self, label: str) -> TopologyDomains:
        domains = self._by_label.get(label)
        if domains is None:
            values = self._eligibility.values(label)
            domains = self._by_label[label] = topology_domains(label, values)
        return domains

    def ranking(
        self, label: str, requests: Sequence[PodSetRequest], horizon: Horizon
    ) -> DomainRanking:
        """The ranking of a label's domains by capacity that is reserved for no pod."""
        classes = tuple(request.pod_class for request in requests)
        ranking = self._rankings.get((label, classes, horizon))
        if ranking is None:
            room = partial(self._capacity.available, horizon=horizon)
            ranking = DomainRanking(self.by_label(label), classes, room, horizon, self._capacity)
            # With constraints, the pods that fit on a node depend on other nodes too.
            if all(pod_class.is_unconstrained for pod_class in classes):
                self._ranked += ranking.size
                if self._ranked > _RANKED:
                    self._rankings.clear()
                    self._ranked = ranking.size
                self._rankings[label, classes, horizon] = ranking
        return ranking

    def within(self, pod_class: PodClass, label: str, number: int) -> PodClass:
        """The pod class, restricted to the nodes of one domain."""
        key = (pod_class, label, number)
        restricted = self._within.get(key)
        if restricted is None:
            domains = self.by_label(label)
            restricted = self._within[key] = pod_class.on(domains.nodes_of(number))
            domain = Domain(label, domains.values[number])
            self._kept_to[restricted] = (*self.kept_to(pod_class), domain)
        return restricted

    def find(self, pod_class: PodClass, label: str, number: int, horizon: Horizon) -> int:
        """The fullest node of one domain on which one more pod fits, or NO_NODE."""
        nodes = self.by_label(label).nodes_of(number)
        if len(nodes) > 1:
            return self.within(pod_class, label, number).at(horizon).find()
        node = int(nodes[0])
        return node if pod_class.at(horizon).admits(node) else NO_NODE

    def mask(self, domain: Domain) -> Mask:
        """The nodes of a domain; bool[nodes]."""
        domains = self.by_label(domain.label)
        mask: Mask = domains.of_nodes == bisect_left(domains.values, domain.value)
        return mask

    def kept_to(self, pod_class: PodClass) -> tuple[Domain, ...]:
        """The domains to which `within` has restricted this pod class."""
        return self._kept_to.get(pod_class, ())
