"""Requests nodes for gangs: by provisional pods, or by one ProvisioningRequest per gang.

An autoscaler adds nodes for provisional pods that are unschedulable; the others, once bound, hold
idle capacity for the gang. When all are bound, the gang is started in their place and they are
deleted.

A gang requests nodes only for pods that fit neither on idle capacity nor on that of extras which it
may reclaim; provisional pods that hold capacity for it already are kept.

An autoscaler adds all nodes of a ProvisioningRequest or none, and counts idle capacity itself. So a
gang requests its whole minimum, and idle capacity is reserved for it while it waits. It does not
request its maximum, since its start would wait for the extras.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import numpy as np

from edl.contract import Provision
from edl.feasibility.horizon import FUTURE_IDLE, IDLE
from edl.job_state.requested_nodes import pods_due, request_due
from edl.model import JobKey, ProvisionalPod, Role
from edl.planner.gangs.gang import Gang
from edl.planner.gangs.topology_placement import AttainedCapacity, NodesByRequest, kept_at
from edl.planner.packing.missing_pods import still_missing
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.pack_order import reserve_idle, reserve_nodes
from edl.planner.packing.pod_class import PodClass, PodSetRequest, pack
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.quota_balance import QuotaRequest
from edl.spec.allowed_sizes import RESIZABLE

MAX_PODS: Final = 1000
"""Most pods per role for which nodes are requested; a larger minimum is requested as a whole."""


@dataclass(slots=True)
class ProvisionalRoom:
    """Requests nodes by provisional pods. Mappings are pods by role name."""

    snapshot: Snapshot
    _bound: dict[JobKey, list[ProvisionalPod]] = field(default_factory=dict)
    """By job, the bound provisional pods whose capacity is reserved for the gang."""

    def reserve_bound(self, gang: Gang) -> Mapping[str, int]:
        """The provisional pods of a gang; reserves the capacity of those that are bound.

        Not if pods with precedence have taken that capacity, which will preempt the provisional
        pod, nor on a node that no longer accepts pods of the role: it is drained or gone. Nor on
        nodes that existed before the request, if teams do not lend what these have.
        """
        bound = self._bound[gang.job.key] = []
        only_added = is_unlent(gang.quota_request)
        for pod in gang.job.provisioning.bound:
            stays = self._is_schedulable(pod) and self._is_tolerated(gang, pod)
            stays = stays and (self._is_added(gang, pod) or not only_added)
            if stays and has_room_for(self.snapshot, pod):
                self.snapshot.reserve_provisional((pod,))
                bound.append(pod)
        return Counter(pod.role for pod in gang.job.provisioning.pods if not pod.gone)

    def provisioned(self, gang: Gang) -> Mapping[str, int]:
        """The requested pods for which an autoscaler has added nodes."""
        return Counter(pod.role for pod in gang.job.provisioning.bound)

    def release_bound(self, gang: Gang) -> None:
        """Release the capacity held for the gang, so that it can start there."""
        self.snapshot.release_provisional(self._bound.get(gang.job.key, ()))

    def restore_bound(self, gang: Gang) -> None:
        """Undo `release_bound`."""
        self.snapshot.reserve_provisional(self._bound.get(gang.job.key, ()))

    def is_awaited(self, gang: Gang) -> bool:
        """Whether its start waits for nodes for more than its minimum."""
        asked = gang.job.provisioning
        return asked.provision is Provision.MAXIMUM and any(
            not (pod.node or pod.gone) for pod in asked.pods
        )

    def deadline(self, gang: Gang) -> datetime | None:
        """When the requested nodes must have joined; None without a request."""
        limit = self.snapshot.limits.provisioning.provisioning_timeout
        return pods_due(gang.job.provisioning, limit)

    def place(self, gang: Gang) -> tuple[Gang, NodesByRequest] | None:
        """Reserve the nodes of its provisional pods, and idle capacity for the rest."""
        held = [
            nodes[: request.pods]
            for nodes, request in zip(self._nodes(gang), gang.requests, strict=True)
        ]
        candidate = kept_at(self.snapshot, gang, held) if any(held) else None
        if candidate is None or not reserve_nodes(candidate.requests, held):
            return None
        rest = still_missing(candidate.requests, held)
        if (more := reserve_idle(rest)) is not None:
            return candidate, [nodes + others for nodes, others in zip(held, more, strict=True)]
        for request, nodes in zip(rest, held, strict=True):
            request.pod_class.idle.unreserve_pods(nodes)
        return None

    def holds_all(self, gang: Gang) -> bool:
        """Whether provisional pods hold capacity for all of its pods."""
        pairs = zip(self._nodes(gang), gang.requests, strict=True)
        return all(len(nodes) >= request.pods for nodes, request in pairs)

    def wanted(self, gang: Gang, attained: Callable[[], AttainedCapacity]) -> list[int]:
        """The number of provisional pods per pod set of the gang.

        Bound ones that hold no capacity are counted on top until they are preempted: if they were
        deleted, new ones would be bound in their place. Not those on unschedulable nodes that their
        role tolerates: new ones would be bound there again.
        """
        held, requests = [len(nodes) for nodes in self._nodes(gang)], list(self._requests(gang))
        bound = Counter(
            pod.role
            for pod in gang.job.provisioning.bound
            if self._is_schedulable(pod) or not self._is_tolerated(gang, pod)
        )
        idle = [bound[role.name] - count for role, count in zip(gang.roles, held, strict=True)]
        # With a required domain, the domain in which nodes will join is unknown.
        fitting = held
        if not gang.job.topology.required:
            rest = still_missing(requests, held)
            self.restore_bound(gang)  # capacity held for one role is not available to another
            more = pack(attained().room, rest, FUTURE_IDLE)
            self.release_bound(gang)
            fitting = [count + new for count, new in zip(held, more, strict=True)]
        missing = [request.pods for request in still_missing(requests, fitting)]
        if not any(missing):  # they fit by amounts, but constraints exclude them
            missing = [request.pods for request in requests]
        return [
            min(count + more, request.pods) + lost
            for count, more, request, lost in zip(held, missing, requests, idle, strict=True)
        ]

    def _requests(self, gang: Gang) -> Iterator[PodSetRequest]:
        """Its pods; with `Provision.MAXIMUM`, up to each role's max as far as quotas allow."""
        most = gang.job.provisioning.provision is Provision.MAXIMUM
        most = most and not _is_overdrawn(gang.quota_request)
        taken = [(gang.quota_request, 1)]
        gang.quota_request.reserve(IDLE)
        for role, request in zip(gang.roles, gang.requests, strict=True):
            grows = most and role.spec.resizing in RESIZABLE and role.request.replicas is None
            more = min(role.spec.max, MAX_PODS) - request.pods if grows else 0
            pod_request = self.snapshot.quotas.pod_request(gang.job, role)
            if more > 0:
                more = allowed_pods(pod_request, more)
                taken.append((pod_request, more))
                pod_request.reserve(IDLE, more)
            yield PodSetRequest(request.pod_class, request.pods + max(more, 0))
        for pod_request, pods in taken:
            pod_request.reserve(IDLE, -pods)

    def _is_schedulable(self, pod: ProvisionalPod) -> bool:
        node = self.snapshot.capacity.index.get(pod.node, NO_NODE)
        return node != NO_NODE and bool(self.snapshot.capacity.schedulable[node])

    def _is_added(self, gang: Gang, pod: ProvisionalPod) -> bool:
        """Whether its node was created after the gang requested nodes."""
        node = self.snapshot.nodes_by_name.get(pod.node)
        since = gang.job.provisioning.since
        return bool(node and node.created_at and since and node.created_at > since)

    def _is_tolerated(self, gang: Gang, pod: ProvisionalPod) -> bool:
        """Whether the pod's role tolerates the taints of its node; False if the node is gone."""
        node = self.snapshot.capacity.index.get(pod.node, NO_NODE)
        return node != NO_NODE and any(
            role.name == pod.role and self.snapshot.eligibility.tolerated(role.template.shape)[node]
            for role in gang.roles
        )

    def _nodes(self, gang: Gang) -> list[list[int]]:
        """The nodes on which provisional pods hold capacity for the gang, by pod set."""
        index, pods = self.snapshot.capacity.index, self._bound.get(gang.job.key, ())
        nodes = [(pod.role, index[pod.node]) for pod in pods]
        return [[node for name, node in nodes if name == role.name] for role in gang.roles]

    def claim(self, _gang: Gang) -> None:
        """Reserve idle capacity against later gangs, unless kube-scheduler binds pods to it."""

    def reserve(self, gang: Gang, asked: Mapping[str, int]) -> None:
        """Reserve idle capacity against growth, after the last gang."""
        there = self.provisioned(gang)
        for role, request in zip(gang.roles, gang.requests, strict=True):
            more = asked.get(role.name, 0) - there.get(role.name, 0)
            self._labelled(gang, role, request.pod_class).idle.reserve_pods(max(more, 0))

    def _labelled(self, gang: Gang, role: Role, pod_class: PodClass) -> PodClass:
        """Restricted to nodes with all labels of required topologies: no other can be bound to."""
        labels = [label for name, label in gang.job.topology.required if name in ("", role.name)]
        there = [self.snapshot.domains.by_label(label).of_nodes != NO_NODE for label in labels]
        return pod_class.within(np.logical_and.reduce(there)) if there else pod_class


