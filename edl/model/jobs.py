"""Training jobs and their roles, as they stand in the cluster."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from operator import attrgetter
from typing import Final

import msgspec
from msgspec.structs import replace

from edl.contract import CleanUp
from edl.model.devices import Caveat, DeviceTemplate
from edl.model.nodes import Assignment, Shape
from edl.model.object_refs import JobKey, ObjectRef, Owner
from edl.model.pods import Leaving, Pod, Provisioning
from edl.model.quotas import QuotaCharge
from edl.model.reason_codes import Code, Reason, Restart
from edl.model.selectors import Labels
from edl.model.topology_domains import Topology


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
    `fallback` is the manual size that comes back. `timeout` is None where a later wish took it.
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


class StartRefusal(msgspec.Struct, frozen=True):
    """The API server refused a write of a training job's start: the start is tried again later."""

    at: datetime
    attempts: int
    """How many were refused, one after the other."""
    message: str
    """The API server's own words, for people."""
    lifted: bool = False
    """The API server has since accepted all of the start's writes in a dry run."""

    def __str__(self) -> str:
        return f"the API server refuses its start: {self.message}"


class Role(msgspec.Struct, frozen=True):
    """One Job of a training job, as it stands in the cluster.

    `size` is `spec.parallelism`; while `suspended` no pod should exist. `wanted` is a manual size.
    `tandem`: `completions` follows `parallelism` in the same patch.
    """

    name: str
    job: str
    uid: str
    version: str
    min: int
    max: int
    size: int
    suspended: bool
    resizing: ResizePolicy
    decides: bool
    serves: bool
    tandem: bool
    shape: Shape
    pods: tuple[Pod, ...] = ()
    wanted: int | None = None
    slots: int = 1
    port: int = 0
    account: str = ""
    """The ServiceAccount of its pods, empty for the namespace's default."""
    resized_at: datetime | None = None
    ending: JobEnd | None = None
    ended_at: datetime | None = None
    wedged: bool = False
    """Its end is decided, and cannot be recorded while it is suspended."""
    told_to_end: bool = False
    """No time is left for it: its controller will say so."""
    held_ttl: int | None = None
    """Seconds after which its Job is deleted, once nothing of the training job runs any more."""
    keeps_completions: bool = False
    """The API server refuses size 0 of it, for a rule that its user wrote."""
    reason: Code | None = None
    """Why its size is what it is, or why it waits, as its Job says (`edl.dev/reason`)."""
    message: str = ""
    """The same for people (`edl.dev/message`): shown, never read again."""
    problem: str = ""
    """What its user wishes that makes no sense: it runs without that."""
    last: Reason | None = None
    """Why its size was last changed, or why it was last stopped or started."""
    remaining: int | None = None
    """Work items still to do: no more pods than that can be."""
    over: frozenset[int] = frozenset()
    """Indexes that have ended for good, whether or not their pods are still there."""
    failures: int = 0
    """Pods that failed or were deleted, as the Job controller counts them: it makes them again."""
    ignores: bool = False
    """Some failures are not counted (podFailurePolicy)."""
    lost: bool = False
    """One of its pods failed or was deleted since the start, and the others cannot go on so."""
    backoff_limit: int = 0
    """With more failures than that the Job fails."""
    retries: int = 0
    """What its `backoffLimit` leaves when nothing has failed, if it is ours; else 0."""
    scaling: ScaleDeadline | None = None
    """How long `wanted` may take to come, None for as long as it takes."""
    removing: frozenset[str] = frozenset()
    """Names of pods that are to go, whatever their index."""
    evacuated: Reason | None = None
    """Why they go, where not their user but the plan says so."""
    clears: tuple[str, ...] = ()
    """The nodes that they are moved off for a pod that may use few nodes."""
    cleared: tuple[Clearing, ...] = ()
    """Which nodes were cleared so before, lately."""
    history: str = ""
    """Its past operations, as `edl.annotations.job_history` reads them."""
    progress: float | None = None
    """The part of its work that is done, 0..1; None if nobody says."""
    duration: timedelta | None = None
    """How long its user expects it to run once started; for estimates only."""
    cooldown: timedelta | None = None
    """The least time between two resizes, as its user says."""
    labels: Labels = ()
    """Of its template."""
    settled: bool = True
    """Where it is suspended: the Job controller has seen to it, so that its template may change."""
    gated: bool = False
    """Its pods wait behind the gate `edl.dev/placement` until the plan gives each a node."""
    assigned: Assignment = Assignment()
    """The nodes that the plan of its last start or growth has for its replicas."""
    topology: Topology = Topology()
    """What its Job asks for; it counts where the pods are gated."""
    charges: tuple[QuotaCharge, ...] = ()
    """What one of its pods counts in the budgets of its namespace."""
    refusal: StartRefusal | None = None
    """What is written on this Job of a start that was refused."""
    caveats: tuple[Caveat, ...] = ()
    """Where kube-scheduler may allocate its pods other devices than a plan counts."""
    template: DeviceTemplate | None = None
    """From which its pods' claims are made, where we make it."""

    @property
    def restart(self) -> Restart:
        """How far a restart at its present size has come, if that was its last change."""
        return self.last.restart if self.last else Restart.NONE


