"""How the pods of a role are spread over topology domains: pods per value of a node label."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from edl.model import Node, Topology, TrainingJob

NodeLabels = Mapping[str, Mapping[str, str]]
"""Labels of each node, by its name."""


class DomainCounts(msgspec.Struct, frozen=True):
    """Pods of one role in each domain of one topology label, most pods first."""

    role: str
    label: str
    required: bool
    domains: tuple[tuple[str, int], ...]
    """(value, pods); the value is empty for pods on nodes without the label."""


def labels_of(nodes: Iterable[Node]) -> NodeLabels:
    return {node.name: node.labels or {} for node in nodes}


def counted(
    topology: Topology, nodes: Mapping[str, Iterable[str]], labels: NodeLabels
) -> tuple[DomainCounts, ...]:
    """`nodes` maps a role to the node of each of its pods.

    Nodes missing from `labels` are left out.
    """
    return tuple(
        DomainCounts(role, label, required, _domains(label, names, labels))
        for role, names in ((role, tuple(hosts)) for role, hosts in nodes.items())
        for label, required in _labels(topology, role)
    )


def running(job: TrainingJob, labels: NodeLabels) -> tuple[DomainCounts, ...]:
    """Domains of the pods that are bound to a node, or to which a plan has assigned one."""
    nodes = {
        role.name: [pod.node or pod.planned.node for pod in role.status.pods if pod.active]
        for role in job.live
    }
    return counted(job.topology, nodes, labels)


def _labels(topology: Topology, role: str) -> Iterator[tuple[str, bool]]:
    """(label, required) for each topology label of one role, the widest domains first."""
    required = {label for name, label in topology.required if name in ("", role)}
    for label in topology.labels:
        if label in required or label in topology.preferred:
            yield label, label in required


def _domains(label: str, nodes: Iterable[str], labels: NodeLabels) -> tuple[tuple[str, int], ...]:
    counts = Counter(labels[name].get(label, "") for name in nodes if name in labels)
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
