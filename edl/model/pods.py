"""The pods of training jobs."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from edl import contract
from edl.model.causes.reason_codes import Code, Reason
from edl.model.failures import FailedAttempt
from edl.model.quotas import QuotaCharge
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
        return min((*made, *(request.created_at for request in self.requests)), default=None)

    @property
    def request(self) -> CapacityRequest | None:
        return self.requests[-1] if self.requests else None

    @property
    def provisioned(self) -> CapacityRequest | None:
        """The request whose nodes the job's pods will use."""
        request = self.request
        return request if request and request.state is RequestState.PROVISIONED else None

    @property
    def bound(self) -> tuple[ProvisionalPod, ...]:
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
    """When the list was written; on the pod that is `PublishedHosts.published_at`."""


class PublishedHosts(msgspec.Struct, frozen=True):
    """The host list that was last written on a launcher's pod."""

    hosts: str | None = None
    """None before the first publication."""
    leaving: Leaving | None = None
    """The pods that this list dropped."""
    published_at: datetime | None = None
    confirmed_at: datetime | None = None
    """The publication after which the pod was touched again, so that its kubelet syncs the file."""


class PlannedNode(msgspec.Struct, frozen=True):
    """The planned node of a pod with the gate `edl.dev/placement`."""

    node: str = ""
    """Empty until a plan has chosen a node."""
    placed_at: datetime | None = None
    node_affinity: str = "[]"
    """Its template's (`edl.node_affinity.terms_text`), while it waits for a node of the plan."""
    has_disruption_annotation: bool = False
    """Its template has a do-not-disrupt or safe-to-evict annotation; read while it is gated."""


class SchedulingStatus(msgspec.Struct, frozen=True):
    """What a pod without a node waits for."""

    gates: tuple[str, ...] = ()
    """Its scheduling gates; kube-scheduler ignores a pod that has any."""
    scheduler: str = ""
    """The scheduler that has yet to process the pod, if it names another than kube-scheduler."""
    refusal: str = ""
    """Why its scheduler has found no node, in that scheduler's words; or a foreign gate."""


def foreign_gate(gates: Iterable[str]) -> str:
    """The scheduling gate of another controller that holds a pod back; empty without one."""
    ours = (contract.HOSTS_GATE, contract.PLACEMENT_GATE)
    return next((gate for gate in gates if gate not in ours), "")


CRASH_LOOP: Final = "CrashLoopBackOff"
"""The kubelet's reason for a container whose next restart it delays."""


class ContainerWait(msgspec.Struct, frozen=True):
    """A container that its kubelet has not started: it cannot, or it delays the next restart."""

    container: str
    reason: str
    """The kubelet's code, such as ImagePullBackOff."""
    message: str = ""
    restarts: int = 0
    ended_by: str = ""
    """The kubelet's reason for the end of the last run, such as OOMKilled; empty before one."""
    exit_code: int = 0

    @property
    def usual(self) -> bool:
        """Whether each start waits for this: images are pulled and volumes are mounted."""
        return self.reason in ("ContainerCreating", "PodInitializing")

    @property
    def cause(self) -> tuple[str, str, str, int]:
        """Equal for pods that wait for the same; messages and counts differ by pod."""
        return (self.container, self.reason, self.ended_by, self.exit_code)


class TrainingRuns(msgspec.Struct, frozen=True):
    """The runs of a pod's training container, mostly its first one: sidecars do not train."""

    began: datetime | None = None
    """The start of its present run; None while it does not run."""
    failed_at: datetime | None = None
    """The end of the run before; None if the kubelet has never restarted it."""
    failed_run_began: datetime | None = None
    restarts: int = 0
    """How often the kubelet has restarted it; 0 once its pod is over."""


class PodContainers(msgspec.Struct, frozen=True):
    """What the kubelet reports of a pod's containers."""

    runs: TrainingRuns = TrainingRuns()
    waits: ContainerWait | None = None
    """The first that cannot start, of a pod that has neither ended nor is terminating."""
    restarts: int = 0
    """How often the kubelet has restarted its containers and init containers; 0 once it is over."""


class DisruptionMark(NamedTuple):
    """The condition `DisruptionTarget` that a decision has set on a pod that it ends."""

    reason: Code
    at: datetime


class PodDeletion(msgspec.Struct, frozen=True):
    """What the deletion of a pod waits for, and its announcement."""

    finalizers: tuple[str, ...] | None = None
    """None if they are not known, as in a simulation."""
    due_at: datetime | None = None
    """When its grace period ends (`deletionTimestamp`); None if unknown, or if it stays."""
    mark: DisruptionMark | None = None


class Pod(msgspec.Struct, frozen=True):
    """A pod of a training job. `node` is empty until it is bound; `index` is -1 without ranks."""

    name: str
    index: int
    node: str
    phase: PodPhase
    ready: bool
    terminating: bool
    created_at: datetime
    version: str
    published: PublishedHosts = PublishedHosts()
    planned: PlannedNode = PlannedNode()
    scheduling: SchedulingStatus = SchedulingStatus()
    ready_since: datetime | None = None
    """None while it is not ready."""
    containers: PodContainers = PodContainers()
    deletion: PodDeletion = PodDeletion()
    devices: tuple[str, ...] = ()
    """UUIDs of the GPUs of which KubeShare gave it a share."""

    @property
    def failed_at(self) -> datetime | None:
        """When its training container last failed; None if it runs for the first time."""
        return self.containers.runs.failed_at

    @property
    def trains_since(self) -> datetime | None:
        """Since when its training container runs, ready or not; else since when it is ready."""
        return self.containers.runs.began or self.ready_since

    @property
    def first_trained(self) -> datetime | None:
        """The first start of its training container; None if unknown, as after two failures."""
        runs = self.containers.runs
        if not self.failed_at:
            return self.trains_since
        return runs.failed_run_began if runs.began and runs.restarts == 1 else None

    @property
    def gated(self) -> bool:
        return bool(self.scheduling.gates)

    @property
    def unplaced(self) -> bool:
        """Whether it has the gate `edl.dev/placement`, and waits for a planned node."""
        return contract.PLACEMENT_GATE in self.scheduling.gates

    @property
    def foreign_gate(self) -> str:
        return foreign_gate(self.scheduling.gates)

    @property
    def untracked(self) -> bool:
        """Whether its Job will not count its end."""
        finalizers = self.deletion.finalizers
        return finalizers is not None and contract.JOB_TRACKING not in finalizers

    @property
    def active(self) -> bool:
        """Whether it has not ended and is not terminating."""
        return not (self.ended or self.terminating)

    @property
    def ended(self) -> bool:
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)
