"""Topology domains that started roles require or prefer."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain, islice, takewhile

from edl import reasons
from edl.feasibility.horizon import IDLE, Horizon
from edl.model import Reason, Role, TrainingJob
from edl.model.nodes import SplitDomains
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation


def domain_of(snapshot: Snapshot, job: TrainingJob, role_name: str, label: str) -> int:
    """The number of the domain with most pods of a started role; "": all roles. NO_NODE if none."""
    roles = _started(job, role_name)
    nodes = _nodes(roles) or [name for role in roles for name in role.record.assigned.nodes]
    counts = _domain_counts(snapshot, label, nodes)
    del counts[NO_NODE]
    return max(sorted(counts), key=counts.__getitem__, default=NO_NODE)


def why_split(snapshot: Snapshot, allocation: RoleAllocation) -> Reason | None:
    """Why a role may not grow whose pods are not all in one required domain; else None.

    Labels of nodes change while pods run: the domain of most pods may then be another one.
    """
    for role_name, label in allocation.job.topology.required:
        if role_name in ("", allocation.role.name):
            counts = _domain_counts(snapshot, label, _nodes(_started(allocation.job, role_name)))
            if len(counts) > 1 or NO_NODE in counts:
                values = snapshot.domains.by_label(label).values
                numbers = sorted(counts.keys() - {NO_NODE})
                domains = tuple(values[number] for number in numbers)
                return reasons.split(SplitDomains(label, domains, NO_NODE in counts))
    return None


def _nodes(roles: Sequence[Role]) -> list[str]:
    """The nodes of these roles' pods, also those that a plan has chosen for pods to bind."""
    pods = (pod for role in roles for pod in role.status.pods if pod.active)
    return list(filter(None, (pod.node or pod.planned.node for pod in pods)))


def _domain_counts(snapshot: Snapshot, label: str, names: Sequence[str]) -> Counter[int]:
    """By number of a domain, NO_NODE without the label, how many of these nodes are in it."""
    nodes, numbers = snapshot.capacity.index, snapshot.domains.by_label(label).of_nodes
    return Counter(int(numbers[nodes[name]]) for name in names if name in nodes)


def restricted_to_started(snapshot: Snapshot, allocation: RoleAllocation) -> PodClass:
    """The role's pod class, restricted to the domains in which its pods must stay."""
    pod_class = allocation.pod_class
    for role_name, label in allocation.job.topology.required:
        if role_name in ("", allocation.role.name):
            number = domain_of(snapshot, allocation.job, role_name, label)
            if number == NO_NODE:  # no pod has a node, and none was assigned
                number = _tightest(snapshot, allocation.job, role_name, label)
            if number != NO_NODE:
                pod_class = snapshot.domains.within(pod_class, label, number)
    return pod_class


def _tightest(snapshot: Snapshot, job: TrainingJob, role_name: str, label: str) -> int:
    """The tightest domain with idle capacity for a started role; "": all roles. NO_NODE if none."""
    requests = [
        PodSetRequest(snapshot.pod_class(role.template.shape), role.status.size)
        for role in _started(job, role_name)
    ]
    return next(snapshot.domains.ranking(label, requests, IDLE).tightest(requests), NO_NODE)


def _started(job: TrainingJob, role_name: str) -> list[Role]:
    return [role for role in job.live if not role.status.suspended and role_name in ("", role.name)]


@dataclass(slots=True)
class PreferredDomains:
    """The preferred domains that a role uses and that may have capacity for one more replica.

    Valid while capacity only shrinks: a full domain is not looked at again.
    """

    snapshot: Snapshot
    allocation: RoleAllocation
    horizon: Horizon
    _used: set[tuple[str, int]] = field(default_factory=set)
    """The domains of placements that were read, by (label, number)."""
    _open: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By label, a heap of the numbers of domains."""
    _read: int = 0
    """How many placements of the role were read."""
    _wide: Sequence[str] = ()
    """The labels above those whose domains are one node each: there, best fit finds the fullest."""

    def __post_init__(self) -> None:
        by_label, labels = self.snapshot.domains.by_label, self.allocation.job.topology.preferred
        wide = takewhile(lambda label: not by_label(label).are_single_nodes, labels)
        self._wide = tuple(wide)

    def find(self) -> int:
        """A node for one more replica, in the narrowest domain with capacity, or NO_NODE.

        If no narrower domain that the role uses has capacity, the replica opens another one, chosen
        for the role's further growth.
        """
        domains, pod_class = self.snapshot.domains, self.allocation.pod_class
        labels = self.allocation.job.topology.preferred
        self._add_used(labels)
        for depth in reversed(range(len(labels))):
            label, narrower = labels[depth], self._wide[depth + 1 :]
            numbers = self._open[label]
            while numbers:
                node = domains.find(pod_class, label, numbers[0], self.horizon)
                if node != NO_NODE and not narrower:
                    return node
                if node != NO_NODE:
                    return self._first_node(domains.within(pod_class, label, numbers[0]), narrower)
                heappop(numbers)
        return self._first_node(pod_class, self._wide)

    def _add_used(self, labels: Sequence[str]) -> None:
        placements = self.allocation.placements
        nodes = {placement.node for placement in placements[self._read :]} - {NO_NODE}
        self._read = len(placements)
        for label in labels if nodes else ():
            numbers = self.snapshot.domains.by_label(label).of_nodes
            for used in {(label, int(numbers[node])) for node in nodes} - self._used:
                self._used.add(used)
                if used[1] != NO_NODE:
                    heappush(self._open[label], used[1])

    def _first_node(self, pod_class: PodClass, labels: Sequence[str]) -> int:
        """A node in the tightest domain for the role's growth, else in the roomiest, or NO_NODE."""
        domains, horizon, role = self.snapshot.domains, self.horizon, self.allocation
        requests = [PodSetRequest(pod_class, max(role.max_replicas - len(role.placements), 1))]
        for label in labels:
            ranking = domains.ranking(label, requests, horizon)
            for number in islice(chain(ranking.tightest(requests), ranking.roomiest(requests)), 1):
                there = domains.within(requests[0].pod_class, label, number)
                requests = [requests[0]._replace(pod_class=there)]
        node = requests[0].pod_class.at(horizon).find()
        return node if node != NO_NODE else pod_class.at(horizon).find()


def in_domain_order(snapshot: Snapshot, allocation: RoleAllocation, nodes: list[int]) -> list[int]:
    """Nodes sorted by domain, so that replicas with adjacent indexes are near each other."""
    labels = allocation.job.topology.labels
    if not labels:
        return nodes
    columns = [snapshot.domains.by_label(label).of_nodes for label in labels]
    return sorted(nodes, key=lambda node: (*(int(column[node]) for column in columns), node))
