"""The cluster as the planner sees it: frozen values, no identity beyond their fields.

Amounts are `Resources` (integers, see edl/resources.py); times are timezone-aware UTC datetimes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from edl.contract import CleanUp
from edl.resources import Resources


class JobKey(NamedTuple):
    """A training job: several Jobs of one namespace that carry the same `edl.dev/job`."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Target(NamedTuple):
    """One object of the cluster; `kind` as manifests spell it (Job, Pod, Service, …)."""

    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Taint:
    """A node's taint; only NoSchedule and NoExecute keep pods away."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """A pod's toleration; an empty key tolerates every key, an empty effect every effect."""

    key: str
    operator: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term of a required node affinity: `key operator values` (In, NotIn, Exists, …)."""

    key: str
    operator: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """What the scheduler looks at in a pod. Pods of one shape are interchangeable; hashable.

    `affinity` holds the alternatives of requiredDuringScheduling nodeSelectorTerms (any one of
    them suffices; each is a conjunction); empty means no node affinity.
    """

    requests: Resources
    node_selector: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    affinity: tuple[tuple[Requirement, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A node and the room that is taken on it.

    `used` sums the requests of every bound pod that has not ended, ours and others', terminating
    ones included: their room is busy until they are gone. `leaving` is the terminating part of it.
    """

    name: str
    allocatable: Resources
    used: Resources
    leaving: Resources
    schedulable: bool = True
    """Ready and not cordoned."""
    labels: Mapping[str, str] | None = None
    taints: tuple[Taint, ...] = ()


class PodPhase(StrEnum):
    """Kubernetes' pod phases."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Pod:
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
    hosts: str | None = None
    """The host list that was published to this pod (a launcher), None before the first."""
    published_at: datetime | None = None
    confirmed_at: datetime | None = None
    """The publication of which its kubelet was reminded."""
    ready_since: datetime | None = None
    """None while it is not ready."""
    restarted_at: datetime | None = None
    """When one of its containers was last started again in place."""
    finalizers: tuple[str, ...] = ()

    @property
    def gated(self) -> bool:
        return bool(self.gates)

    @property
    def ended(self) -> bool:
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)


class Resizing(StrEnum):
    """How a role takes a new size."""

    FIXED = "fixed"
    LIVE = "live"
    ITEMS = "items"
    """An index is a piece of work: only `parallelism` moves."""
    RESTART = "restart"
    """The whole training job is suspended and starts again at the new size, from its checkpoint."""


class Ending(StrEnum):
    """How a Job ended."""

    COMPLETE = "Complete"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Scaling:
    """A manual size that must come in time, or is taken back.

    `since` and `before`: from when that counts, and the size then; None until the reconciler knows.
    `fallback` is the manual size that comes back. `timeout` is None where a later wish took it.
    """

    timeout: timedelta | None
    fallback: int | None = None
    since: datetime | None = None
    before: int | None = None


@dataclass(frozen=True, slots=True)
class Role:
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
    resizing: Resizing
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
    ending: Ending | None = None
    ended_at: datetime | None = None
    reason: str = ""
    remaining: int | None = None
    """Work items (`completions` - succeeded) still to do: no more pods than that can be."""
    failures: int = 0
    """Pods that failed or were deleted, as the Job controller counts them: it makes them again."""
    lost: bool = False
    """One of its pods failed or was deleted since the start, and the others cannot go on so."""
    backoff_limit: int = 0
    """With more failures than that the Job fails."""
    retries: int = 0
    """What its `backoffLimit` leaves when nothing has failed, if it is ours; else 0."""
    scaling: Scaling | None = None
    """How long `wanted` may take to come, None for as long as it takes."""
    removing: frozenset[str] = frozenset()
    """Names of pods that are to go, whatever their index."""
    evacuated: str = ""
    """Why they go, where not their user but the plan says so."""
    history: str = ""
    """Its past operations, as `edl.steps.history` reads them."""


class Phase(StrEnum):
    """A training job's phase, as users watch it."""

    INCOMPLETE = "Incomplete"
    QUEUED = "Queued"
    STARTING = "Starting"
    RUNNING = "Running"
    SCALING = "Scaling"
    PAUSED = "Paused"
    FINISHING = "Finishing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class Owner(NamedTuple):
    """An object whose deletion takes along what stands around a training job."""

    api_version: str
    kind: str
    name: str
    uid: str


@dataclass(frozen=True)
class TrainingJob:
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
    mode: str = ""
    clean_up: CleanUp = CleanUp.RUNNING
    surroundings: frozenset[Target] = frozenset()
    """What stands around it already: Service, PodDisruptionBudgets, its launcher's rights."""
    pods: tuple[Owner, ...] = ()
    """The bare pods that form it, where no Jobs do: nobody queues or resizes them."""

    @cached_property
    def owners(self) -> tuple[Owner, ...]:
        jobs = (Owner("batch/v1", "Job", role.job, role.uid) for role in self.roles)
        return self.pods or tuple(jobs)

    @cached_property
    def live(self) -> tuple[Role, ...]:
        """The roles whose Job has not ended."""
        return tuple(role for role in self.roles if role.ending is None)


@dataclass(frozen=True, slots=True)
class Demand:
    """`count` pending pods of other owners, of one shape and priority, that ask for room."""

    shape: Shape
    priority: int
    count: int
    example: str
    """`namespace/name` of one of them, for the reason that users read."""


@dataclass(frozen=True, slots=True)
class ClusterState:
    """Everything that one decision is made from."""

    observed_at: datetime
    nodes: tuple[Node, ...]
    jobs: tuple[TrainingJob, ...]
    demands: tuple[Demand, ...] = ()
    bare: tuple[TrainingJob, ...] = ()
    """Training jobs of bare pods: the plan leaves them alone."""
