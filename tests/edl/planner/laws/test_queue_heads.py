"""A gang that starts before a queue head never delays it, nor does a running job's raise."""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet

import pytest
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import ClusterState, Shape, TrainingJob
from edl.planner.decision_limits import Limits
from edl.quantities import Resources
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.plans import plan_for, sizes, started
from tests.edl.planner.states import cluster, job, node, role, shape, worker
from tests.edl.reached import Reached, drawn

pytestmark = pytest.mark.laws

GPU = "nvidia.com/gpu"
LIMITS = Limits(load_ceiling=1)


@packed
def with_a_head(draw: Draw) -> ClusterState:
    """Jobs hold most GPUs, a gang has waited for some for long, and jobs without any come."""
    gpus = [draw.one_of(1, 2, 2, 4) for _ in range(draw.between(1, 2))]
    nodes = [node(f"n{n}", draw.between(4, 8), gpu=gpu) for n, gpu in enumerate(gpus)]
    nodes += [node("cpu", draw.between(1, 4))] if draw.yes() else []
    busy = [
        worker(f"run{n}-{pod}", 1, 1, shape=_shape(draw, 0.2, 0.5, 1, gpu=1), on=[f"n{n}"])
        for n, gpu in enumerate(gpus)
        for pod in range(gpu)
    ]
    room = {one.name: one.allocatable - one.used for one in cluster(*nodes, *busy).nodes}
    elastic = _shape(draw, 0.5, 1)
    on = _placed(draw.one_of, elastic.requests, draw.between(0, 6), room)
    others = [worker("run9", 1, 6, shape=elastic, on=on)] if on else []
    low = draw.between(1, 2)
    roles = [role("worker", low, low, shape=_shape(draw, 0.2, 0.5, 1, 2, gpu=1))]
    roles += [role("launcher", 1, 1, shape=_shape(draw, 0.5, 2))] if draw.yes() else []
    come = [
        worker(f"come{n}", pods, pods, shape=_shape(draw, 0.2, 0.5, 1, 2), queued=n - 200)
        for n in range(draw.between(1, 3))
        for pods in [draw.between(1, 3)]
    ]
    return cluster(*nodes, *busy, *others, job("head", *roles, queued=-900), *come)


def _shape(draw: Draw, *cpus: float, gpu: int = 0) -> Shape:
    return shape(draw.one_of(*cpus), gpu=gpu)


def _placed(
    choose: Callable[..., str], requests: Resources, most: int, room: dict[str, Resources]
) -> list[str]:
    """Nodes for up to `most` pods, wherever they fit; `choose` returns one of its arguments."""
    on: list[str] = []
    for _ in range(most):
        fits = [name for name, free in room.items() if all(n >= 0 for _, n in free - requests)]
        if not fits:
            break
        on.append(choose(*fits))
        room[on[-1]] -= requests
    return on


def _at(found: TrainingJob, on: Sequence[str]) -> TrainingJob:
    """The same job with pods on these nodes alone."""
    (only,) = found.roles
    return worker(found.key.name, len(on), len(on), shape=only.template.shape, on=on)


def _later(
    state: ClusterState, ended: AbstractSet[str], come: Iterable[TrainingJob] = ()
) -> ClusterState:
    """Jobs have ended, or have no extras; `come` run, and the head waits."""
    names = {found.key.name for found in state.jobs if found.key.name.startswith("run")} - ended
    stay = [found for found in state.jobs if found.key.name in names]
    pods = [(found, found.roles[0].status.pods[: found.roles[0].spec.min]) for found in stay]
    run = [_at(found, [pod.node for pod in kept]) for found, kept in pods if kept]
    head = next(found for found in state.jobs if found.key.name == "head")
    nodes = [replace(one, used=Resources(), evictable_pods=0) for one in state.nodes]
    return cluster(*nodes, *run, *come, head)


def _choice(data: st.DataObject) -> Callable[..., str]:
    return lambda *names: data.draw(st.sampled_from(names))


@drawn(state=with_a_head(), data=st.data())
def test_a_gang_that_starts_before_a_head_leaves_it_what_it_needs(
    state: ClusterState, data: st.DataObject, reached: Reached
) -> None:
    """Wherever its pods are placed, the head starts at the same end of jobs with GPUs."""
    first = started(plan_for(state, LIMITS))
    gpus = sorted(
        found.key.name for found in state.jobs if found.roles[0].template.shape.requests.get(GPU)
    )
    ended = data.draw(st.sets(st.sampled_from([one for one in gpus if one != "head"]), min_size=1))
    could = "head" not in first and "head" in started(plan_for(_later(state, ended), LIMITS))
    come = [found for found in state.jobs if found.key.name in first]
    reached(could and come)
    if could:
        room = {one.name: one.allocatable - one.used for one in state.nodes}
        placed = []
        for found in come:
            shape_, pods = found.roles[0].template.shape, found.roles[0].spec.min
            placed.append(_at(found, _placed(_choice(data), shape_.requests, pods, room)))
        assert "head" in started(plan_for(_later(state, ended, placed), LIMITS))


@packed
def with_a_raise(draw: Draw) -> ClusterState:
    """The same, but the first job that came runs, and its user wants more replicas."""
    state = draw.of(with_a_head())
    room = {one.name: one.allocatable - one.used for one in state.nodes}
    first, *_ = [found for found in state.jobs if found.key.name.startswith("come")]
    requests = first.roles[0].template.shape
    on = _placed(draw.one_of, requests.requests, 1, room)
    more = len(on) + draw.between(1, 3)
    low, replicas = draw.one_of((more, None), (1, more))
    fields = {"on": on, "shape": requests, "replicas": replicas, "queued": -200}
    runs = [worker("raise", low, more, **fields)] if on else []
    rest = [found for found in state.jobs if found is not first]
    nodes = [replace(one, used=Resources(), evictable_pods=0) for one in state.nodes]
    return cluster(*nodes, *rest, *runs)


@drawn(state=with_a_raise(), data=st.data())
def test_a_raise_of_a_running_job_leaves_a_head_what_it_needs(
    state: ClusterState, data: st.DataObject, reached: Reached
) -> None:
    """Wherever its new pods are placed, the head starts at the same end of jobs with GPUs."""
    plan = plan_for(state, LIMITS)
    raised = [found for found in state.jobs if found.key.name == "raise"]
    size = sizes(plan).get("raise", 0)
    gpus = sorted(
        found.key.name for found in state.jobs if found.roles[0].template.shape.requests.get(GPU)
    )
    ended = data.draw(st.sets(st.sampled_from([one for one in gpus if one != "head"]), min_size=1))
    runs = [_at(one, [pod.node for pod in one.roles[0].status.pods]) for one in raised]
    could = "head" in started(plan_for(_later(state, ended, runs), LIMITS))
    could = could and "head" not in started(plan)
    reached(could and raised)
    if could and size:
        (one,) = raised
        there = [pod.node for pod in one.roles[0].status.pods]
        room = {found.name: found.allocatable - found.used for found in state.nodes}
        requests = one.roles[0].template.shape.requests
        more = _placed(_choice(data), requests, size - len(there), room)
        later = _later(state, ended, [_at(one, there + more)])
        assert "head" in started(plan_for(later, LIMITS))
