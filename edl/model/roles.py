"""A role of a training job: what its Job asks for, what stands, and what is written on it."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from edl.model.devices import Caveat, DeviceTemplate
from edl.model.nodes import Assignment, Shape
from edl.model.pods import FailedAttempt, Pod
from edl.model.quotas import QuotaCharge
from edl.model.reason_codes import Code, Reason, Restart
from edl.model.selectors import Labels
from edl.model.topology_domains import Topology
from edl.quantities import Resources


class ResizePolicy(StrEnum):
    """How a role takes a new size."""

    FIXED = "fixed"
    LIVE = "live"
    ITEMS = "items"
    """An index is a piece of work: only `parallelism` moves."""
    RESTART = "restart"
    """The whole training job is suspended and starts again at the new size, from its checkpoint."""


class JobEnd(StrEnum):
    """How a Job ended."""

    COMPLETE = "Complete"
    FAILED = "Failed"


class ScaleDeadline(msgspec.Struct, frozen=True):
    """A manual size that must come in time, or is taken back.

    `since` and `before`: from when that counts, and the size then; None until the reconciler knows.
    `fallback` is the manual size that comes back. `timeout` is None where a later request took it.
    """

    timeout: timedelta | None
    fallback: int | None = None
    since: datetime | None = None
    before: int | None = None


class Clearing(msgspec.Struct, frozen=True):
    """Replicas were moved off a node for a pod that may use few nodes."""

    node: str
    times: int
    """How often in a row, each time after another replica had come to it."""
    at: datetime
    """The last time."""


class StartRefusal(FailedAttempt, frozen=True):
    """The API server refused a write of a training job's start."""

    lifted: bool = False
    """The API server has since accepted all of the start's writes in a dry run."""

    def __str__(self) -> str:
        return f"the API server refuses its start: {self.message}"


class RoleSpec(msgspec.Struct, frozen=True):
    """What the Job asks for. `indexed`: `completions` and `parallelism` change in tandem."""

    min: int
    max: int
    resizing: ResizePolicy
    is_leader: bool
    """The end of this role is the end of the training job."""
    is_service: bool
    """It runs as long as the training job, and does no work of its own (a parameter server)."""
    indexed: bool
    slots: int = 1
    port: int = 0
    topology: Topology = Topology()
    """It counts where the pods are gated."""
    backoff_limit: int = 0
    """With more failures than that the Job fails."""
    retries: int = 0
    """What its `backoffLimit` leaves when nothing has failed, if it is ours; else 0."""
    held_ttl: int | None = None
    """Seconds after which its Job is deleted, once nothing of the training job runs any more."""


class PodTemplate(msgspec.Struct, frozen=True):
    """What the pods of a role are made from."""

    shape: Shape
    account: str = ""
    """Their ServiceAccount, empty for the namespace's default."""
    labels: Labels = ()
    gated: bool = False
    """They wait behind the gate `edl.dev/placement` until the plan gives each a node."""
    charges: tuple[QuotaCharge, ...] = ()
    """What one of them counts in the quotas of its namespace."""
    limits: Resources = Resources()
    """Those of one of them, where its namespace has quotas or LimitRanges, which look at them."""
    caveats: tuple[Caveat, ...] = ()
    """Where kube-scheduler may allocate them other devices than a plan counts."""
    device_template: DeviceTemplate | None = None
    """From which their claims are made, where the reconciler makes it."""


