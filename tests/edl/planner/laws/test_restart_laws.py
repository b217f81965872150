"""Laws of those who take a new size by a restart: each one costs them work, so there are few."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import assume, example
from hypothesis import strategies as st
from msgspec.structs import replace

from edl import reasons
from edl.model import ClusterState, Code, JobKey, Pod, ResizePolicy, Taint, TrainingJob
from edl.model.nodes import CORDONED
from edl.planner.plan import Drain, Plan
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.clusters import ALL_RUN, ROOMY, states
from tests.edl.planner.states import at, busy, cluster, demand, job, node, role, room, shape, worker
from tests.edl.planner.ways import WAYS, Way, scheduled_otherwise, wait
from tests.edl.reached import Reached, drawn

pytestmark = pytest.mark.laws

_FULL = states(runs=ALL_RUN, others=(0, 1, 2))

TAKEN = Taint("karpenter.sh/disrupted", "", "NoSchedule")
CORDON = Taint(CORDONED, "", "NoSchedule")
_DRAINING = (Code.NODE_TERMINATING, Code.NODE_UNSCHEDULABLE)


def restarting(state: ClusterState) -> ClusterState:
    """The same cluster, where all whose size may change take it by a restart."""
    return replace(state, jobs=tuple(_restarting(one) for one in state.jobs))


def _restarting(one: TrainingJob) -> TrainingJob:
    roles = [
        role.changed(resizing=ResizePolicy.RESTART, indexed=True)
        if role.spec.max > role.spec.min
        else role.changed(resizing=ResizePolicy.FIXED)
        for role in one.roles
    ]
    return replace(one, framework="paddle", mode="collective", roles=tuple(roles))


def settle(
    state: ClusterState, *, way: Way = WAYS["fair"], rounds: int = 80, **acting: bool
) -> tuple[ClusterState, list[Plan]]:
    """The last state and all plans. Whatever restarts, a size stays within its bounds."""
    plans: list[Plan] = []
    for _ in range(rounds):
        plan = way.plan(state)
        plans.append(plan)
        before = state
        leaving = any(pod.terminating for pod in pods(state))
        pause = timedelta(seconds=2) if leaving else wait(plan)
        state = act(state, plan, after=pause, **acting)
        assert list(out_of_bounds(state)) == []
        same = (state.jobs, state.demands) == (before.jobs, before.demands)
        if quiet(plan) and plan.recheck_after is None and same:
            break
    return state, plans


def out_of_bounds(state: ClusterState) -> Iterator[tuple[JobKey, str]]:
    for one in state.jobs:
        for part in one.roles:
            within = part.spec.min <= part.status.size <= part.spec.max
            if not (within or part.status.suspended):
                yield one.key, part.name


def pods(state: ClusterState) -> list[Pod]:
    return [pod for one in state.jobs for role in one.roles for pod in role.status.pods]


def stops(plans: list[Plan]) -> Counter[JobKey]:
    """How many times each training job was taken off its nodes."""
    found: Counter[JobKey] = Counter()
    for plan in plans:
        found.update({one.job for one in plan.resizes if one.restart})
        found.update(one.job for one in plan.suspensions)
    return found


_HALF = shape(0.5)
_IN_ZONE: dict[str, Any] = {"node_selector": (("zone", "a"),)}
GIVE_TO_EACH_OTHER = cluster(
    node("n", 4.5),
    *(node(name, 1) for name in "xyz"),
    job(
        "a",
        role("ps", 1, 9, on=["n"] * 6, shape=_HALF),
        role("worker", 1, 9, on=["n"], shape=_HALF),
        queued=0,
    ),
    worker("b", 1, 9, on=["n"], shape=_HALF, queued=0),
    worker("c", 1, 5, on=["n"], shape=_HALF, queued=0),
)
IN_THE_WAY_OF_ITS_OWN = cluster(
    node("a", 2.5, gpu=1, labels={"zone": "a"}),
    node("b", 9),
    node("c", 1, gpu=1, labels={"zone": "a"}),
    node("d", 2.5, gpu=2),
    node("e", 4.5, gpu=2),
    job(
        "two",
        role("ps", 2, 2, on=["d", "e"], shape=shape(2)),
        role("worker", 1, 3, on=["d", "a", "e"], shape=shape(0.5, gpu=1)),
        queued=-76,
    ),
    worker("other", 1, 5, on=["a", "b"], shape=shape(2), queued=-153),
    worker("full", 3, 3, on=["b"] * 3, shape=shape(2), queued=-462, priority=2),
    demand("one", shape(1, node_selector=(("zone", "a"),)), 2),
    demand("two", _HALF, 1, 1),
)
AT_THE_SAME_TIME = cluster(
    busy(node("a", 21, labels={"zone": "a"}), room(6)),
    node("b", 21, gpu=1),
    job(
        "manual",
        role("ps", 1, 3, on=["a"] * 2, shape=_HALF, replicas=14),
        role("worker", 2, 2, on=["a"] * 2, shape=shape(3, **_IN_ZONE)),
        queued=-251,
        priority=1,
        started_at=at(-5),
    ),
    job(
        "two",
        role("ps", 1, 5, on=["b", "a", "b", "a", "a"], shape=shape(2)),
        role("worker", 1, 9, on=["b"] * 5, shape=shape(3)),
        queued=-382,
        priority=1,
        started_at=at(-5),
    ),
    demand("one", shape(2, **_IN_ZONE), 1, 1),
    demand("two", _HALF, 1, 2),
)


SHARE_WHAT_A_CLAIM_TAKES = cluster(
    node("a", 2.5, gpu=1),
    node("b", 1.5, gpu=1),
    worker("few", 1, 9, on=["a"], shape=_HALF, queued=0),
    worker("more", 1, 9, on=["a", "b", "b"], shape=_HALF, queued=0),
    job(
        "waits",
        role("ps", 1, 5, on=["a"] * 2, shape=_HALF),
        role("worker", 2, 10, on=["a", "b"], shape=shape(0.5, gpu=1)),
        queued=0,
    ),
    demand("one", _HALF, 1),
)
"""After its restart the worker of `waits` finds room on one of the nodes only: `few` and `more`
grow, share, and make room for it in vain, again and again."""


PUT_BACK_ON_A_NARROW_NODE = cluster(
    node("a", 30, gpu=1, labels={"zone": "b"}),
    node("b", 20.5, labels={"zone": "a"}),
    worker("often", 1, 9, on=list("bbaaaabab"), queued=-900),
    worker("large", 1, 9, on=list("abbaaaa"), shape=shape(3), queued=-900),
    worker("narrow", 1, 5, on=["b"] * 3, shape=shape(2, **_IN_ZONE), queued=-482),
    worker("one", 1, 2, on=["b"], shape=shape(1, **_IN_ZONE), queued=-489),
    worker("manual", 1, 3, on=["a"] * 3, shape=shape(3), replicas=3, queued=-677),
    worker("small", 3, 7, on=["b"] * 7, shape=shape(0.5, **_IN_ZONE), queued=-830),
    demand("one", _HALF, 1, 2),
    demand("two", shape(3, **_IN_ZONE), 1, 3),
)
"""Each time that `often` and `large` make room on b, the scheduler puts their pods there again."""


@example(state=GIVE_TO_EACH_OTHER, lingering=False)
@example(state=PUT_BACK_ON_A_NARROW_NODE, lingering=False)
@example(state=SHARE_WHAT_A_CLAIM_TAKES, lingering=False)
@example(state=IN_THE_WAY_OF_ITS_OWN, lingering=True)
@example(state=AT_THE_SAME_TIME, lingering=True)
@drawn(state=_FULL, lingering=st.booleans())
def test_restarts_are_few_and_sizes_stay_within_their_bounds(
    reached: Reached, state: ClusterState, *, lingering: bool
) -> None:
    """Two for what comes to nothing, then none for half an hour, for an hour, and so on."""
    settled, plans = settle(restarting(state), lingering=lingering)
    assume(not scheduled_otherwise(plans))
    reached(stops(plans))
    hours = (settled.observed_at - state.observed_at) / timedelta(hours=1)
    assert max(stops(plans).values(), default=0) <= 3 + 4 * hours


@drawn(state=_FULL, lingering=st.booleans())
def test_a_lost_pod_restarts_its_job_once(
    reached: Reached, state: ClusterState, *, lingering: bool
) -> None:
    state = restarting(state)
    state = replace(state, jobs=tuple(_with_loss(one) for one in state.jobs))
    _, plans = settle(state, lingering=lingering)
    assume(not scheduled_otherwise(plans))
    lost = reasons.restart(reasons.POD_LOST)
    found = Counter(one.job for plan in plans for one in plan.suspensions if one.reason == lost)
    reached(found)
    assert max(found.values(), default=0) <= 1


def _with_loss(one: TrainingJob) -> TrainingJob:
    """The training job without a pod of each role that runs, as the Job controller counts them."""
    return replace(
        one,
        roles=tuple(
            role.changed(failures=1, pods=role.status.pods[1:]) if role.status.pods else role
            for role in one.roles
        ),
    )


def _drains_of_nodes(plan: Plan) -> list[Drain]:
    """Without work items that leave by name where a role scales down."""
    return [one for one in plan.drains if one.reason.code in _DRAINING]


@drawn(state=_FULL, lingering=st.booleans(), taint=st.sampled_from([TAKEN, CORDON]))
def test_each_pod_leaves_a_draining_node_once(
    reached: Reached, state: ClusterState, taint: Taint, *, lingering: bool
) -> None:
    jobs = tuple(replace(one, framework="pytorch") for one in state.jobs if len(one.roles) == 1)
    state = replace(state, jobs=jobs, demands=())
    fullest = max(state.nodes, key=lambda node: sum(pod.node == node.name for pod in pods(state)))
    first = replace(fullest, taints=(taint,), cordoned=taint == CORDON)
    others = tuple(node for node in state.nodes if node is not fullest)
    state = replace(state, nodes=(first, *others))
    there = sum(pod.node == first.name for pod in pods(state))
    _, plans = settle(state, lingering=lingering)
    assume(not scheduled_otherwise(plans))
    assert quiet(plans[-1])
    reached(there)
    assert sum(len(one.pods) for plan in plans for one in _drains_of_nodes(plan)) <= there


PAIRS = (JobKey("ns", "pair-0"), JobKey("ns", "pair-1"))


@packed
def waiting_pairs(draw: Draw) -> ClusterState:
    """Jobs that run, drawn first, and two of two roles each that wait for room beside them."""
    there = draw.of(states(most_jobs=3, runs=ALL_RUN, spare=ROOMY, others=(0, 0, 1)))
    pairs = tuple(_of_two_roles(draw, key.name) for key in PAIRS)
    return restarting(replace(there, jobs=(*there.jobs, *pairs)))


def _of_two_roles(draw: Draw, name: str) -> TrainingJob:
    """It waits for its first start, or since it was stopped for a new size."""
    stopped: dict[str, Any] = {"last": reasons.restart(reasons.grown(1, 2)), "resized_at": at(-60)}
    waits: dict[str, Any] = draw.one_of({}, {}, stopped)
    parts = []
    for part in ("ps", "worker"):
        low = draw.between(1, 3)
        cpu = draw.one_of(0.5, 0.5, 1, 2)
        one = role(part, low, low + draw.one_of(0, 1, 2, 4), shape=shape(cpu))
        parts.append(one.changed(**waits))
    return job(name, *parts, queued=-draw.between(0, 900), priority=draw.one_of(0, 0, 1))


@drawn(state=waiting_pairs(), lingering=st.booleans())
def test_two_jobs_of_two_roles_that_wait_together_start_whole_and_restart_seldom(
    reached: Reached, state: ClusterState, *, lingering: bool
) -> None:
    settled, plans = settle(state, lingering=lingering)
    assume(not scheduled_otherwise(plans))
    starts = [one for plan in plans for one in plan.admissions if one.job in PAIRS]
    reached({one.job for one in starts} == {*PAIRS})
    assert all({name for name, _ in one.sizes} == {"ps", "worker"} for one in starts)
    for one in settled.jobs:
        assert len({role.status.suspended for role in one.roles}) == 1, one.key
    hours = (settled.observed_at - state.observed_at) / timedelta(hours=1)
    assert max(stops(plans).values(), default=0) <= 3 + 4 * hours
