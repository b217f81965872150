"""A role of a training job: its spec, status, users' requests and the reconciler's records."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from edl.model.causes.reason_codes import Code, Reason, Restart
from edl.model.causes.reason_subjects import Other
from edl.model.failures import WriteRefusal
from edl.model.nodes import Assignment
from edl.model.pods import Pod, PodPhase
from edl.model.role_specs import PodTemplate, RoleSpec


class JobEnd(StrEnum):
    """How a Job ended."""

    COMPLETE = "Complete"
    FAILED = "Failed"


class EndCondition(msgspec.Struct, frozen=True):
    """The condition that states a Job's end: since when, and the Job controller's words."""

    since: datetime
    reason: str = ""
    """`BackoffLimitExceeded`, `DeadlineExceeded`, …"""
    message: str = ""

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.reason, self.message)))


class ScaleDeadline(msgspec.Struct, frozen=True):
    """A manual size that is reverted unless the role reaches it in time.

    `since` and `before`: when the timeout began, and the size then; None until the reconciler has
    seen the request. `fallback`: the manual size to return to. `timeout`: None once a later request
    has replaced it. `held`: why a plan does not scale it up further, in words; empty if it may.
    """

    timeout: timedelta | None
    fallback: int | None = None
    since: datetime | None = None
    before: int | None = None
    held: str = ""


class Clearing(msgspec.Struct, frozen=True):
    """Replicas were moved off a node for a pending pod that only few nodes can run."""

    node: str
    times: int
    """Consecutive moves; kube-scheduler put another replica of the role there after each."""
    at: datetime
    """The time of the last move."""


class RoleStatus(msgspec.Struct, frozen=True):
    """The Job's observed state. `size` is `spec.parallelism`; a suspended Job has no pods."""

    size: int
    suspended: bool
    pods: tuple[Pod, ...] = ()
    ending: JobEnd | None = None
    end_condition: EndCondition | None = None
    end_unrecorded: bool = False
    """The role has to end, but a suspended Job cannot complete."""
    deadline_passed: bool = False
    """Its `activeDeadlineSeconds` is 0: the Job controller will fail it."""
    has_success_policy: bool = False
    """Its `successPolicy` says which ranks have to succeed; without one, each has to."""
    remaining: int | None = None
    """Remaining work items, the upper bound of its pods; None where indexes are ranks."""
    finished_indexes: frozenset[int] = frozenset()
    """Indexes that have completed or failed for good: their pods are not recreated."""
    failed_indexes: frozenset[int] = frozenset()
    """Those of them that failed for good (`backoffLimitPerIndex`, or a rule FailIndex)."""
    failures: int = 0
    """Failed or deleted pods as the Job controller counts them (`status.failed`)."""
    ignores: bool = False
    """Whether its podFailurePolicy leaves some failures uncounted."""
    suspended_at: datetime | None = None
    """When the Job controller noted its suspension; None while it is not suspended."""
    settled: bool = True
    """Whether the API server would accept a new template: suspended, and without active pods."""

    @property
    def desired(self) -> int:
        """The number of pods that the Job controller maintains: 0 if it is suspended or ends."""
        return 0 if self.suspended or self.ending else self.size


class RoleRequest(msgspec.Struct, frozen=True):
    """Users' requests for an existing role, from annotations of its Job."""

    replicas: int | None = None
    """A manual size."""
    scaling: ScaleDeadline | None = None
    """The time limit for reaching `replicas`; None without a limit."""
    removing: frozenset[str] = frozenset()
    """Names of pods to remove, whatever their index."""
    drain_reason: Reason | None = None
    """Why the pods of `removing` leave, if a plan and not a user chose them."""
    clears: tuple[str, ...] = ()
    """The nodes that `removing` clears for a pending pod that only few nodes can run."""
    progress: float | None = None
    """The completed fraction of its work, 0..1; None without an annotation."""
    duration: timedelta | None = None
    """Expected run time after a start; used for estimates only."""
    cooldown: timedelta | None = None
    """The least time between two resizes."""
    paused_by: str = ""
    """The ServiceAccount that paused it by suspending the Job; empty if a user did."""
    problem: str = ""
    """The invalid part of these annotations, which is ignored; empty if all are valid."""


