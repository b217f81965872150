"""The input of a simulation: nodes, arriving training jobs, services, and the control mode.

Times are seconds from the scenario's `start`; durations are seconds.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from edl.model import ClusterState, JobKey, Node, ResizePolicy, Role, Shape, Taint, TrainingJob
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.plan_cache import PlanCache
from edl.planner.policies import Policy
from edl.simulator.cluster.work_and_speedup import Work

_MINUTE: Final = 60
START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class Training(msgspec.Struct, frozen=True):
    """A training job that arrives `at`, completed by the webhook: all of its Jobs are suspended.

    A job whose roles run at the start, with pods on the scenario's nodes, continues.
    """

    job: TrainingJob
    work: Work
    """What the replicas of the counted role do; with work items (framework `none`), for each of
    its `remaining` items."""
    at: float = 0
    checkpoint: float | None = None
    """Seconds of training between checkpoints; a stop loses the work since the last one. None: it
    saves its state whenever it is stopped."""
    start_up: float | None = None
    """Seconds from a pod's binding to its readiness; None: `Timing.start_up`."""
    shut_down: float | None = None
    """Seconds from a pod's deletion to its end; None: `Timing.shut_down`."""
    queued_at: datetime | None = None
    """The time that decides its place in the queue; None: its arrival."""
    tells: bool = False
    """Whether it reports its progress (`edl.dev/progress`)."""

    @property
    def key(self) -> JobKey:
        return self.job.key

    @property
    def items(self) -> int:
        """The number of work items to do; 0 if its pods are ranks."""
        return items(self.counted)

    @property
    def counted(self) -> Role:
        """The role whose replicas do the work."""
        return counted(self.job)


def counted(job: TrainingJob) -> Role:
    """The first role that can be resized, else the leader; of those that have not ended, if any."""
    roles = job.live or job.roles
    elastic = (role for role in roles if role.spec.resizing is not ResizePolicy.FIXED)
    deciding = (role for role in roles if role.spec.is_leader)
    return next(elastic, next(deciding, roles[0]))


def items(role: Role) -> int:
    """The number of remaining work items; 0 if its pods are ranks."""
    return 0 if role.spec.indexed else role.status.remaining or 0


class Service(msgspec.Struct, frozen=True):
    """Pods of another owner, like those of a Deployment.

    `steps`: (time, replicas) in ascending order; the number of replicas from each time on.
    """

    name: str
    shape: Shape
    steps: tuple[tuple[float, int], ...]
    priority: int = 0
    namespace: str = "default"
    start_up: float | None = None
    shut_down: float | None = None
    preempts: bool = False
    """Whether whole training jobs may be stopped for its pods."""


class Change(StrEnum):
    """The kind of a node event."""

    ADDED = "added"
    LOST = "lost"
    """The node disappears with all pods on it."""
    CORDONED = "cordoned"
    UNCORDONED = "uncordoned"
    TAINTED = "tainted"


class NodeEvent(msgspec.Struct, frozen=True):
    """An event of a node; `taint` with TAINTED. Only ADDED reads more of `node` than its name."""

    at: float
    change: Change
    node: Node
    taint: Taint | None = None


class SimulatedNodePool(msgspec.Struct, frozen=True):
    """Equal nodes that an autoscaler adds for pending pods, and removes when unneeded."""

    name: str
    node: Node
    """The template of its nodes; their names are derived from the pool's."""
    limit: int
    """The most nodes at one time."""
    start_up: float = 60
    """Seconds from the request for a node to its readiness; it is paid for from the request."""
    price: float = 0
    """The price of a node per hour."""
    idle: float = 60
    """Seconds without a change of its pods after which an unneeded node is removed."""

    def __post_init__(self) -> None:
        if self.limit < 1 or min(self.start_up, self.price, self.idle) < 0:
            raise ValueError(f"{self.name}: a limit from 1, times and price not below 0")


def first(_count: int) -> int:
    """Always the first one."""
    return 0


class Timing(msgspec.Struct, frozen=True):
    """How long processes take, in seconds."""

    start_up: float = 5
    shut_down: float = 3
    round: float = 1
    """The least time between two decisions."""
    later_round: float = 0
    """The same after the first minute, if that is more: what follows need not be as exact."""
    autoscaler: float = 10
    """How long an autoscaler gathers pods before it adds nodes, as Karpenter (BATCH_MAX_DURATION)
    and cluster-autoscaler (`--scan-interval`) do at most."""
    tie: Callable[[int], int] = first
    """The index of the node to take, by the number of equally good ones; kube-scheduler draws."""

    def __post_init__(self) -> None:
        if min(self.start_up, self.shut_down, self.autoscaler) < 0 or self.round <= 0:
            raise ValueError(f"{self}: times are not below 0, and a round is above it")

    def round_at(self, now: float) -> float:
        """The least time from a decision to the next one at `now`."""
        return self.round if now <= _MINUTE else max(self.round, self.later_round)


class Scenario(msgspec.Struct, frozen=True):
    """The whole input. `used` of a node is the usage of pods outside the simulation."""

    nodes: tuple[Node, ...]
    trainings: tuple[Training, ...] = ()
    services: tuple[Service, ...] = ()
    events: tuple[NodeEvent, ...] = ()
    settings: Timing = Timing()
    pools: tuple[SimulatedNodePool, ...] = ()
    """With any pool, an autoscaler adds and removes its nodes."""
    around: ClusterState = ClusterState(START, (), ())
    """What stays constant: quotas, teams, other owners' usage of them, other owners' pods that
    placement constraints may count, and whether there is an autoscaler. Its nodes and jobs are
    ignored."""

    @property
    def start(self) -> datetime:
        return self.around.observed_at

    def moment(self, seconds: float) -> datetime:
        return self.start + timedelta(seconds=seconds)


class Elastic(msgspec.Struct, frozen=True):
    """With kubectl-edl: the planner decides, or another function in its place."""

    policy: Policy
    limits: Limits = msgspec.field(default_factory=Limits)
    decide: Callable[[ClusterState, Policy, Limits, PlanCache], Plan] = decide


class Plain(msgspec.Struct, frozen=True):
    """Without kubectl-edl: Jobs run from their arrival at one size; pods are bound one by one.

    `size` maps (job, role name) to replicas; None: each role's max.
    """

    size: Callable[[TrainingJob, str], int] | None = None


ControlMode = Elastic | Plain


class Watcher(msgspec.Struct, frozen=True):
    """Callbacks: `decided` after each decision, `passed` after each instant."""

    decided: Callable[[float, ClusterState, Plan], None] = lambda _now, _state, _plan: None
    passed: Callable[[float], None] = lambda _now: None
