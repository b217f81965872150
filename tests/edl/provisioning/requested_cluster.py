"""A cluster with cluster-autoscaler, which answers ProvisioningRequests, and no pending pods."""

from datetime import timedelta
from math import ceil
from typing import TYPE_CHECKING, Final

from edl.model import ObjectRef
from edl.planner.decision_limits import Limits, Provisioner, ProvisionerSettings
from edl.quantities import Resources
from edl.writes import Json
from tests.edl.provisioning.autoscaled_cluster import PER_NODE, AutoscaledCluster

if TYPE_CHECKING:
    from datetime import datetime

LIMITS: Final = Limits(provisioning=ProvisionerSettings(Provisioner.REQUEST))


class RequestedCluster(AutoscaledCluster):
    """All nodes of a request at once, or `most` would be passed: then it fails."""

    def __init__(self, most: int = 100, delay: float = 60, limits: Limits = LIMITS) -> None:
        super().__init__(most, delay, limits)
        self.api.unserved = frozenset({"NodePool"})
        self.answers = True
        """Whether an autoscaler is there."""
        self._ready_at: dict[str, datetime] = {}
        self._made: set[str] = set()
        """Requests whose nodes are there."""

    def requests(self) -> list[Json]:
        return self.objects("ProvisioningRequest")

    def autoscale(self) -> None:
        for request in self.requests() if self.answers else ():
            name = request["metadata"]["name"]
            if name not in self._ready_at:
                self._ready_at[name] = self.now + timedelta(seconds=self.delay)
                self._answer(request)
            elif name not in self._made and self._ready_at[name] <= self.now:
                self._made.add(name)
                self._make_nodes(request)

    def told(self, name: str, condition: str, message: str = "") -> None:
        """A condition of a request becomes true."""
        found = self.api.get(ObjectRef("ProvisioningRequest", "lab", name))
        conditions = (found.get("status") or {}).get("conditions") or []
        one = {"type": condition, "status": "True", "reason": "Any", "message": message}
        status = {"conditions": [*conditions, one]}
        self.api.patch(ObjectRef("ProvisioningRequest", "lab", name), {"status": status})

    def _answer(self, request: Json) -> None:
        name, nodes = request["metadata"]["name"], self._missing(request)
        if self.made + nodes > self.most:
            self.told(name, "Failed", f"no {nodes} nodes in the zone")
        else:
            self.told(name, "Provisioned", "its nodes are made")

    def _make_nodes(self, request: Json) -> None:
        for _ in range(self._missing(request)):
            self.made += 1
            self.node(f"made-{self.made:03}")

    def _missing(self, request: Json) -> int:
        """The nodes that its pods need besides idle capacity, which it looks for first."""
        missing = 0
        for pod_set in request["spec"]["podSets"]:
            target = ObjectRef("PodTemplate", "lab", pod_set["podTemplateRef"]["name"])
            (container,) = self.api.get(target)["template"]["spec"]["containers"]
            cpu = Resources.parse(container["resources"]["requests"]).get("cpu")
            idle = sum(free // cpu for free in self.free().values())
            missing += ceil(max(pod_set["count"] - idle, 0) / (PER_NODE * 1000 // cpu))
        return missing
