"""Training jobs and their roles, as they stand in the cluster."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from operator import attrgetter
from typing import Final

import msgspec
from msgspec.structs import replace

from edl.contract import CleanUp
from edl.model.causes.reason_codes import Code, Reason
from edl.model.failures import RefusedSize, WriteRefusal
from edl.model.nodes import Topology
from edl.model.object_refs import JobKey, ObjectRef, Owner
from edl.model.pods import Leaving, PodPhase, Provisioning
from edl.model.role_specs import ResizePolicy
from edl.model.roles import EndCondition, JobEnd, Role


class Phase(StrEnum):
    """A training job's phase, as `kubectl edl status` shows it."""

    INCOMPLETE = "Incomplete"
    QUEUED = "Queued"
    STARTING = "Starting"
    RUNNING = "Running"
    SCALING = "Scaling"
    PAUSED = "Paused"
    FINISHING = "Finishing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class ConflictingJob(msgspec.Struct, frozen=True):
    """A Job that never started, and is left out because it conflicts with one that has."""

    key: JobKey
    """A key of its own: where writes to it fail, those to the training job do not back off."""
    name: str
    uid: str
    reason: Reason
    role: Role | None = None
    """None if its labels are invalid."""
    fills: str = ""
    """The role that no other Job has; empty for a copy."""


