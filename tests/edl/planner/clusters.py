"""Any small cluster: states that a real one could be in."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from edl.feasibility.eligibility import Eligibility
from edl.model import Assignment, ClusterState, Node, ResizePolicy, Role, Shape, Taint, TrainingJob
from edl.quantities import Resources
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.states import at, cluster, demand, job, node, pod, role, shape

if TYPE_CHECKING:
    from edl.model import Demand

GPU_TAINT = Taint("gpu", "yes", "NoSchedule")


def nodes(draw: Draw) -> list[Node]:
    return [
        node(
            f"node-{number}",
            draw.one_of(2, 4, 7, 12),
            gpu=draw.one_of(0, 0, 2),
            cordoned=draw.between(0, 5) == 5,
            labels={"zone": draw.one_of("a", "b")},
            taints=draw.one_of((), (), (), (), (GPU_TAINT,)),
        )
        for number in range(draw.between(1, 5))
    ]


def shapes(draw: Draw) -> Shape:
    rules: dict[str, Any] = draw.one_of({}, {}, {"node_selector": (("zone", "a"),)})
    return shape(draw.one_of(0.5, 1, 2, 3), gpu=draw.one_of(0, 0, 0, 1), **rules)


def roles(draw: Draw, name: str, resizing: ResizePolicy) -> Role:
    low = draw.one_of(1, 1, 2, 3)
    fixed = resizing is ResizePolicy.FIXED
    high = low if fixed else low + draw.one_of(8, 4, 4, 2, 1, 0)
    wanted = draw.one_of(*[None] * 7, 0, 3, 14)
    return role(
        name,
        low,
        high,
        shape=shapes(draw),
        resizing=resizing if high > low else ResizePolicy.FIXED,
        indexed=resizing is not ResizePolicy.ITEMS,
        replicas=wanted if high > low else None,
        progress=draw.one_of(None, None, None, 0.5, 0.95),
    )


def jobs(draw: Draw, number: int) -> TrainingJob:
    """All elastic roles of a job are resized in one way, and work items have one role."""
    all_roles = draw.one_of(("worker",), ("worker",), ("ps", "worker"))
    kinds = [one for one in ResizePolicy if one is not ResizePolicy.ITEMS or len(all_roles) == 1]
    resizing = draw.one_of(ResizePolicy.LIVE, ResizePolicy.LIVE, *kinds)
    return job(
        f"job-{number}",
        *(roles(draw, name, resizing) for name in all_roles),
        queued=-draw.one_of(0, 0, 300, draw.between(0, 900)),
        priority=draw.one_of(0, 0, 1, 2),
        paused=draw.between(0, 15) == 15,
    )


ALL_RUN: Final = (True,)
MAX_WAIT: Final = (True, False, False, False)
TIGHT: Final = (0.0, 0.5, 1.0, 2.0)
ROOMY: Final = (1.0, 2.0, 4.0, 8.0)
"""CPU that a node has besides what its pods take."""


@packed
def states(
    draw: Draw,
    most_jobs: int = 6,
    *,
    runs: Sequence[bool] = (True, True, True, False),
    spare: Sequence[float] = TIGHT,
    others: Sequence[int] = (0, 0, 0, 1, 2),
) -> ClusterState:
    """Jobs run on nodes that have little room for more; others wait, and so do others' pods.

    `runs`: what is drawn for each job that nodes let run; `others`: how many shapes of others' pods
    wait.
    """
    free = nodes(draw)
    mask = Eligibility(free)
    running, waiting = [], []
    for number in range(draw.between(min(3, most_jobs), most_jobs)):
        one = jobs(draw, number)
        may = all(mask.mask(part.template.shape).any() for part in one.roles)
        if may and not one.paused and draw.one_of(*runs):
            running.append(_running(draw, one, free, mask))
        else:
            waiting.append(one)
    wanted: list[Demand] = [
        demand(f"pod-{number}", shapes(draw), draw.between(1, 4), draw.between(0, 3))
        for number in range(draw.one_of(*others))
    ]
    found = [_fitting(draw, one, running, spare) for one in free]
    return cluster(*found, *running, *waiting, *wanted)


def _running(draw: Draw, one: TrainingJob, free: list[Node], eligible: Eligibility) -> TrainingJob:
    """Each pod on any of the nodes that it may use: these are made large enough for it."""
    started = []
    for part in one.roles:
        names = [
            node.name
            for node, may in zip(free, eligible.mask(part.template.shape), strict=True)
            if may
        ]
        size = draw.between(part.spec.min, part.spec.max)
        on = [draw.one_of(*names) for _ in range(size)]
        pods = tuple(pod(index, name) for index, name in enumerate(on))
        assigned = Assignment(0, tuple(on))
        started.append(part.changed(suspended=False, size=size, pods=pods, assigned=assigned))
    began = draw.one_of(-3000, -3000, -3000, -5)
    return replace(one, roles=tuple(started), started_at=at(began))


def _fitting(draw: Draw, one: Node, running: list[TrainingJob], spare: Sequence[float]) -> Node:
    """Room for the pods that are there, and for little more."""
    taken = Resources()
    for training in running:
        for part in training.roles:
            taken += part.template.shape.requests * sum(
                found.node == one.name for found in part.status.pods
            )
    cpu = taken.get("cpu") / 1000 + draw.one_of(*spare)
    gpu = taken.get("nvidia.com/gpu") + draw.one_of(0, 0, 1)
    return replace(one, allocatable=node(one.name, max(cpu, 1), gpu=gpu).allocatable)
