"""The pods of training jobs."""

from datetime import datetime
from enum import StrEnum

import msgspec

from edl import contract
from edl.model.quotas import QuotaCharge
from edl.model.reason_codes import Reason
from edl.quantities import Resources


class ProvisionalPod(msgspec.Struct, frozen=True):
    """A pod that runs nothing: it asks an autoscaler for the node of one pod of a queued role."""

    name: str
    uid: str
    role: str
    node: str
    """Empty until it is bound."""
    created_at: datetime
    requests: Resources = Resources()
    charges: tuple[QuotaCharge, ...] = ()
    """What it counts itself in the quotas of its namespace."""
    gone: bool = False
    """It has ended, or is about to."""


class FailedAttempt(msgspec.Struct, frozen=True):
    """Nodes did not come, or a start was refused: the training job tries again later."""

    at: datetime
    attempts: int
    """How many failed, one after the other."""
    message: str = ""
    """The words of the autoscaler or the API server, for people."""


class RequestState(StrEnum):
    """What an autoscaler has made of a ProvisioningRequest."""

    PENDING = "Pending"
    PROVISIONED = "Provisioned"
    """All nodes are there, or are about to be."""
    FAILED = "Failed"
    """None come, or those that came are not kept for it any more."""


class CapacityRequest(msgspec.Struct, frozen=True):
    """A ProvisioningRequest: it asks an autoscaler for the nodes of a whole gang, or for none."""

    name: str
    uid: str
    provisioning_class: str
    created_at: datetime
    pod_sets: int = 0
    """Each has a PodTemplate of its own."""
    state: RequestState = RequestState.PENDING
    said: str = ""
    """What the autoscaler says of it, for people."""


class Provisioning(msgspec.Struct, frozen=True):
    """What a training job has asked an autoscaler for."""

    wish: contract.Provision = contract.Provision.MINIMUM
    pods: tuple[ProvisionalPod, ...] = ()
    """Sorted by name."""
    requests: tuple[CapacityRequest, ...] = ()
    """The oldest first: the last one counts, others are of earlier rounds."""
    failure: FailedAttempt | None = None
    """As its first Job says; None once it is started."""
    said: str = ""
    """What the autoscaler last said of these, for people."""

    @property
    def asks(self) -> bool:
        """Whether there is anything by which it asks."""
        return bool(self.pods or self.requests)

    @property
    def since(self) -> datetime | None:
        """When the first of these was made."""
        made = [pod.created_at for pod in self.pods]
        return min((*made, *(one.created_at for one in self.requests)), default=None)

    @property
    def request(self) -> CapacityRequest | None:
        return self.requests[-1] if self.requests else None

    @property
    def provisioned(self) -> CapacityRequest | None:
        """The request whose nodes its pods are to use."""
        found = self.request
        return found if found and found.state is RequestState.PROVISIONED else None

    @property
    def held(self) -> tuple[ProvisionalPod, ...]:
        """Those that hold room on a node."""
        return tuple(pod for pod in self.pods if pod.node and not pod.gone)


class PodPhase(StrEnum):
    """Kubernetes' pod phases."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


class Leaving(msgspec.Struct, frozen=True):
    """Workers that were taken off a launcher's host list, and end a few seconds later."""

    pods: frozenset[str]
    """By name: a pod that replaces one of them stays."""
    size: int
    """The size of their role once they have left."""
    reason: Reason
    since: datetime | None = None
    """When the list was written; on the pod that is `PublishedHosts.at`."""


class PublishedHosts(msgspec.Struct, frozen=True):
    """The host list of a launcher, as it was last written on its pod."""

    hosts: str | None = None
    """None before the first."""
    leaving: Leaving | None = None
    """The pods that were taken off the list."""
    at: datetime | None = None
    confirmed_at: datetime | None = None
    """The publication of which its kubelet was reminded."""


class PlannedNode(msgspec.Struct, frozen=True):
    """The node that a plan has for a pod behind the gate `edl.dev/placement`."""

    name: str = ""
    """Empty until a plan gives it one."""
    given_at: datetime | None = None
    own_affinity: str = "[]"
    """Its users' own as text (`edl.node_affinity.kept`), while it waits for a node of the plan."""
    says_disruption: bool = False
    """Its template says itself, while it waits for a node, what autoscalers may do with it."""


class Pod(msgspec.Struct, frozen=True):
    """A pod of a training job. `node` is empty until it is bound; `index` is -1 without ranks."""

    name: str
    index: int
    node: str
    phase: PodPhase
    ready: bool
    terminating: bool
    gates: tuple[str, ...]
    """Its scheduling gates: with any, the scheduler does not look at it."""
    created_at: datetime
    version: str
    published: PublishedHosts = PublishedHosts()
    planned: PlannedNode = PlannedNode()
    ready_since: datetime | None = None
    """None while it is not ready."""
    restarted_at: datetime | None = None
    """When one of its containers was last started again in place."""
    finalizers: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    """The GPUs of which KubeShare gave it a share."""

    @property
    def gated(self) -> bool:
        return bool(self.gates)

    @property
    def unplaced(self) -> bool:
        """Whether it waits for a node of the plan."""
        return contract.PLACEMENT_GATE in self.gates

    @property
    def active(self) -> bool:
        """Whether it neither has ended nor is about to."""
        return not (self.ended or self.terminating)

    @property
    def ended(self) -> bool:
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)
