"""Requests of whole gangs: an autoscaler makes all nodes of a ProvisioningRequest, or none.

It looks for idle room itself: so a gang asks for its whole minimum, and idle room is kept for it
while it waits. It asks for no maximum: a gang would wait for extras.
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
class AtomicRequests:
    """`NodeProvisioner` by ProvisioningRequests."""

    snapshot: Snapshot

    def hold(self, found: Gang) -> Mapping[str, int]:
        return _pods(found) if found.job.provisioning.requests else {}

    def held(self, found: Gang) -> Mapping[str, int]:
        return _pods(found) if found.job.provisioning.provisioned else {}

    def free(self, found: Gang, sign: int = 1) -> None:
        """Nothing of it is on a node."""

    def is_awaited(self, found: Gang) -> bool:  # noqa: ARG002 — of a family
        """It asks for no more than its minimum."""
        return False

    def deadline(self, found: Gang) -> datetime | None:
        """Once they are provisioned, nodes have as long again to be ready."""
        request, limit = found.job.provisioning.request, self.snapshot.limits.provisioning_timeout
        if request is None:
            return None
        times = {RequestState.FAILED: 0, RequestState.PENDING: 1, RequestState.PROVISIONED: 2}
        return request.created_at + times[request.state] * limit

    def place(self, found: Gang) -> tuple[Gang, NodesByRequest] | None:  # noqa: ARG002 — of a family
        """Wherever there is room."""
        return None

    def wanted(self, found: Gang, reach: Callable[[], Ints]) -> list[int]:  # noqa: ARG002
        return [request.pods for request in found.requests]

    def claim(self, found: Gang) -> None:
        """No gang behind it may take the nodes that come for it, one by one, nor idle room."""
        for request in found.requests if not found.job.topology.required else ():
            request.pod_class.idle.reserve_pods(request.pods)

    def reserve(self, found: Gang, asked: Mapping[str, int]) -> None:
        """It was claimed already."""


def _pods(found: Gang) -> Mapping[str, int]:
    return {
        role.name: request.pods
        for role, request in zip(found.roles, found.requests, strict=True)
        if request.pods
    }