class RequestedRoom(ProvisionalRoom):
    """Requests nodes by ProvisioningRequests, which hold no capacity on nodes."""

    def reserve_bound(self, gang: Gang) -> Mapping[str, int]:
        return _pods(gang) if gang.job.provisioning.requests else {}

    def provisioned(self, gang: Gang) -> Mapping[str, int]:
        return _pods(gang) if gang.job.provisioning.provisioned else {}

    def is_awaited(self, _gang: Gang) -> bool:
        return False

    def deadline(self, gang: Gang) -> datetime | None:
        limit = self.snapshot.limits.provisioning.provisioning_timeout
        return request_due(gang.job.provisioning, limit)

    def wanted(self, gang: Gang, _attained: Callable[[], AttainedCapacity]) -> list[int]:
        return [request.pods for request in gang.requests]

    def claim(self, gang: Gang) -> None:
        for request in gang.requests if not gang.job.topology.required else ():
            request.pod_class.idle.reserve_pods(request.pods)

    def reserve(self, _gang: Gang, _asked: Mapping[str, int]) -> None:
        pass


def _pods(gang: Gang) -> Mapping[str, int]:
    pairs = zip(gang.roles, gang.requests, strict=True)
    return {role.name: request.pods for role, request in pairs if request.pods}


def has_room_for(snapshot: Snapshot, pod: ProvisionalPod) -> bool:
    """Whether the pod's node has idle capacity for it."""
    node = snapshot.capacity.index.get(pod.node, NO_NODE)
    cells = snapshot.capacity.cells_to_compare(snapshot.capacity.amounts(pod.requests), IDLE)
    return node != NO_NODE and all(idle[node] >= amount for idle, amount in cells)


def is_unlent(request: QuotaRequest) -> bool:
    """Whether a gang lacks nothing but capacity that teams do not lend."""
    return not (request.allows(IDLE) or request.exceeded(IDLE))


def _is_overdrawn(request: QuotaRequest) -> bool:
    """Whether teams use and keep more than the nodes have: they would keep added ones, too.

    Then a minimum may start on nodes that are added for it, and extras may not follow.
    """
    charge = request.team
    if charge is None or not charge.balance.keepers:
        return False
    return any(charge.balance.kept.left(index) < 0 for index, _ in charge.amounts)


def allowed_pods(request: QuotaRequest, most: int) -> int:
    """How many more pods the quotas admit on added nodes, at most `most`.

    Guarantees that teams do not lend keep none from nodes that are added for it.
    """
    counts = range(1, most + 1)
    exceeded = request.exceeded
    return bisect_left(counts, 1, key=lambda pods: int(exceeded(IDLE, pods) is not None))
