"""Namespaces of each queue's team: those of its LocalQueues, or else of its selector."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from edl import contract
from edl.convert.queues.queue_facts import (
    CLUSTER_QUEUE,
    QUEUE,
    NamespaceClaim,
    QueueFacts,
    QueueKey,
)
from edl.dns_names import is_dns_label
from edl.model import Requirement

_ALL: Final = "*"
_ONE_TEAM: Final = "a namespace has one team: move its jobs to a namespace of their own"
_NAME: Final = "a name of a-z, 0-9 and -, at most 63 characters"
_SET: Final = "kubectl edl teams set NAME --namespace NAMESPACE"


class TeamNamespaces(msgspec.Struct, frozen=True):
    """Names or a selector; both are empty if a queue names no namespaces."""

    names: tuple[str, ...] = ()
    selector: tuple[Requirement, ...] = ()


def namespaces_of(
    queues: Sequence[QueueFacts], claims: Sequence[NamespaceClaim], names: Mapping[QueueKey, str]
) -> Mapping[QueueKey, TeamNamespaces]:
    """Namespaces by queue; the first claim on a namespace wins, and others are reported.

    `names` are the teams' names, for the commands that reports recommend.
    """
    cluster_queues = {queue.name for queue in queues if queue.kind == CLUSTER_QUEUE}
    claimed = _claimed(claims, cluster_queues)
    by_queue = {
        (CLUSTER_QUEUE, name): TeamNamespaces(names) for name, names in _by_queue(claimed).items()
    }
    by_queue |= _selected([queue for queue in queues if queue.key not in by_queue], set(claimed))
    _report_unnamed([queue for queue in queues if queue.key not in by_queue], names)
    return by_queue


def _claimed(claims: Iterable[NamespaceClaim], cluster_queues: set[str]) -> Mapping[str, str]:
    """Namespace to ClusterQueue."""
    owners: dict[str, str] = {}
    for claim in claims:
        if claim.queue not in cluster_queues:
            what = f'no ClusterQueue is named "{claim.queue[:63]}"'
            claim.fields.lose(("spec", "clusterQueue"), what, "convert both together")
        elif not claim.namespace:
            claim.fields.lose(("metadata",), "has no namespace", "set metadata.namespace")
        elif not is_dns_label(claim.namespace):
            claim.fields.wrong(("metadata", "namespace"), f'"{claim.namespace[:63]}"', _NAME)
        elif owners.setdefault(claim.namespace, claim.queue) != claim.queue:
            what = f"{claim.namespace} uses the ClusterQueue {owners[claim.namespace]}, too"
            claim.fields.lose(("spec", "clusterQueue"), what, _ONE_TEAM)
    return owners


def _by_queue(owners: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    listed: dict[str, list[str]] = {}
    for namespace, queue in owners.items():
        listed.setdefault(queue, []).append(namespace)
    return {queue: tuple(sorted(names)) for queue, names in listed.items()}


def _selected(
    queues: Iterable[QueueFacts], taken: set[str]
) -> Iterator[tuple[QueueKey, TeamNamespaces]]:
    """Namespaces by the selectors of queues that have no LocalQueue."""
    selectors: set[tuple[Requirement, ...]] = set()
    for queue in queues:
        if queue.selector is None:
            continue
        names = (_ALL,) if not queue.selector else _names(queue.selector)
        twice = taken & set(names) if names else queue.selector in selectors
        if twice:
            what = "another team has these namespaces"
            queue.fields.lose(("spec", "namespaceSelector"), what, f"{_ONE_TEAM}; or {_SET}")
            continue
        taken |= set(names)
        selectors.add(queue.selector)
        yield queue.key, TeamNamespaces(names) if names else TeamNamespaces((), queue.selector)


def _names(selector: tuple[Requirement, ...]) -> tuple[str, ...]:
    """The namespaces that a selector lists by name; empty if it selects by other labels."""
    values = selector[0].values
    by_name = (Requirement(contract.NAMESPACE_NAME, "In", values),)
    # A team's namespaces may be patterns, and a label's value is none.
    return values if selector == by_name and all(map(is_dns_label, values)) else ()


def _report_unnamed(queues: Sequence[QueueFacts], names: Mapping[QueueKey, str]) -> None:
    """Note on queues whose team gets no namespaces, so that its guarantee serves no job.

    KAI's pods name their queue, so no object lists its namespaces.
    """
    parents = {queue.parent for queue in queues if queue.kind == QUEUE}
    for queue in queues:
        if queue.kind == QUEUE and queue.name not in parents:
            why = "KAI's pods name their queue"
        elif queue.selector is None and queue.capacity.guaranteed and queue.kind == CLUSTER_QUEUE:
            why = "no LocalQueue and no namespaceSelector names one"
        else:
            continue
        what = f"no namespace belongs to the team: {why}"
        command = _SET.replace("NAME ", f"{names[queue.key]} ", 1)
        queue.fields.note("metadata", what, f"run {command}")