class RoleRecord(msgspec.Struct, frozen=True):
    """The reconciler's own annotations on the Job, for later decisions and for users."""

    resized_at: datetime | None = None
    resumed_at: datetime | None = None
    """When the end of the training job's last pause was noticed; on its first Job only."""
    reason: Code | None = None
    """Why its size is what it is, or why it waits (`edl.dev/reason`)."""
    message: str = ""
    """The sentence for `reason` (`edl.dev/message`); shown, never parsed."""
    last: Reason | None = None
    """The reason of its last resize, start or suspension."""
    history: str = ""
    """Its past operations, in the format of `edl.annotations.job_history`."""
    assigned: Assignment = Assignment()
    """The nodes that the plan of its last start or growth chose."""
    below_min_since: datetime | None = None
    """Since when its minimum exceeds its size; None if it does not, or nothing has noticed it."""
    removed: frozenset[str] = frozenset()
    """Pods of its last removal by name: it is recorded, and they may be yet to be deleted."""
    cleared: tuple[Clearing, ...] = ()
    """Nodes that were recently cleared of its replicas for other pods."""
    refusals: tuple[WriteRefusal, ...] | None = None
    """New sizes that the API server refused; on its first Job also starts; empty if unreadable."""
    failures_at_start: int = 0
    """`RoleStatus.failures` at the last start or scale-up."""
    earlier_restarts: int = 0
    """Restarts of training containers that ended with a restart of the whole job for them."""
    delayed_until: datetime | None = None
    """Latest end of the Job controller's back-off, if pods were missing as it last shrank."""
    consumed: str = ""
    """The ProvisioningRequest that its template consumes, set by a start on its nodes."""

    @property
    def failed_starts(self) -> int:
        """How many failed starts in a row its last change records."""
        return self.last.failed_starts if self.last else 0


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
    created_at: datetime | None = None
    """When its Job was created; None where no Job exists."""
    fingerprint: str = ""
    """A digest of what writes to its Job depend on; empty where no Job exists."""
    reported_at: datetime | None = None
    """When the Job controller last changed the Job's status; None if unknown."""
    refused_pods: Reason | None = None
    """The quota or LimitRange that refuses pods that the started role lacks, if it was read."""
    growth_awaited_since: datetime | None = None
    """Since when each plan has let its growth wait for terminating pods, where that is known."""
    previous_pods: tuple[Pod, ...] = ()
    """Pods of deleted Jobs, which a start waits for; read while a Job of its training job waits."""

    @property
    def end_cause(self) -> EndCondition | None:
        """Why its Job ended; for what reason we ended it, if we made it exceed its deadline."""
        condition, about = self.status.end_condition, self.record.last and self.record.last.about
        if condition and self.status.deadline_passed and isinstance(about, Other) and about.failure:
            return EndCondition(condition.since, message=about.failure)
        return condition

    @property
    def replicas(self) -> tuple[Pod, ...]:
        """Its pods, without those of completed work items: the next item takes their place."""
        pods = self.status.pods
        if self.status.remaining is None:
            return pods
        return tuple(pod for pod in pods if pod.phase is not PodPhase.SUCCEEDED)

    @property
    def ended_ranks(self) -> frozenset[int]:
        """Indexes whose pods the Job controller does not recreate (docs/kubernetes.md 35).

        Those that it has yet to count are read from the pods. Work items have none.
        """
        if not self.spec.indexed:
            return frozenset()
        done, indexes = PodPhase.SUCCEEDED, self.status.finished_indexes
        succeeded = [pod.index for pod in self.status.pods if pod.phase is done]
        return indexes.union(succeeded) if succeeded else indexes

    @property
    def stalled_pods(self) -> tuple[Pod, ...]:
        """Its pods of which a container cannot start, or is restarted again and again."""
        return tuple(pod for pod in self.status.pods if pod.containers.waits)

    @property
    def queue_closed(self) -> bool:
        """Whether a pod of its work queue has succeeded: no size adds or removes pods any longer.

        The Job is complete once none is active: a suspension ends it (docs/kubernetes.md 31).
        """
        status = self.status
        return self.spec.is_queue and (
            status.remaining is not None
            or any(pod.phase is PodPhase.SUCCEEDED and not pod.untracked for pod in status.pods)
        )

    @property
    def pods_in_quotas(self) -> int:
        """The number of its pods that quotas count, also of a deleted Job until they are gone."""
        pods = sum(not pod.ended for pod in self.status.pods)
        return pods + sum(pod.terminating for pod in self.previous_pods)

    @property
    def removed_by_name(self) -> frozenset[str]:
        """Names of pods to remove, by request, or by a recorded removal that is to be completed.

        Recorded work items that an earlier plan chose are left to the next plan: without its
        smaller size the Job controller would create others at once, where kube-scheduler likes.
        """
        last = self.record.last
        by_user = last is not None and last.code is Code.PODS_REMOVED
        recorded = self.spec.indexed or by_user
        return self.request.removing | (self.record.removed if recorded else frozenset())

    @property
    def has_new_failures(self) -> bool:
        """Whether the Job controller has counted failed pods since the last start or scale-up."""
        return self.status.failures > self.record.failures_at_start

    @property
    def may_have_replacements(self) -> bool:
        """Whether pods may have been lost since the start: some losses are never counted."""
        last = self.record.last
        removed = last is not None and last.code is Code.PODS_REMOVED
        return self.has_new_failures or self.status.ignores or removed

    @property
    def restart(self) -> Restart:
        """The progress of its restart, if its last change was one."""
        return self.record.last.restart if self.record.last else Restart.NONE

    def changed(self, **fields: object) -> "Role":
        """A copy of the role with these fields replaced, in whichever part has them.

        `dev.mypy_structs` types them. Raises TypeError for a field that no part has.
        """
        direct, parts = dict[str, Any](), dict[str, dict[str, object]]()
        for name, value in fields.items():
            if name in _PART_OF:
                parts.setdefault(_PART_OF[name], {})[name] = value
            else:
                direct[name] = value
        direct |= {part: replace(getattr(self, part), **values) for part, values in parts.items()}
        return replace(self, **direct)


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
