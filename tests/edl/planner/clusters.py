"""Any small cluster: hypothesis strategies for states that a real one could be in.

They are made once: to make them anew for each draw takes longer than to draw.
"""

from functools import cache
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from msgspec.structs import replace

from edl.feasibility.eligibility import Eligibility
from edl.model import ClusterState, Node, Resizing, Role, Shape, Taint, TrainingJob
from edl.resources import Resources
from tests.edl.planner.states import at, cluster, demand, job, node, pod, role, shape

if TYPE_CHECKING:
    from edl.model import Demand

GPU_TAINT = Taint("gpu", "yes", "NoSchedule")
_WANTED = st.none() | st.none() | st.integers(0, 14)


@cache
@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    return [
        node(
            f"node-{number}",
            draw(st.sampled_from([2, 4, 7, 12])),
            gpu=draw(st.sampled_from([0, 0, 2])),
            schedulable=draw(st.sampled_from([True, True, True, False])),
            labels={"zone": draw(st.sampled_from("ab"))},
            taints=draw(st.sampled_from([(), (), (GPU_TAINT,)])),
        )
        for number in range(draw(st.integers(1, 5)))
    ]


@cache
def shapes() -> st.SearchStrategy[Shape]:
    rules = st.sampled_from([{}, {}, {"node_selector": (("zone", "a"),)}])
    return st.builds(
        lambda cpu, gpu, found: shape(cpu, gpu=gpu, **found),
        st.sampled_from([0.5, 1, 2, 3]),
        st.sampled_from([0, 0, 0, 1]),
        rules,
    )


@cache
@st.composite
def roles(draw: st.DrawFn, name: str) -> Role:
    low = draw(st.integers(1, 4))
    high = low + draw(st.integers(0, 8))
    kinds = [Resizing.FIXED] if high == low else [Resizing.LIVE, Resizing.LIVE, *Resizing]
    found = draw(st.sampled_from(kinds))
    high = low if found is Resizing.FIXED else high
    wanted = draw(_WANTED)
    return role(
        name,
        low,
        high,
        shape=draw(shapes()),
        resizing=found,
        tandem=found is not Resizing.ITEMS,
        wanted=wanted if high > low else None,
        progress=draw(st.sampled_from([None, None, None, 0.5, 0.95])),
    )


@cache
@st.composite
def jobs(draw: st.DrawFn, number: int) -> TrainingJob:
    cast = draw(st.sampled_from([("worker",), ("worker",), ("ps", "worker")]))
    return job(
        f"job-{number}",
        *(draw(roles(name)) for name in cast),
        queued=-draw(st.integers(0, 900)),
        priority=draw(st.sampled_from([0, 0, 1, 2])),
        paused=draw(st.sampled_from([False] * 9 + [True])),
    )


@st.composite
def states(draw: st.DrawFn, most_jobs: int = 6) -> ClusterState:
    """Some jobs run on nodes with room for them, others wait; other owners' pods ask for room."""
    found = draw(nodes())
    free = {one.name: one.allocatable for one in found}
    training = []
    for number in range(draw(st.integers(0, most_jobs))):
        one = draw(jobs(number))
        runs = draw(st.booleans())
        training.append(_started(draw, one, found, free) if runs else one)
    wanted: list[Demand] = [
        demand(f"pod-{number}", draw(shapes()), draw(st.integers(1, 4)), draw(st.integers(0, 3)))
        for number in range(draw(st.integers(0, 2)))
    ]
    return cluster(*found, *training, *wanted)


def _started(
    draw: st.DrawFn, one: TrainingJob, found: list[Node], free: dict[str, Resources]
) -> TrainingJob:
    before = dict(free)
    started = []
    for part in one.roles:
        size = draw(st.integers(part.min, part.max))
        on = [_bind(part.shape, found, free) for _ in range(size)]
        if "" in on[: part.min]:
            free.update(before)
            return one
        bound = [name for name in on if name]
        pods = tuple(pod(index, name) for index, name in enumerate(bound))
        started.append(replace(part, suspended=False, size=len(bound), pods=pods))
    return replace(one, roles=tuple(started), started_at=at(-draw(st.sampled_from([5, 3000]))))


def _bind(wanted: Shape, found: list[Node], free: dict[str, Resources]) -> str:
    mask = Eligibility(found).mask(wanted)
    for one, may in zip(found, mask, strict=True):
        if may and all(free[one.name].get(name) >= amount for name, amount in wanted.requests):
            free[one.name] -= wanted.requests
            return one.name
    return ""
