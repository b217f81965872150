"""The pods of training jobs."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec

from edl import contract
from edl.model.quotas import QuotaCharge
from edl.model.reason_codes import Reason
from edl.quantities import Resources


class ProvisionalPod(msgspec.Struct, frozen=True):
    """A placeholder pod that makes a node autoscaler add a node for one pod of a queued role."""

    name: str
    uid: str
    role: str
    node: str
    """Empty until it is bound."""
    created_at: datetime
    requests: Resources = Resources()
    charges: tuple[QuotaCharge, ...] = ()
    """Its own usage of the quotas of its namespace."""
    gone: bool = False
    """It has ended, or is terminating."""


class FailedAttempt(msgspec.Struct, frozen=True):
    """A failed request for nodes, or a refused write, to be retried after a back-off."""

    at: datetime
    attempts: int
    """Consecutive failures so far."""
    message: str = ""
    """The message of the autoscaler or the API server; shown, never parsed."""


class RequestState(StrEnum):
    """The state of a ProvisioningRequest, from its conditions."""

    PENDING = "Pending"
    PROVISIONED = "Provisioned"
    """All nodes exist, or are being created."""
    FAILED = "Failed"
    """No nodes will be added, or their reservation has expired."""


class CapacityRequest(msgspec.Struct, frozen=True):
    """A ProvisioningRequest for the nodes of a whole gang: all of them or none."""

    name: str
    uid: str
    provisioning_class: str
    created_at: datetime
    pod_sets: int = 0
    """The number of its pod sets; each has a PodTemplate of its own."""
    state: RequestState = RequestState.PENDING
    message: str = ""
    """The message of its conditions; shown, never parsed."""


class Provisioning(msgspec.Struct, frozen=True):
    """A training job's requests to a node autoscaler."""

    provision: contract.Provision = contract.Provision.MINIMUM
    pods: tuple[ProvisionalPod, ...] = ()
    """Sorted by name."""
    requests: tuple[CapacityRequest, ...] = ()
    """The oldest first; only the last one is current."""
    failure: FailedAttempt | None = None
    """Read from the first Job; None once the training job has started."""
    message: str = ""
    """The autoscaler's last message about them; shown, never parsed."""

    @property
    def has_requests(self) -> bool:
        """Whether a provisional pod or a ProvisioningRequest exists."""
        return bool(self.pods or self.requests)

    @property
    def since(self) -> datetime | None:
        """Creation time of the first of them."""
        made = [pod.created_at for pod in self.pods]
        return min((*made, *(one.created_at for one in self.requests)), default=None)

    @property
    def request(self) -> CapacityRequest | None:
        return self.requests[-1] if self.requests else None

    @property
    def provisioned(self) -> CapacityRequest | None:
        """The request whose nodes the job's pods will use."""
        found = self.request
        return found if found and found.state is RequestState.PROVISIONED else None

    @property
    def held(self) -> tuple[ProvisionalPod, ...]:
        """The provisional pods that are bound to a node."""
        return tuple(pod for pod in self.pods if pod.node and not pod.gone)

    def in_order(self, role: str, *, queued: bool) -> list[ProvisionalPod]:
        """The provisional pods of a role, in the order in which a smaller request keeps them.

        Those with a node come first if the job is queued, last if it runs, as its own pods then
        replace those with a node.
        """
        alive = (pod for pod in self.pods if pod.role == role and not pod.gone)
        return sorted(alive, key=lambda pod: (bool(pod.node) != queued, len(pod.name), pod.name))


class PodPhase(StrEnum):
    """Kubernetes' pod phases."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


class Leaving(msgspec.Struct, frozen=True):
    """Workers that a launcher's host list has dropped, and whose pods are deleted seconds later."""

    pods: frozenset[str]
    """Pod names, so that a replacement with the same index is not affected."""
    size: int
    """The size of their role without them."""
    reason: Reason
    since: datetime | None = None
    """When the list was written; on the pod that is `PublishedHosts.at`."""