class RoleStatus(msgspec.Struct, frozen=True):
    """What stands of the Job now. `size` is `spec.parallelism`; a suspended Job has no pods."""

    size: int
    suspended: bool
    pods: tuple[Pod, ...] = ()
    ending: JobEnd | None = None
    ended_at: datetime | None = None
    end_unrecorded: bool = False
    """Its end is decided, and cannot be recorded while it is suspended."""
    deadline_passed: bool = False
    """Its deadline has passed: the Job controller will end it."""
    keeps_completions: bool = False
    """The API server refuses size 0 of it, for a rule that its user wrote."""
    remaining: int | None = None
    """Work items still to do: no more pods than that can be."""
    completed_indexes: frozenset[int] = frozenset()
    """Indexes that have ended for good, whether or not their pods are still there."""
    failures: int = 0
    """Pods that failed or were deleted, as the Job controller counts them: it makes them again."""
    ignores: bool = False
    """Some failures are not counted (podFailurePolicy)."""
    lost: bool = False
    """One of its pods failed or was deleted since the start, and the others cannot go on so."""
    settled: bool = True
    """Where it is suspended: the Job controller has seen to it, so that its template may change."""


class RoleRequest(msgspec.Struct, frozen=True):
    """What users asked of the role while it exists, by annotations of its Job."""

    replicas: int | None = None
    """A manual size."""
    scaling: ScaleDeadline | None = None
    """How long `replicas` may take to come, None for as long as it takes."""
    removing: frozenset[str] = frozenset()
    """Names of pods that are to go, whatever their index."""
    evacuated: Reason | None = None
    """Why they go, where the plan and not a user says so."""
    clears: tuple[str, ...] = ()
    """The nodes that they are moved off for a pod that may use few nodes."""
    progress: float | None = None
    """The part of its work that is done, 0..1; None where no annotation says."""
    duration: timedelta | None = None
    """How long it is expected to run once started; for estimates only."""
    cooldown: timedelta | None = None
    """The least time between two resizes."""
    problem: str = ""
    """What of it makes no sense: the role runs without that."""


class RoleRecord(msgspec.Struct, frozen=True):
    """What the reconciler wrote on the Job, for later decisions and for users."""

    resized_at: datetime | None = None
    reason: Code | None = None
    """Why its size is what it is, or why it waits (`edl.dev/reason`)."""
    message: str = ""
    """The same for people (`edl.dev/message`): shown, never read again."""
    last: Reason | None = None
    """Why its size was last changed, or why it was last stopped or started."""
    history: str = ""
    """Its past operations, as `edl.annotations.job_history` reads them."""
    assigned: Assignment = Assignment()
    """The nodes that the plan of its last start or growth has for its replicas."""
    cleared: tuple[Clearing, ...] = ()
    """Which nodes were cleared of its replicas for other pods, lately."""
    refusal: StartRefusal | None = None
    """The last start that the API server refused."""
    failures_at_start: int = 0
    """`RoleStatus.failures` when it was last started."""
    consumed: str = ""
    """The ProvisioningRequest that its template names, since a start on the nodes of that."""


class Role(msgspec.Struct, frozen=True):
    """One Job of a training job."""

    name: str
    job: str
    uid: str
    version: str
    spec: RoleSpec
    template: PodTemplate
    status: RoleStatus
    request: RoleRequest = RoleRequest()
    record: RoleRecord = RoleRecord()

    @property
    def restart(self) -> Restart:
        """How far a restart at its present size has come, if that was its last change."""
        return self.record.last.restart if self.record.last else Restart.NONE

    def changed(self, **fields: object) -> "Role":
        """The role with other values of these fields, each in the part that has it.

        `dev.mypy_structs` types them. Raises TypeError for a field that no part has.
        """
        own, parts = dict[str, Any](), dict[str, dict[str, object]]()
        for name, value in fields.items():
            if name in _PART_OF:
                parts.setdefault(_PART_OF[name], {})[name] = value
            else:
                own[name] = value
        own |= {part: replace(getattr(self, part), **found) for part, found in parts.items()}
        return replace(self, **own)


_PARTS: Final = {
    "spec": RoleSpec,
    "template": PodTemplate,
    "status": RoleStatus,
    "request": RoleRequest,
    "record": RoleRecord,
}
_PART_OF: Final = {
    field: part for part, struct in _PARTS.items() for field in struct.__struct_fields__
}