class TrainingJob(msgspec.Struct, frozen=True, dict=True):
    """One or more Jobs that start, resize and end together; `roles` as `edl.dev/roles` orders them.

    `missing`: roles in `edl.dev/roles` without a Job. The training job does not start before.
    """

    key: JobKey
    framework: str
    roles: tuple[Role, ...]
    queued_at: datetime
    missing: tuple[str, ...] = ()
    priority: int = 0
    paused: bool = False
    started_at: datetime | None = None
    problem: Reason | None = None
    """Why the job cannot be planned: it is invalid (Jobs with different `edl.dev/roles`, a foreign
    Service, …), or its namespace is being deleted."""
    refusals: tuple[WriteRefusal, ...] = ()
    """Writes that the API server refused, one of each kind, as long as they have an effect."""
    provisioning: Provisioning = Provisioning()
    mode: str = ""
    existing_dependents: Mapping[ObjectRef, str] = msgspec.field(default_factory=dict)
    """Uids of its dependents that exist: Service, PodDisruptionBudgets, RBAC of a launcher."""
    pods: tuple[Owner, ...] = ()
    """The pods of a training job without Jobs, which is neither queued nor resized."""
    conflicting: tuple[ConflictingJob, ...] = ()
    """Jobs with its `edl.dev/job` that its roles conflict with: no plan includes them."""

    @cached_property
    def role_names(self) -> tuple[str, ...]:
        return tuple(role.name for role in self.roles)

    @property
    def absent(self) -> tuple[str, ...]:
        """Its missing roles of which no Job exists, not even one that is left out."""
        filled = {conflict.fills for conflict in self.conflicting}
        return tuple(name for name in self.missing if name not in filled)

    @property
    def namespace_terminating(self) -> bool:
        """Whether its namespace is being deleted: nothing can be created in it."""
        return self.problem is not None and self.problem.code is Code.NAMESPACE_TERMINATING

    @property
    def refused_writes(self) -> tuple[WriteRefusal, ...]:
        """The writes that the API server still refuses."""
        return tuple(refusal for refusal in self.refusals if not refusal.lifted)

    @property
    def refused(self) -> bool:
        """Whether the API server still refuses the job's start."""
        return any(refusal.size is None for refusal in self.refused_writes)

    def refuses(self, role: Role, size: int) -> bool:
        """Whether a running role keeps its size, as the API server refuses sizes of this kind.

        A restart for a new size stops all roles. A new size of a closed work queue has no effect.
        """
        if size == role.status.size:
            return False
        if role.queue_closed:
            return True
        if self.keeps_running and role.spec.resizing is ResizePolicy.RESTART:
            return True
        wanted = RefusedSize(role.name, size, size > role.status.size)
        return any(refusal.kind == wanted.kind for refusal in self.refused_writes)

    @property
    def keeps_running(self) -> bool:
        """Whether it is not stopped: that would end it, or the API server still refuses it."""
        refused = any(refusal.size and not refusal.size.size for refusal in self.refused_writes)
        return refused or self.ends_if_stopped

    @property
    def ends_if_stopped(self) -> bool:
        """Whether a suspension would complete a Job of it, and lose the work that is left."""
        return any(role.queue_closed for role in self.live)

    @cached_property
    def owners(self) -> tuple[Owner, ...]:
        jobs = (Owner("batch/v1", "Job", role.job, role.uid) for role in self.roles)
        return self.pods or tuple(jobs)

    @property
    def uid(self) -> str:
        """The uid of its first Job or pod: another one has been created again under its name."""
        return self.owners[0].uid if self.owners else ""

    @cached_property
    def preempts(self) -> bool:
        """Whether other training jobs may be stopped for it: no role of it forbids that."""
        return all(role.template.preempts for role in self.roles)

    @cached_property
    def progress(self) -> float | None:
        """The completed fraction of its work, 0..1: the largest that a Job states; None without."""
        return max(
            (role.request.progress for role in self.roles if role.request.progress is not None),
            default=None,
        )

    @cached_property
    def duration(self) -> timedelta | None:
        """Expected run time after a start: the longest that a Job states; None without."""
        return max(
            (role.request.duration for role in self.roles if role.request.duration), default=None
        )

    @cached_property
    def cooldown(self) -> timedelta | None:
        """Least time between two resizes of a role: the longest that a Job states; None without."""
        return max(
            (role.request.cooldown for role in self.roles if role.request.cooldown), default=None
        )

    @cached_property
    def failure(self) -> EndCondition | None:
        """The first condition of a Job that failed, but not because another role had failed."""
        failed = [role for role in self.roles if role.status.ending is JobEnd.FAILED]
        first = [role for role in failed if not role.status.deadline_passed] or failed
        conditions = (role.end_cause for role in first)
        return min(filter(None, conditions), key=attrgetter("since"), default=None)

    @cached_property
    def clean_up(self) -> CleanUp:
        """The setting of the completion role."""
        leaders = (role.spec.clean_up for role in self.roles if role.spec.is_leader)
        return next(leaders, CleanUp.RUNNING)

    @cached_property
    def topology(self) -> Topology:
        """The topology that the first Job with such annotations asks for."""
        return next((role.spec.topology for role in self.roles if role.spec.topology), Topology())

    @cached_property
    def leaving(self) -> Leaving | None:
        """Workers that a launcher's host list has dropped and whose pods still exist."""
        lists = [
            replace(pod.published.leaving, since=pod.published.published_at)
            for role in self.live
            if role.spec.is_leader
            for pod in role.status.pods
            if pod.published.leaving and pod.active
        ]
        named = frozenset[str]().union(*(entry.pods for entry in lists))
        there = (
            {pod.name for role in self.live for pod in role.status.pods if pod.active}
            if named
            else ()
        )
        pods = named.intersection(there)
        return replace(min(lists, key=_SIZE), pods=pods) if pods else None

    @cached_property
    def waiting_since(self) -> datetime:
        """Since when it waits for its start: its creation, last suspension or last resumption.

        Its place in the queue goes by `queued_at`, which none of them changes.
        """
        waiting = [role for role in self.live if role.status.suspended]
        suspended = (role.status.suspended_at for role in waiting)
        resumed = (role.record.resumed_at for role in waiting)
        return max(filter(None, (self.queued_at, *suspended, *resumed)))

    @property
    def paused_by(self) -> str:
        """The ServiceAccount whose suspension paused the job; empty if a user did."""
        names = (role.request.paused_by for role in self.roles if self.paused)
        return next(filter(None, names), "")

    @property
    def just_resumed(self) -> bool:
        """Whether its pause has ended, and the time of that is not recorded yet."""
        held = self.roles[0].record.reason if self.roles else None
        return held is Code.PAUSED and self.suspended and not self.paused

    @cached_property
    def suspended(self) -> bool:
        """Whether each role that has not ended is suspended."""
        return all(role.status.suspended for role in self.live)

    @cached_property
    def restarted_in_place(self) -> bool:
        """Whether the kubelet has restarted a training container of a live role."""
        return any(pod.failed_at for role in self.live for pod in role.status.pods)

    @cached_property
    def has_succeeded_pods(self) -> bool:
        """Whether a pod of a live role succeeded: after a restart others would be without it."""
        return any(
            role.status.finished_indexes
            or any(pod.phase is PodPhase.SUCCEEDED for pod in role.status.pods)
            for role in self.live
        )

    @cached_property
    def has_late_pods(self) -> bool:
        """Whether a pod of a live role was created after another one had begun to train."""
        pods = [pod for role in self.live for pod in role.status.pods]
        first = min(filter(None, (pod.trains_since for pod in pods if pod.active)), default=None)
        return any(first and pod.created_at > first for pod in pods)

    @cached_property
    def nodes_by_role(self) -> tuple[tuple[str, ...], ...]:
        """For each role the nodes of its replicas by index; empty unless all of them exist."""
        return tuple(map(_nodes_of, self.roles))

    @cached_property
    def live(self) -> tuple[Role, ...]:
        """The roles whose Job has not ended."""
        return tuple(role for role in self.roles if role.status.ending is None)

    def role(self, name: str) -> Role | None:
        return next((role for role in self.roles if role.name == name), None)


def job_of(jobs: Iterable[TrainingJob], key: JobKey) -> TrainingJob | None:
    return next((job for job in jobs if job.key == key), None)


def queue_order(job: TrainingJob) -> tuple[int, datetime, JobKey]:
    """Sort key of the total order: priority, then first come first served."""
    return (-job.priority, job.queued_at, job.key)


_INDEX: Final = attrgetter("index")
_SIZE: Final = attrgetter("size")


def _nodes_of(role: Role) -> tuple[str, ...]:
    if not role.spec.indexed or len(role.status.pods) != role.status.size:
        return ()
    names = []
    for index, pod in enumerate(sorted(role.status.pods, key=_INDEX)):
        if pod.index != index or not pod.node or pod.terminating or pod.ended:
            return ()
        names.append(pod.node)
    return tuple(names)