class PublishedHosts(msgspec.Struct, frozen=True):
    """The host list that was last written on a launcher's pod."""

    hosts: str | None = None
    """None before the first publication."""
    leaving: Leaving | None = None
    """The pods that this list dropped."""
    at: datetime | None = None
    confirmed_at: datetime | None = None
    """The publication after which the pod was touched again, so that its kubelet syncs the file."""


class PlannedNode(msgspec.Struct, frozen=True):
    """The planned node of a pod with the scheduling gate `edl.dev/placement`."""

    name: str = ""
    """Empty until a plan has chosen a node."""
    given_at: datetime | None = None
    own_affinity: str = "[]"
    """Its users' own as text (`edl.node_affinity.kept`), while it waits for a node of the plan."""
    says_disruption: bool = False
    """Its template has a do-not-disrupt or safe-to-evict annotation; read while it is gated."""


class Pod(msgspec.Struct, frozen=True):
    """A pod of a training job. `node` is empty until it is bound; `index` is -1 without ranks."""

    name: str
    index: int
    node: str
    phase: PodPhase
    ready: bool
    terminating: bool
    gates: tuple[str, ...]
    """Its scheduling gates; kube-scheduler ignores a pod that has any."""
    created_at: datetime
    version: str
    published: PublishedHosts = PublishedHosts()
    planned: PlannedNode = PlannedNode()
    ready_since: datetime | None = None
    """None while it is not ready."""
    restarted_at: datetime | None = None
    """When the kubelet last restarted one of its containers."""
    finalizers: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    """UUIDs of the GPUs of which KubeShare gave it a share."""

    @property
    def gated(self) -> bool:
        return bool(self.gates)

    @property
    def unplaced(self) -> bool:
        """Whether it has the gate `edl.dev/placement`, and waits for a planned node."""
        return contract.PLACEMENT_GATE in self.gates

    @property
    def active(self) -> bool:
        """Whether it has not ended and is not terminating."""
        return not (self.ended or self.terminating)

    @property
    def ended(self) -> bool:
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)


class RequestedSize(msgspec.Struct, frozen=True, omit_defaults=True):
    """What users ask of a role's size: its bounds, a manual size, and whether its job is paused."""

    min: int
    max: int
    manual: int | None = None
    paused: bool = False


class RefusedSize(msgspec.Struct, frozen=True, omit_defaults=True):
    """A size that the API server refused to write for a running role; 0: it refused to stop it."""

    role: str
    size: Annotated[int, msgspec.Meta(ge=0)]
    grows: bool
    """Whether it was larger than the role's size then."""
    request: RequestedSize | None = None
    """The users' request then. The refusal says nothing about another request."""
    lifted: bool = False
    """Whether the API server has since accepted it in a dry run."""

    @property
    def kind(self) -> tuple[str, bool, bool]:
        """Writes of one kind are refused together: scale-ups, scale-downs or stops of a role."""
        return self.role, self.grows, self.size == 0


class WriteRefusal(FailedAttempt, frozen=True, omit_defaults=True):
    """The API server refused a write of a training job: of its start, or of new sizes."""

    sizes: tuple[RefusedSize, ...] = ()
    """The last one of each kind."""
    starts: bool = False
    """Whether it refused the start."""
    lifted: bool = False
    """Whether the API server has since accepted the start in a dry run."""

    @property
    def refused_sizes(self) -> tuple[RefusedSize, ...]:
        """The sizes that the API server still refuses."""
        return tuple(one for one in self.sizes if not one.lifted)

    @property
    def starts_refused(self) -> bool:
        """Whether the API server still refuses the start."""
        return self.starts and not self.lifted

    @property
    def holds(self) -> bool:
        """Whether the API server still refuses any of these writes."""
        return self.starts_refused or bool(self.refused_sizes)

    def __str__(self) -> str:
        if self.starts_refused:
            return f"the API server refuses its start: {self.message}"
        if any(not one.size for one in self.refused_sizes):
            return f"the API server refuses to suspend it: {self.message}"
        return f"the API server refuses its new size: {self.message}"
