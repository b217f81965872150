"""What is simulated: nodes, training jobs that arrive, services that come and go, and what decides.

Times are seconds from the world's `start`, durations seconds.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from edl.model import (
    ClusterState,
    JobKey,
    Node,
    ResizePolicy,
    Role,
    Shape,
    Taint,
    TrainingJob,
)
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.plan_cache import PlanCache
from edl.planner.policies import Policy
from edl.simulator.cluster.work import Work

START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class Training(msgspec.Struct, frozen=True):
    """A training job that arrives `at`, as the webhook leaves it: all of its Jobs suspended.

    One whose roles run at the start of the world, with their pods on its nodes, goes on.
    """

    job: TrainingJob
    work: Work
    at: float = 0
    counts: str = ""
    """The role whose replicas do the work; empty: the first that can be resized, else the leader.
    Of work items (framework `none`), `work` is that of each of the role's `remaining` ones."""
    checkpoint: float | None = None
    """Seconds of training after which it saves what it has done: a stop loses what came after.
    None: it saves when it is told to stop."""
    start_up: float | None = None
    """From a pod's node to its being ready; None: as `Timing` say."""
    shut_down: float | None = None
    """From a pod's deletion to its end; None: as `Timing` say."""
    queued_at: datetime | None = None
    """Its place in the queue; None: since its arrival."""
    tells: bool = False
    """It says how far it is (`edl.dev/progress`)."""

    @property
    def key(self) -> JobKey:
        return self.job.key

    @property
    def items(self) -> int:
        """Work items to do, 0 where pods are ranks."""
        return items(next(role for role in self.job.roles if role.name == self.counted))

    @property
    def counted(self) -> str:
        """The name of the role whose replicas do the work."""
        return self.counts or counted(self.job).name


def counted(job: TrainingJob) -> Role:
    """The first role that can be resized, else the one that decides."""
    elastic = (role for role in job.roles if role.spec.resizing is not ResizePolicy.FIXED)
    deciding = (role for role in job.roles if role.spec.is_leader)
    return next(elastic, next(deciding, job.roles[0]))


def items(role: Role) -> int:
    """Work items that are still to do, 0 where its pods are ranks."""
    return 0 if role.spec.indexed else role.status.remaining or 0


class Service(msgspec.Struct, frozen=True):
    """Plain pods of other owners, as a Deployment makes them.

    `steps` are (time, replicas), ascending: how many there shall be from each time on.
    """

    name: str
    shape: Shape
    steps: tuple[tuple[float, int], ...]
    priority: int = 0
    namespace: str = "default"
    start_up: float | None = None
    shut_down: float | None = None


class Change(StrEnum):
    """What happens to a node."""

    ADDED = "added"
    LOST = "lost"
    """It is gone with all pods on it."""
    CORDONED = "cordoned"
    UNCORDONED = "uncordoned"
    TAINTED = "tainted"


class NodeEvent(msgspec.Struct, frozen=True):
    """Something happens to a node; `taint` with TAINTED. An added node counts as a whole."""

    at: float
    change: Change
    node: Node
    taint: Taint | None = None


class SimulatedNodePool(msgspec.Struct, frozen=True):
    """Equal nodes that an autoscaler makes for pods that wait, and removes when unneeded."""

    name: str
    node: Node
    """What each of them is like; their names are made from the pool's."""
    limit: int
    """Nodes at once."""
    start_up: float = 60
    """From its being asked for to its being ready; it is paid for meanwhile."""
    price: float = 0
    """The price of a node for an hour."""
    idle: float = 60
    """Unneeded, and no pod has come or gone for so long: then it is removed."""

    def __post_init__(self) -> None:
        if self.limit < 1 or min(self.start_up, self.price, self.idle) < 0:
            raise ValueError(f"{self.name}: a limit from 1, times and price not below 0")


def first(_count: int) -> int:
    """Always the same one."""
    return 0


class Timing(msgspec.Struct, frozen=True):
    """How long things take."""

    start_up: float = 5
    shut_down: float = 3
    round: float = 1
    """Decisions are at least so far apart."""
    autoscaler: float = 10
    """An autoscaler waits so long for more pods before it makes nodes, as Karpenter does at most
    (BATCH_MAX_DURATION), and cluster-autoscaler (`--scan-interval`)."""
    tie: Callable[[int], int] = first
    """Which of several equally good nodes the scheduler takes, from 0 (it draws; here you do)."""

    def __post_init__(self) -> None:
        if min(self.start_up, self.shut_down, self.autoscaler) < 0 or self.round <= 0:
            raise ValueError(f"{self}: times are not below 0, and a round is above it")


class Scenario(msgspec.Struct, frozen=True):
    """Everything that is given. `used` of a node is what pods outside the simulation hold."""

    nodes: tuple[Node, ...]
    trainings: tuple[Training, ...] = ()
    services: tuple[Service, ...] = ()
    events: tuple[NodeEvent, ...] = ()
    settings: Timing = Timing()
    pools: tuple[SimulatedNodePool, ...] = ()
    """With any, an autoscaler makes nodes and removes these."""
    around: ClusterState = ClusterState(START, (), ())
    """What stays as it is: quotas, teams and what others' pods hold of them, pods of others that
    rules of ours may count, and whether there is an autoscaler. Its nodes and jobs do not count."""

    @property
    def start(self) -> datetime:
        return self.around.observed_at

    def moment(self, seconds: float) -> datetime:
        return self.start + timedelta(seconds=seconds)


class Elastic(msgspec.Struct, frozen=True):
    """With us: decided by the planner, or by another function in its place."""

    policy: Policy
    limits: Limits = msgspec.field(default_factory=Limits)
    decide: Callable[[ClusterState, Policy, Limits, PlanCache], Plan] = decide


class Plain(msgspec.Struct, frozen=True):
    """Without us: Jobs run from their arrival, at one size; the scheduler takes pod by pod.

    `size` maps (job, role's name) to replicas; None: each role's max.
    """

    size: Callable[[TrainingJob, str], int] | None = None


ControlMode = Elastic | Plain


class Watcher(msgspec.Struct, frozen=True):
    """An observer: at each decision with its state, and at the time as it passes."""

    decided: Callable[[float, ClusterState, Plan], None] = lambda _now, _state, _plan: None
    passed: Callable[[float], None] = lambda _now: None
