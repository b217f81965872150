"""Requests nodes for gangs by ProvisioningRequests; `ProvisionalRoom` uses provisional pods.

An autoscaler adds all nodes of a ProvisioningRequest or none, and counts idle capacity itself. So a
gang requests its whole minimum, and idle capacity is reserved for it while it waits. It does not
request its maximum, since its start would wait for the extras.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from edl.model import RequestState
from edl.planner.packing.node_capacity import Ints
from edl.planner.passes.admission.gang import Gang
from edl.planner.passes.admission.topology_placement import NodesByRequest
from edl.planner.snapshot.cluster_snapshot import Snapshot


@dataclass(slots=True)
class NodeProvisioner:
    """By one ProvisioningRequest per gang, which holds no capacity on nodes.

    Mappings are pods by role name.
    """

    snapshot: Snapshot

    def hold(self, found: Gang) -> Mapping[str, int]:
        """The pods of its existing request; reserves the capacity that they hold."""
        return _pods(found) if found.job.provisioning.requests else {}

    def held(self, found: Gang) -> Mapping[str, int]:
        """The requested pods for which an autoscaler has added nodes."""
        return _pods(found) if found.job.provisioning.provisioned else {}

    def free(self, _found: Gang, _sign: int = 1) -> None:
        """Release the capacity held for the gang, so that it can start there; -1 holds it again."""

    def is_awaited(self, _found: Gang) -> bool:
        """Whether its start waits for nodes for more than its minimum."""
        return False

    def deadline(self, found: Gang) -> datetime | None:
        """When the requested nodes must have joined; None without a request.

        After the request is provisioned, nodes have the same time again to become ready.
        """
        request, limit = found.job.provisioning.request, self.snapshot.limits.provisioning_timeout
        if request is None:
            return None
        times = {RequestState.FAILED: 0, RequestState.PENDING: 1, RequestState.PROVISIONED: 2}
        return request.created_at + times[request.state] * limit

    def place(self, _found: Gang) -> tuple[Gang, NodesByRequest] | None:
        """Reserve the held capacity, and idle capacity for its other pods; None if not possible."""
        return None

    def wanted(self, found: Gang, _reach: Callable[[], Ints]) -> list[int]:
        """Per pod set of the gang, the number of pods for which to request nodes."""
        return [request.pods for request in found.requests]

    def claim(self, found: Gang) -> None:
        """Reserve idle capacity, also on nodes as they join, against later gangs."""
        for request in found.requests if not found.job.topology.required else ():
            request.pod_class.idle.reserve_pods(request.pods)

    def reserve(self, _found: Gang, _asked: Mapping[str, int]) -> None:
        """Reserve idle capacity against growth, after the last gang."""


def _pods(found: Gang) -> Mapping[str, int]:
    return {
        role.name: request.pods
        for role, request in zip(found.roles, found.requests, strict=True)
        if request.pods
    }
