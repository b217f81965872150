"""What a plan gave to gated pods, and to a job that restarts, is theirs wherever others are bound.

kube-scheduler binds the ungated pods of the same plan to any node, the fullest or the emptiest.
"""

from datetime import timedelta
from typing import Final

import pytest
from hypothesis import strategies as st

from edl.model import (
    ClusterState,
    Code,
    Node,
    PodAffinityTerm,
    PodConstraints,
    Requirement,
    ResizePolicy,
    Selector,
    Shape,
    TrainingJob,
)
from edl.planner.plan import Plan
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.acting import act
from tests.edl.planner.states import cluster, job, node, role, shape, worker
from tests.edl.planner.ways import Way, law
from tests.edl.reached import Reached

pytestmark = pytest.mark.laws

HOST: Final = "kubernetes.io/hostname"
_TERM = PodAffinityTerm(HOST, Selector(("ns",), (Requirement("app", "In", ("gang",)),)))
APART: Final = PodConstraints("ns", (("app", "gang"),), anti_affinity=(_TERM,))
ROUNDS: Final = 10
NAMES: Final = tuple(f"n{number}" for number in range(5))


def _shape(draw: Draw, rules: PodConstraints | None) -> Shape:
    return shape(draw.one_of(1, 1, 2), constraints=rules) if rules else shape(draw.one_of(1, 1, 2))


@packed
def contested(draw: Draw) -> ClusterState:
    """Gated gangs, an ungated one, and a job that grows live, on a few nodes."""
    names = NAMES[: draw.between(3, 5)]
    jobs = [
        worker("live", 1, draw.between(2, 6), on=[names[0]]),
        worker("start", low := draw.between(1, 3), low + draw.one_of(0, 0, 2), queued=-50),
    ]
    for number in range(draw.between(1, 2)):
        rules = draw.one_of(APART, APART, None)
        count = draw.between(1, 3)
        given = {"shape": _shape(draw, rules), "gated": True, "queued": -100 + number}
        jobs.append(worker(f"gang-{number}", count, count, **given))
    return cluster(*(_node(draw, name, jobs) for name in names), *jobs)


@packed
def restarting(draw: Draw) -> ClusterState:
    """A job of large pods that may grow by a restart, and jobs of small ones on their way."""
    names, cpu = NAMES[: draw.between(3, 5)], draw.between(2, 3)
    on = names[: draw.between(1, 2)]
    again = role(
        low=len(on),
        high=len(on) + draw.between(1, 2),
        on=on,
        shape=shape(cpu),
        resizing=ResizePolicy.RESTART,
    )
    small = [
        worker(f"start-{number}", low := draw.between(1, 4), low + draw.one_of(0, 2), queued=-50)
        for number in range(draw.between(0, 2))
    ]
    live = worker("live", 1, draw.between(2, 5), on=[names[-1]])
    jobs = [job("again", again, framework="mxnet", queued=-9000), live, *small]
    nodes = [node(name, draw.one_of(cpu, cpu, cpu + 1)) for name in names]
    return cluster(*nodes, *jobs)


def _node(draw: Draw, name: str, jobs: list[TrainingJob]) -> Node:
    """Room for the pods that are there, and for a few more."""
    used = sum(
        one.roles[0].template.shape.requests.get("cpu") // 1000
        for one in jobs
        for pod in one.roles[0].status.pods
        if pod.node == name
    )
    return node(name, max(used + draw.between(0, 3), 1), labels={HOST: name})


def lived(
    way: Way, state: ClusterState, *, spreading: bool, lingering: bool
) -> tuple[list[Plan], ClusterState]:
    plans = []
    for _ in range(ROUNDS):
        plans.append(way.plan(state))
        state = act(
            state,
            plans[-1],
            after=timedelta(seconds=5),
            spreading=spreading,
            lingering=lingering,
        )
    return plans, state


ACTING: Final = st.fixed_dictionaries({"spreading": st.booleans(), "lingering": st.booleans()})


@law(contested(), acting=ACTING)
def test_a_gang_that_starts_keeps_the_nodes_of_its_gated_pods(
    reached: Reached, way: Way, state: ClusterState, acting: dict[str, bool]
) -> None:
    plans, _ = lived(way, state, **acting)
    reached(any(plan.admissions for plan in plans))
    stopped = [one for plan in plans for one in plan.suspensions]
    assert not [one for one in stopped if one.reason.code is Code.GANG_UNSCHEDULABLE]


@law(restarting(), acting=ACTING)
def test_a_job_that_is_stopped_to_grow_starts_again(
    reached: Reached, way: Way, state: ClusterState, acting: dict[str, bool]
) -> None:
    plans, after = lived(way, state, **acting)
    grows = {one.job for plan in plans[:-3] for one in plan.resizes if one.restart}
    reached(any(plan.admissions for plan in plans))
    assert not [one.key.name for one in after.jobs if one.key in grows and one.suspended]
