"""How a gang asks an autoscaler for nodes: by one request for all of them, or by provisional pods.

An autoscaler makes all nodes of a ProvisioningRequest, or none. It looks for idle room itself: so a
gang asks for its whole minimum, and idle room is kept for it while it waits. It asks for no
maximum: a gang would wait for extras.
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
    """By a ProvisioningRequest: nothing of the gang is on a node. Pods are counted by role."""

    snapshot: Snapshot

    def hold(self, found: Gang) -> Mapping[str, int]:
        """What it has asked for, whose room is taken; empty where it has not."""
        return _pods(found) if found.job.provisioning.requests else {}

    def held(self, found: Gang) -> Mapping[str, int]:
        """What an autoscaler has made nodes for, as far as it has asked."""
        return _pods(found) if found.job.provisioning.provisioned else {}

    def free(self, _found: Gang, _sign: int = 1) -> None:
        """The room that is held for it is there for it; -1: it is held again."""

    def is_awaited(self, _found: Gang) -> bool:
        """Whether more pods than its minimum are to have nodes first."""
        return False

    def deadline(self, found: Gang) -> datetime | None:
        """When what it has asked for must be there; None where it has not asked.

        Once they are provisioned, nodes have as long again to be ready.
        """
        request, limit = found.job.provisioning.request, self.snapshot.limits.provisioning_timeout
        if request is None:
            return None
        times = {RequestState.FAILED: 0, RequestState.PENDING: 1, RequestState.PROVISIONED: 2}
        return request.created_at + times[request.state] * limit

    def place(self, _found: Gang) -> tuple[Gang, NodesByRequest] | None:
        """Where nodes are held for it, and wherever there is room for its other pods."""
        return None

    def wanted(self, found: Gang, _reach: Callable[[], Ints]) -> list[int]:
        """For how many pods of each of its requests it asks for nodes."""
        return [request.pods for request in found.requests]

    def claim(self, found: Gang) -> None:
        """No gang behind it may take the nodes that come for it, one by one, nor idle room."""
        for request in found.requests if not found.job.topology.required else ():
            request.pod_class.idle.reserve_pods(request.pods)

    def reserve(self, _found: Gang, _asked: Mapping[str, int]) -> None:
        """Take idle room from growth, after the last gang."""


def _pods(found: Gang) -> Mapping[str, int]:
    return {
        role.name: request.pods
        for role, request in zip(found.roles, found.requests, strict=True)
        if request.pods
    }
