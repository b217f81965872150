"""Topology domains that started roles require or prefer."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, islice

from edl.feasibility.horizon import IDLE, Horizon
from edl.model import Role, TrainingJob
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation


def domain_of(snapshot: Snapshot, job: TrainingJob, role: str, label: str) -> int:
    """The number of the domain with most pods of a started role, "" for all roles; or NO_NODE."""
    nodes, numbers = snapshot.capacity.index, snapshot.domains.by_label(label).of_nodes
    started = _started(job, role)
    pods = [
        pod.node or pod.planned.name for one in started for pod in one.status.pods if pod.active
    ]
    names = [*filter(None, pods)] or [name for one in started for name in one.record.assigned.nodes]
    found = Counter(int(numbers[nodes[name]]) for name in names if name in nodes)
    del found[NO_NODE]
    return max(sorted(found), key=found.__getitem__, default=NO_NODE)


def restricted_to_started(snapshot: Snapshot, allocation: RoleAllocation) -> PodClass:
    """The role's pod class, restricted to the domains in which its pods must stay."""
    pod_class = allocation.pod_class
    for role, label in allocation.job.topology.required:
        if role in ("", allocation.role.name):
            number = domain_of(snapshot, allocation.job, role, label)
            if number == NO_NODE:  # no pod has a node, and none was assigned
                number = _best(snapshot, allocation.job, role, label)
            pod_class = (
                pod_class
                if number == NO_NODE
                else snapshot.domains.within(pod_class, label, number)
            )
    return pod_class


def _best(snapshot: Snapshot, job: TrainingJob, role: str, label: str) -> int:
    """The tightest domain with idle capacity for a started role, "" for all roles; or NO_NODE."""
    requests = [
        PodSetRequest(snapshot.pod_class(one.template.shape), one.status.size)
        for one in _started(job, role)
    ]
    return next(snapshot.domains.ranking(label, requests, IDLE).tightest(requests), NO_NODE)


def _started(job: TrainingJob, role: str) -> list[Role]:
    return [one for one in job.live if not one.status.suspended and role in ("", one.name)]


def node_in_preferred_domain(
    snapshot: Snapshot, allocation: RoleAllocation, horizon: Horizon
) -> int:
    """A node for one more replica in a preferred domain of its role, narrowest first, or NO_NODE.

    If no narrower domain that the role uses has capacity, the replica opens another one, chosen
    for the role's further growth.
    """
    labels = allocation.job.topology.preferred
    taken = sorted(
        {placement.node for placement in allocation.placements if placement.node != NO_NODE}
    )
    for depth in reversed(range(len(labels))):
        label = labels[depth]
        for number in sorted(
            {*snapshot.domains.by_label(label).of_nodes[taken].tolist()} - {NO_NODE}
        ):
            pod_class = snapshot.domains.within(allocation.pod_class, label, number)
            if pod_class.at(horizon).find() != NO_NODE:
                return _begun(snapshot, allocation, pod_class, labels[depth + 1 :], horizon)
    return (
        _begun(snapshot, allocation, allocation.pod_class, labels, horizon) if labels else NO_NODE
    )


def _begun(
    snapshot: Snapshot,
    allocation: RoleAllocation,
    pod_class: PodClass,
    labels: Sequence[str],
    horizon: Horizon,
) -> int:
    """A node in the tightest domain for the role's growth, else in the roomiest, or NO_NODE."""
    requests = [
        PodSetRequest(pod_class, max(allocation.max_replicas - len(allocation.placements), 1))
    ]
    for label in labels:
        domains = snapshot.domains.by_label(label)
        if len(domains.values) == len(domains.of_nodes):
            break  # each domain is one node: best fit picks the fullest
        ranking = snapshot.domains.ranking(label, requests, horizon)
        for number in islice(chain(ranking.tightest(requests), ranking.roomiest(requests)), 1):
            requests = [
                PodSetRequest(
                    snapshot.domains.within(requests[0].pod_class, label, number), requests[0].pods
                )
            ]
    node = requests[0].pod_class.at(horizon).find()
    return node if node != NO_NODE else pod_class.at(horizon).find()


def in_domain_order(snapshot: Snapshot, allocation: RoleAllocation, nodes: list[int]) -> list[int]:
    """Nodes sorted by domain, so that replicas with adjacent indexes are near each other."""
    labels = allocation.job.topology.labels
    if not labels:
        return nodes
    columns = [snapshot.domains.by_label(label).of_nodes for label in labels]
    return sorted(nodes, key=lambda node: (*(int(column[node]) for column in columns), node))