class TrainingJob(msgspec.Struct, frozen=True, dict=True):
    """Several Jobs (or one) that start, resize and end together; `roles` in the cast's order.

    `missing` names roles of the cast whose Job does not exist yet: nothing starts before.
    """

    key: JobKey
    framework: str
    roles: tuple[Role, ...]
    queued_at: datetime
    missing: tuple[str, ...] = ()
    priority: int = 0
    paused: bool = False
    started_at: datetime | None = None
    problem: str = ""
    """Why this job cannot be planned at all (a cast that disagrees, a foreign Service, …)."""
    refusal: StartRefusal | None = None
    """Why its last start could not be written; None once it is started."""
    provisioning: Provisioning = Provisioning()
    mode: str = ""
    clean_up: CleanUp = CleanUp.RUNNING
    surroundings: Mapping[ObjectRef, str] = msgspec.field(default_factory=dict)
    """What stands around it already, by uid: Service, PodDisruptionBudgets, a launcher's rights."""
    pods: tuple[Owner, ...] = ()
    """The bare pods that form it, where no Jobs do: nobody queues or resizes them."""

    @cached_property
    def blocker(self) -> str:
        """Why plans leave it out, empty if they do not."""
        refused = str(self.refusal) if self.refused else ""
        return "; ".join(filter(None, (self.problem, refused)))

    @property
    def refused(self) -> bool:
        """Whether the API server has yet to accept its start."""
        return self.refusal is not None and not self.refusal.lifted

    @cached_property
    def owners(self) -> tuple[Owner, ...]:
        jobs = (Owner("batch/v1", "Job", role.job, role.uid) for role in self.roles)
        return self.pods or tuple(jobs)

    @cached_property
    def progress(self) -> float | None:
        """The part of its work that is done, 0..1, as any of its Jobs says."""
        return max(
            (role.progress for role in self.roles if role.progress is not None), default=None
        )

    @cached_property
    def duration(self) -> timedelta | None:
        """How long it is expected to run once started: the longest that any of its Jobs says."""
        return max((role.duration for role in self.roles if role.duration), default=None)

    @cached_property
    def cooldown(self) -> timedelta | None:
        """The least time between two resizes of a role: the longest that any of its Jobs says."""
        return max((role.cooldown for role in self.roles if role.cooldown), default=None)

    @cached_property
    def topology(self) -> Topology:
        """What any of its Jobs asks for."""
        return next((role.topology for role in self.roles if role.topology), Topology())

    @cached_property
    def leaving(self) -> Leaving | None:
        """Its workers that a host list does not name any more, as long as they are there."""
        lists = [
            replace(pod.leaving, since=pod.published_at)
            for role in self.live
            if role.decides
            for pod in role.pods
            if pod.leaving and pod.active
        ]
        named = frozenset[str]().union(*(one.pods for one in lists))
        there = {pod.name for role in self.live for pod in role.pods if pod.active} if named else ()
        pods = named.intersection(there)
        return replace(min(lists, key=_SIZE), pods=pods) if pods else None

    @cached_property
    def suspended(self) -> bool:
        """Whether every role is that has not ended."""
        return all(role.suspended for role in self.live)

    @cached_property
    def began_again(self) -> bool:
        """Whether a container of a role that has not ended was started again in its pod."""
        return any(pod.restarted_at for role in self.live for pod in role.pods)

    @cached_property
    def homes(self) -> tuple[tuple[str, ...], ...]:
        """Of each role the nodes of its replicas by rank, where all are there; else nothing."""
        return tuple(map(_home, self.roles))

    @cached_property
    def live(self) -> tuple[Role, ...]:
        """The roles whose Job has not ended."""
        return tuple(role for role in self.roles if role.ending is None)


_INDEX: Final = attrgetter("index")
_SIZE: Final = attrgetter("size")


def _home(role: Role) -> tuple[str, ...]:
    if not role.tandem or len(role.pods) != role.size:
        return ()
    names = []
    for index, pod in enumerate(sorted(role.pods, key=_INDEX)):
        if pod.index != index or not pod.node or pod.terminating or pod.ended:
            return ()
        names.append(pod.node)
    return tuple(names)
