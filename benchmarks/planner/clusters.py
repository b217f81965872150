"""Generated cluster states of any size: nodes, running and queued jobs, and plans carried out.

A simple scheduler puts the pods on nodes, so that every state could be a real one.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final, NamedTuple

from msgspec.structs import replace

from edl.model import (
    ClusterState,
    JobKey,
    Node,
    Pod,
    PodPhase,
    PodTemplate,
    Reason,
    ResizePolicy,
    Role,
    RoleSpec,
    RoleStatus,
    Shape,
    TrainingJob,
)
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from edl.steps.dependents import dependents_of
from edl.writes import Create

NOON: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
GI: Final = 2**30


class Size(NamedTuple):
    nodes: int
    pods: int
    jobs: int


def shapes(random: Random, count: int) -> list[Shape]:
    """CPU shapes of several sizes, a quarter of them with GPUs; some require a zone."""
    return [
        Shape(
            Resources.of(
                {
                    "cpu": random.choice((500, 1000, 2000, 4000)),
                    "memory": random.choice((1, 2, 4, 8)) * GI,
                    "pods": 1,
                    "nvidia.com/gpu": 1 if number % 4 == 0 else 0,
                }
            ),
            node_selector=(("zone", random.choice("abc")),) if number % 5 == 0 else (),
        )
        for number in range(count)
    ]


def nodes(random: Random, count: int) -> list[Node]:
    """Nodes of mixed sizes; every third has GPUs."""
    return [
        Node(
            f"node-{number:05}",
            Resources.of(
                {
                    "cpu": random.choice((16, 24, 32)) * 1000,
                    "memory": random.choice((64, 128)) * GI,
                    "pods": 110,
                    "nvidia.com/gpu": 8 if number % 3 == 0 else 0,
                }
            ),
            Resources.of({"cpu": 1000, "memory": 2 * GI, "pods": 3}),
            Resources(),
            labels={"zone": "abc"[number % 3], "kubernetes.io/hostname": f"node-{number:05}"},
        )
        for number in range(count)
    ]


def pod(index: int, on: str) -> Pod:
    return Pod(f"pod-{index}", index, on, PodPhase.RUNNING, True, False, NOON, "1")  # noqa: FBT003


def training(number: int, shape: Shape, low: int, high: int) -> TrainingJob:
    name = f"job-{number:05}"
    role = Role(
        name="worker",
        job=name,
        uid=name,
        version="1",
        spec=RoleSpec(
            min=low,
            max=high,
            resizing=ResizePolicy.LIVE,
            is_leader=True,
            is_service=False,
            indexed=True,
        ),
        status=RoleStatus(size=low, suspended=True),
        template=PodTemplate(shape=shape),
    )
    queued = NOON - timedelta(hours=2, seconds=-number)
    return _surrounded(TrainingJob(JobKey("team", name), "tensorflow", (role,), queued))


def _surrounded(job: TrainingJob) -> TrainingJob:
    """The job with all dependents that steps would create, as if they existed."""
    made = (write.target for write in dependents_of(job) if isinstance(write, Create))
    return replace(job, existing_dependents={target: target.name for target in made})


def started(job: TrainingJob, size: int, where: Iterator[str]) -> TrainingJob:
    pods = tuple(pod(index, next(where)) for index in range(size))
    role = job.roles[0].changed(size=size, suspended=False, pods=pods)
    return replace(job, roles=(role,), started_at=NOON - timedelta(hours=1))


class Filler:
    """A simple scheduler that finds nodes for pods one after another, for building states."""

    def __init__(self, found: list[Node]) -> None:
        self._nodes = found
        self._free = [dict((node.allocatable - node.used).items) for node in found]
        self._at: dict[Shape, int] = {}

    def where(self, shape: Shape, most: int) -> list[str]:
        """Nodes with capacity for at most `most` pods, one entry per pod."""
        placed: list[str] = []
        at = self._at.get(shape, 0)
        selector = dict(shape.node_selector)
        while len(placed) < most and at < len(self._nodes):
            node, free = self._nodes[at], self._free[at]
            zone = selector.get("zone")
            matches = zone is None or (node.labels or {})["zone"] == zone
            if matches and all(free.get(name, 0) >= amount for name, amount in shape.requests):
                for name, amount in shape.requests:
                    free[name] -= amount
                placed.append(node.name)
            else:
                at += 1
        self._at[shape] = at
        return placed

    def nodes(self) -> tuple[Node, ...]:
        return tuple(
            replace(node, used=node.allocatable - Resources.of(free))
            for node, free in zip(self._nodes, self._free, strict=True)
        )


def running(size: Size, share: float, seed: int) -> ClusterState:
    """A state in which `size.jobs` jobs run `share` of `size.pods` pods together."""
    random = Random(seed)  # noqa: S311 - no secret depends on it
    filler = Filler(nodes(random, size.nodes))
    kinds = shapes(random, 40)
    each = size.pods // size.jobs
    jobs = []
    for number in range(size.jobs):
        job = training(number, random.choice(kinds), random.randint(1, each // 4), each * 2)
        wanted = max(job.roles[0].spec.min, int(each * share))
        where = filler.where(job.roles[0].template.shape, wanted)
        if len(where) >= job.roles[0].spec.min:
            job = started(job, len(where), iter(where))
        jobs.append(job)
    return ClusterState(NOON, filler.nodes(), tuple(jobs))


def settled(state: ClusterState, limits: Limits) -> ClusterState:
    """The same cluster after repeated plans, until nothing changes."""
    for _ in range(400):
        plan = decide(state, POLICIES["fair"], limits)
        if not (plan.resizes or plan.admissions or plan.suspensions):
            return state
        state = acted(state, plan)
    raise SystemExit("the plan does not settle")


def acted(state: ClusterState, plan: Plan) -> ClusterState:
    """Carry out a plan at once, with the same simple scheduler."""
    sizes = {resize.job: resize.after for resize in plan.resizes}
    sizes |= {found.job: dict(found.sizes)["worker"] for found in plan.admissions}
    reasons = {resize.job: resize.reason for resize in plan.resizes}
    noted = [_noted(job, reasons.get(job.key), state.observed_at) for job in state.jobs]
    kept = [_shrunk(job, sizes.get(job.key)) for job in noted]
    gone: dict[str, Resources] = {}
    for before, after in zip(state.jobs, kept, strict=True):
        for found in before.roles[0].status.pods[len(after.roles[0].status.pods) :]:
            gone[found.node] = (
                gone.get(found.node, Resources()) + before.roles[0].template.shape.requests
            )
    freed = [
        replace(node, used=node.used - gone.get(node.name, Resources())) for node in state.nodes
    ]
    filler = Filler(freed)
    later = state.observed_at + timedelta(minutes=10)
    jobs = tuple(_grown(job, sizes.get(job.key), filler) for job in kept)
    return ClusterState(later, filler.nodes(), jobs)


def _noted(job: TrainingJob, reason: Reason | None, now: datetime) -> TrainingJob:
    if reason is None:
        return job
    return replace(job, roles=(job.roles[0].changed(resized_at=now, last=reason),))


def _shrunk(job: TrainingJob, size: int | None) -> TrainingJob:
    role = job.roles[0]
    if size is None or size >= role.status.size:
        return job
    return replace(job, roles=(role.changed(size=size, pods=role.status.pods[:size]),))


def _grown(job: TrainingJob, size: int | None, filler: Filler) -> TrainingJob:
    role = job.roles[0]
    if size is None or size <= len(role.status.pods):
        return job
    have = [found.node for found in role.status.pods]
    return started(
        job, size, iter([*have, *filler.where(role.template.shape, size - len(have)), *[""] * size])
    )


def with_gang(state: ClusterState) -> ClusterState:
    shape = Shape(Resources.of({"cpu": 2000, "memory": 4 * GI, "pods": 1}))
    job = replace(training(99_999, shape, 32, 64), queued_at=state.observed_at)
    return replace(state, jobs=(*state.jobs, job))
