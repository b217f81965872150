"""Topology of gangs: placement in required domains, and in as few preferred domains as possible.

As in Kueue's topology-aware scheduling, the tightest domain that suffices is tried first (best
fit), so that large domains stay free for large gangs.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import replace

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.model import Domain
from edl.planner.gangs.gang import Gang
from edl.planner.packing.domain_ranking import DomainRanking, TopologyDomains
from edl.planner.packing.missing_pods import still_missing
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.pack_order import pack_in_best_order, reserve_idle, reserve_nodes
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.started_domains import domain_of

_COMBINED: Final = 32
"""Most combinations of domains to try if several roles require a domain each."""

NodesByRequest: TypeAlias = list[list[int]]
"""For each request, the nodes of its pods."""
_Required: TypeAlias = Sequence[tuple[str, str]]
_Search: TypeAlias = Callable[[Sequence[PodSetRequest], str], Iterator[int]]
"""Domains of a label for some requests, the best first."""
_Reach: TypeAlias = tuple[Ints | None, Horizon]
"""Capacity, int64[resources, nodes]; None: current idle capacity, through the cached ranking."""


class AttainedCapacity(NamedTuple):
    """What a gang may get; int64[resources, nodes], and its `closest_fit` there."""

    room: Ints
    near: tuple[Gang, int] | None


def place_gang(snapshot: Snapshot, gang: Gang) -> tuple[Gang, NodesByRequest] | None:
    """Reserve idle capacity for all pods. Returns the gang restricted to its domains, and nodes.

    The restriction applies to its later growth as well. None, and no change, if it does not fit.
    """
    for candidate in restricted_to_domains(snapshot, gang):
        nodes = _close(snapshot, candidate.requests, gang.job.topology.preferred)
        if nodes is not None:
            return candidate, nodes
    return None


def place_on_assigned_nodes(
    snapshot: Snapshot, gang: Gang, horizon: Horizon
) -> tuple[Gang, NodesByRequest] | None:
    """Reserve the nodes assigned when it was stopped; None, and no change, if not all pods fit.

    So a job that restarts smaller frees just the nodes of the replicas that it gave up.
    """
    wanted = [
        [
            snapshot.capacity.index.get(role.record.assigned.node(index), NO_NODE)
            for index in range(request.pods)
        ]
        for role, request in zip(gang.roles, gang.requests, strict=True)
    ]
    if any(NO_NODE in nodes for nodes in wanted):
        return None
    candidate = kept_at(snapshot, gang, wanted)
    fits = candidate and reserve_nodes(candidate.requests, wanted, horizon)
    return (candidate, wanted) if candidate and fits else None


def restricted_to_domains(
    snapshot: Snapshot, gang: Gang, room: Ints | None = None, horizon: Horizon = IDLE
) -> Iterator[Gang]:
    """The gang restricted to domains whose sums suffice, tightest first.

    Unrestricted if it requires no topology. Without `room`, current idle capacity counts.
    """

    def fitting(requests: Sequence[PodSetRequest], label: str) -> Iterator[int]:
        return _ranking(snapshot, label, requests, (room, horizon)).tightest(requests)

    return islice(_kept(snapshot, gang, gang.job.topology.required, fitting), _COMBINED)


def _kept(snapshot: Snapshot, gang: Gang, required: _Required, search: _Search) -> Iterator[Gang]:
    """The gang restricted, per required label, to the domain of started pods or to a found one."""
    if not required:
        yield gang
        return
    (role, label), *rest = required
    requests = _wants(gang, role)
    fixed = domain_of(snapshot, gang.job, role, label)
    numbers = search(requests, label) if requests and fixed == NO_NODE else [fixed]
    for number in numbers:
        candidate = gang if number == NO_NODE else _keep(snapshot, gang, role, label, number)
        yield from _kept(snapshot, candidate, rest, search)


def _ranking(
    snapshot: Snapshot, label: str, requests: Sequence[PodSetRequest], reach: _Reach
) -> DomainRanking:
    room, horizon = reach
    if room is None:
        return snapshot.domains.ranking(label, requests, IDLE)
    pod_classes = [request.pod_class for request in requests]
    return DomainRanking(
        snapshot.domains.by_label(label), pod_classes, lambda nodes: room[:, nodes], horizon
    )


def kept_at(snapshot: Snapshot, gang: Gang, nodes: Sequence[Sequence[int]]) -> Gang | None:
    """The gang restricted to the domains of these nodes; None if they violate its topology."""
    candidate = gang
    for role, label in gang.job.topology.required:
        of_nodes = snapshot.domains.by_label(label).of_nodes
        pairs = zip(candidate.roles, nodes, strict=True)
        mine = [taken for member, taken in pairs if role in ("", member.name)]
        numbers = {int(of_nodes[node]) for taken in mine for node in taken}
        if len(numbers) > 1 or NO_NODE in numbers:
            return None
        for number in numbers:
            candidate = _keep(snapshot, candidate, role, label, number)
    return candidate


def closest_fit(
    snapshot: Snapshot, gang: Gang, room: Ints, horizon: Horizon
) -> tuple[Gang, int] | None:
    """The gang restricted to the domains in which most of its pods fit, and how many fit.

    None if no eligible node is in a required domain.
    """

    def closest(requests: Sequence[PodSetRequest], label: str) -> Iterator[int]:
        ranking = _ranking(snapshot, label, requests, (room, horizon))
        usable = _usable(requests, snapshot.domains.by_label(label))
        return islice(chain(ranking.roomiest(requests), usable), 1)

    candidate = next(_kept(snapshot, gang, gang.job.topology.required, closest), None)
    if candidate is None:
        return None
    return candidate, sum(pack_in_best_order(room, candidate.requests, horizon))


def fits_empty_cluster(snapshot: Snapshot, gang: Gang) -> bool:
    """Whether the gang would fit, by capacity, if no training job ran."""
    room = snapshot.capacity_without_training_jobs
    every = restricted_to_domains(snapshot, gang, room, Horizon.EMPTY)
    return any(
        sum(pack_in_best_order(room, candidate.requests, Horizon.EMPTY)) == gang.pods
        for candidate in every
    )


def in_preferred_domains(
    snapshot: Snapshot, gang: Gang, room: Ints
) -> Iterator[tuple[PodSetRequest, ...]]:
    """Its pods restricted to one preferred domain, narrowest label first; then unrestricted."""
    for label in reversed(gang.job.topology.preferred):
        ranking = _ranking(snapshot, label, gang.requests, (room, FUTURE_IDLE))
        for number in islice(ranking.tightest(gang.requests), 1):
            yield _within(snapshot, gang.requests, label, number)
    yield gang.requests


def _close(
    snapshot: Snapshot, requests: Sequence[PodSetRequest], labels: Sequence[str]
) -> NodesByRequest | None:
    """Reserve idle capacity in as few domains as possible, of the widest label first.

    One domain of a narrow label lies in one domain of each wider label, so narrow ones are tried
    first. None, and no change, if the pods do not fit.
    """
    for depth in range(len(labels), 0, -1):
        label = labels[depth - 1]
        for number in snapshot.domains.ranking(label, requests, IDLE).tightest(requests):
            nodes = _spread(snapshot, _within(snapshot, requests, label, number), labels[depth:])
            if nodes is not None:
                return nodes
    return _spread(snapshot, requests, labels)


def _spread(
    snapshot: Snapshot, requests: Sequence[PodSetRequest], labels: Sequence[str]
) -> NodesByRequest | None:
    """Reserve idle capacity over several domains, as few of the widest label as possible."""
    if not labels:
        return reserve_idle(requests)
    domains = snapshot.domains.by_label(labels[0])
    if len(labels) == 1:
        return _over(snapshot, requests, domains) or reserve_idle(requests)
    there = _fewest(snapshot, requests, domains)
    return _spread(snapshot, there, labels[1:]) or reserve_idle(requests)


def _fewest(
    snapshot: Snapshot, requests: Sequence[PodSetRequest], domains: TopologyDomains
) -> Sequence[PodSetRequest]:
    """The pods restricted to a small set of domains that fits them; unrestricted if none does.

    Greedy: the roomiest domain first, or the tightest that fits the rest.
    """
    room, left, chosen = snapshot.capacity.available(), [*requests], list[int]()
    ranking = snapshot.domains.ranking(domains.label, requests, IDLE)
    for number in ranking.roomiest(requests):
        if number in chosen:
            continue
        last = ranking.tightest(left)
        chosen.append(next((domain for domain in last if domain not in chosen), number))
        there = _within(snapshot, left, domains.label, chosen[-1])
        counts = pack_in_best_order(room, there, IDLE)
        left = still_missing(left, counts)
        if not any(request.pods for request in left):
            mask = np.isin(domains.of_nodes, chosen)
            return [PodSetRequest(pod_class.within(mask), pods) for pod_class, pods in requests]
    return requests


def _over(
    snapshot: Snapshot, requests: Sequence[PodSetRequest], domains: TopologyDomains
) -> NodesByRequest | None:
    """Reserve in several domains: the roomiest first, and the rest in the tightest that fits it.

    None, and no change, if the pods do not fit.
    """
    nodes: NodesByRequest = [[] for _ in requests]
    left = [*requests]
    ranking = snapshot.domains.ranking(domains.label, requests, IDLE)
    for number in ranking.roomiest(requests):
        there = _within(snapshot, left, domains.label, next(ranking.tightest(left), number))
        counts = pack_in_best_order(snapshot.capacity.available(), there, IDLE)
        part = [
            PodSetRequest(pod_class, count)
            for (pod_class, _), count in zip(there, counts, strict=True)
        ]
        added = reserve_idle(part) or [[] for _ in requests]
        nodes = [taken + more for taken, more in zip(nodes, added, strict=True)]
        left = still_missing(requests, nodes)
        if not any(request.pods for request in left):
            return nodes
    for request, taken in zip(requests, nodes, strict=True):
        for node in taken:
            request.pod_class.idle.release(node)
    return None


def _wants(gang: Gang, role: str) -> list[PodSetRequest]:
    """The requests of one role, "" for all roles."""
    pairs = zip(gang.roles, gang.requests, strict=True)
    return [request for member, request in pairs if role in ("", member.name)]


def _keep(snapshot: Snapshot, gang: Gang, role: str, label: str, number: int) -> Gang:
    """The gang with one role ("" for all roles) restricted to one domain."""
    requests = [
        _within(snapshot, (request,), label, number)[0] if role in ("", member.name) else request
        for member, request in zip(gang.roles, gang.requests, strict=True)
    ]
    domain = Domain(label, snapshot.domains.by_label(label).values[number], role)
    return replace(gang, requests=tuple(requests), domains=(*gang.domains, domain))


def _within(
    snapshot: Snapshot, requests: Sequence[PodSetRequest], label: str, number: int
) -> tuple[PodSetRequest, ...]:
    return tuple(
        PodSetRequest(snapshot.domains.within(pod_class, label, number), pods)
        for pod_class, pods in requests
    )


def _usable(requests: Sequence[PodSetRequest], domains: TopologyDomains) -> list[int]:
    """At most one domain that has eligible nodes, however full they are."""
    usable = np.all([request.pod_class.eligible for request in requests], axis=0) & (
        domains.of_nodes != NO_NODE
    )
    numbers: list[int] = domains.of_nodes[usable][:1].tolist()
    return numbers
