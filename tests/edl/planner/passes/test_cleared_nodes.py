"""Nodes that jobs clear for a gang go to the gang, not to pods whose nodes kube-scheduler chooses.

kube-scheduler does not know that they are reserved. A small pod on one of them would keep the gang
out: the jobs would have yielded their replicas for nothing, and grow back.
"""

from datetime import timedelta
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.model import ClusterState, Code, Node, RefusedSize, Shape, TrainingJob, WriteRefusal
from edl.planner.decide import run_passes
from edl.planner.decision_limits import Limits
from edl.planner.pass_results import PassResults
from edl.planner.plan_builder import build_plan
from edl.planner.policies import POLICIES
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.quantities import Resources
from tests.edl.planner.acting import act, key, quiet
from tests.edl.planner.plans import plan_for, sizes, started, told, wait_reasons
from tests.edl.planner.snapshot.test_quota_balance import PODS, quota
from tests.edl.planner.states import (
    at,
    cluster,
    demand,
    job,
    node,
    pod,
    role,
    room,
    shape,
    worker,
)
from tests.edl.planner.teams import of, team, with_teams

if TYPE_CHECKING:
    from edl.planner.packing.placement import Placement
    from edl.planner.snapshot.role_allocation import RoleAllocation

SECOND = timedelta(seconds=1)


def small(**fields: Any) -> TrainingJob:  # noqa: ANN401 - of its workers
    low, high = fields.pop("low", 1), fields.pop("high", 2)
    return worker("small", low, high, **({"queued": -10} | fields))


def gang(**fields: Any) -> TrainingJob:  # noqa: ANN401 - of its workers
    return worker("gang", 2, 2, shape=shape(5), **({"queued": -20} | fields))


def contested(*jobs: TrainingJob) -> ClusterState:
    """A gang fits on a and b once sweep has left them; they have 2 CPUs idle, and c has 1."""
    sweep = worker("sweep", 1, 7, on=["c", "a", "a", "a", "b", "b", "b"])
    fixed = worker("fixed", 2, 2, on=["c", "c"])
    return cluster(node("a", 5), node("b", 5), node("c", 4), sweep, fixed, *jobs)


def pending(**fields: Any) -> TrainingJob:  # noqa: ANN401 - of its pod
    """The small job, begun five seconds ago; kube-scheduler has yet to bind its pod."""
    pods = (pod(0, created_at=at(-5), **fields),)
    return small(size=1, high=1, suspended=False, pods=pods, started_at=at(-5))


def test_a_start_behind_a_gang_waits_while_nodes_are_cleared_for_it() -> None:
    plan = plan_for(contested(gang(), small()))
    assert (started(plan), sizes(plan)) == ({}, {"sweep": 1})
    assert wait_reasons(plan)["small"] == reasons.placed_after([key("gang")])
    assert told(plan)["small"] == "waiting for pods ahead of it to be scheduled: ns/gang"


@pytest.mark.parametrize("gated", [False, True])
def test_a_gang_takes_the_nodes_that_were_cleared_for_it_and_the_small_job_starts_after_it(
    gated: bool,  # noqa: FBT001
) -> None:
    state = contested(gang(gated=gated), small())
    shrunk: list[str] = []
    begun: list[str] = []
    for _ in range(8):
        plan = plan_for(state)
        shrunk += [found.job.name for found in plan.resizes if found.after < found.before]
        begun += started(plan)
        state = act(state, plan, after=SECOND, lingering=True, spreading=True)
    assert quiet(plan)
    assert (shrunk, begun) == (["sweep"], ["gang", "small"])


def test_a_start_ahead_of_a_gang_goes_first_and_nothing_is_cleared_before_its_pods_are_bound() -> (
    None
):
    plan = plan_for(contested(gang(), small(queued=-30, high=1)))
    assert (started(plan), sizes(plan)) == ({"small": {"worker": 1}}, {})
    assert wait_reasons(plan)["gang"] == reasons.placed_after([key("small")])
    assert "sweep" not in wait_reasons(plan)


def test_nothing_is_cleared_while_kube_scheduler_may_bind_a_pod_there() -> None:
    plan = plan_for(contested(gang(), pending()))
    assert (sizes(plan), wait_reasons(plan)["gang"]) == ({}, reasons.placed_after([key("small")]))
    assert plan.recheck_after == timedelta(seconds=25)


def test_nodes_are_cleared_once_such_pods_are_bound_elsewhere() -> None:
    bound = small(low=1, high=1, on=["c"])
    assert sizes(plan_for(contested(gang(), bound))) == {"sweep": 1}


def test_nothing_is_cleared_for_a_gang_that_no_longer_fits() -> None:
    there = small(low=1, high=1, on=["a"])
    assert quiet(plan_for(contested(gang(), there)))


def test_pods_that_have_been_pending_for_long_do_not_keep_jobs_from_yielding() -> None:
    late = pending().roles[0].changed(pods=(pod(0, created_at=at(-40)),))
    waiting = small(size=1, high=1, suspended=False, pods=late.status.pods, started_at=at(-40))
    assert "sweep" in sizes(plan_for(contested(gang(), waiting)))


def test_jobs_yield_to_several_gangs_at_once_though_a_start_between_them_waits() -> None:
    gangs = [worker(f"gang-{n}", 1, 1, shape=shape(5), queued=-20 + 5 * n) for n in range(2)]
    plan = plan_for(contested(*gangs, small(queued=-18)))
    assert (started(plan), sizes(plan)) == ({}, {"sweep": 1})


def test_no_job_is_preempted_before_pods_ahead_are_bound() -> None:
    low = worker("low", 2, 2, shape=shape(3), priority=-1, on=["a", "b"])
    nodes = (node("a", 5), node("b", 5), node("c", 1))
    limits = Limits(load_ceiling=1, preempt=True)
    first = plan_for(cluster(*nodes, low, gang(), small(queued=-30, high=1)), limits)
    assert (list(started(first)), first.suspensions) == (["small"], ())
    bound = small(high=1, on=["c"])
    then = plan_for(cluster(*nodes, low, gang(), bound), limits)
    assert [one.job.name for one in then.suspensions] == ["low"]


def test_quotas_count_the_jobs_that_are_not_preempted_yet_instead_of_the_gang() -> None:
    more = (PODS[0]._replace(amount=3),)
    low = worker("low", 2, 2, shape=shape(3), priority=-1, on=["a", "b"], charges=more)
    waits = gang().roles[0].changed(charges=PODS)
    nodes = (node("a", 5), node("b", 5), node("c", 1))
    state = cluster(*nodes, low, replace(gang(), roles=(waits,)), small(queued=-30, high=1))
    state = replace(state, quotas=(quota(9),))
    decision = run_passes(state, POLICIES["fair"], Limits(load_ceiling=1, preempt=True))
    assert build_plan(decision).suspensions == ()
    (line,) = decision.snapshot.quotas.lines.values()
    assert (line.remaining, line.future_remaining) == (3, 3)


def test_a_gang_waits_whose_quota_jobs_would_have_released_for_a_gang_that_waits() -> None:
    """The quota suffices for `sweep` and `small`; what `sweep` yields would have sufficed."""
    other = worker("other", 1, 1, queued=-15)
    state = contested(gang(), small(queued=-30, high=1), other)
    jobs = tuple(
        replace(one, roles=tuple(part.changed(charges=PODS) for part in one.roles))
        for one in state.jobs
    )
    nodes = (*state.nodes, node("d", 1))
    state = replace(state, nodes=nodes, jobs=jobs, quotas=(quota(10),))
    decision = run_passes(state, POLICIES["fair"], Limits(load_ceiling=1))
    plan = build_plan(decision)
    assert (started(plan), sizes(plan)) == ({"small": {"worker": 1}}, {})
    assert (
        wait_reasons(plan)["gang"]
        == wait_reasons(plan)["other"]
        == reasons.placed_after([key("small")])
    )
    (line,) = decision.snapshot.quotas.lines.values()
    assert (line.remaining, line.future_remaining) == (0, 0)


def test_a_start_takes_no_quota_from_a_gang_ahead_that_waits_for_pods_to_terminate() -> None:
    """Three pods are left: two for `first`, and one that would not suffice for `later`."""
    on_a, on_d, on_e = (shape(node_selector=(("pool", one),)) for one in "ade")
    first = worker("first", 2, 2, shape=on_e, queued=-60)
    high = worker("gang", 1, 1, shape=shape(5, node_selector=(("pool", "a"),)), queued=-20)
    later = worker("later", 3, 3, shape=on_d, queued=-15)
    sweep = worker("sweep", 1, 4, on=["c", "a", "a", "a"])
    asking = (first, high, later, small(queued=-70, high=1, shape=on_a), sweep)
    jobs = [
        replace(one, roles=tuple(part.changed(charges=PODS) for part in one.roles))
        for one in asking
    ]
    leaving = _holding(replace(node("e", 2, labels={"pool": "e"}), used=room(2, pods=2)), 2)
    nodes = (node("a", 5, labels={"pool": "a"}), node("d", 3, labels={"pool": "d"}), node("c", 1))
    other = node("b", 1, labels={"pool": "a"})
    state = replace(cluster(*nodes, other, leaving, *jobs), quotas=(quota(8),))
    decision = run_passes(state, POLICIES["fair"], Limits(load_ceiling=1))
    plan = build_plan(decision)
    assert (list(started(plan)), sizes(plan)) == (["small"], {})
    (line,) = decision.snapshot.quotas.lines.values()
    assert (line.remaining, line.future_remaining) == (3, 1)


def test_a_start_that_the_cleared_nodes_do_not_admit_does_not_wait() -> None:
    elsewhere = small(shape=shape(node_selector=(("pool", "c"),)), high=1)
    nodes = contested(gang(), elsewhere)
    labelled = [
        node(name, cpu, labels={"pool": name}) for name, cpu in zip("abc", (5, 5, 4), strict=True)
    ]
    plan = plan_for(cluster(*labelled, *nodes.jobs))
    assert (list(started(plan)), sizes(plan)) == (["small"], {"sweep": 1})


def test_a_start_does_not_wait_where_the_gang_leaves_room_for_it() -> None:
    """The gang needs the GPUs of a and b, and a few of their CPUs."""
    low = worker("low", 1, 3, shape=shape(1, gpu=1), on=["c", "a", "b"])
    high = worker("gang", 2, 2, shape=shape(1, gpu=1), queued=-20)
    nodes = [node(name, gpu=1) for name in "abc"]
    plan = plan_for(cluster(*nodes, low, high, small(high=1)))
    assert (list(started(plan)), sizes(plan)) == (["small"], {"low": 1})
    crowd = [worker(f"small-{n}", 1, 1, shape=shape(3), queued=-9) for n in range(2)]
    assert not started(plan_for(cluster(*nodes, low, high, *crowd)))


@pytest.mark.parametrize(("since", "waits"), [(-5, True), (-301, False)])
def test_a_start_waits_for_pods_that_terminate_for_a_gang_but_not_for_ever(
    since: float,
    waits: bool,  # noqa: FBT001
) -> None:
    leaving = [pod(n, on, terminating=True) for n, on in enumerate("aaabbb", 1)]
    pods = (pod(0, "c"), *leaving)
    fields = {"suspended": False, "size": 1, "pods": pods, "resized_at": at(since)}
    sweep = worker("sweep", 1, 9, **fields)
    limits = Limits(load_ceiling=1)
    there = [_holding(one, 3) for one in (node("a", 5), node("b", 5))]
    plan = plan_for(cluster(*there, node("c"), sweep, gang(), small(high=1)), limits)
    assert wait_reasons(plan)["gang"].code is Code.PODS_TERMINATING
    assert list(started(plan)) == ([] if waits else ["small"])


def _holding(one: Node, cpu: int) -> Node:
    """A node on which pods that terminate hold this much."""
    return replace(one, releasing=room(cpu, pods=cpu))


def test_a_role_yields_to_a_job_ahead_and_not_yet_to_the_gang_behind_it() -> None:
    sizes_of = {"a": 5, "c": 1, "d": 4}
    nodes = [node(name, cpu, labels={"pool": name}) for name, cpu in sizes_of.items()]
    nodes.append(node("b", 1, labels={"pool": "a"}))
    sweep = worker("sweep", 1, 6, on=["c", "a", "a", "a", "d", "d"])
    on_d, on_a = (shape(cpu, node_selector=(("pool", one),)) for cpu, one in ((3, "d"), (1, "a")))
    ahead = worker("ahead", 1, 1, shape=on_d, queued=-30)
    behind = worker("gang", 1, 1, shape=shape(5), queued=-20)
    waiting = pending().roles[0].status.pods
    first = small(size=1, high=1, suspended=False, pods=waiting, shape=on_a, started_at=at(-5))
    plan = plan_for(cluster(*nodes, sweep, ahead, behind, first))
    assert sizes(plan) == {"sweep": 5}
    assert wait_reasons(plan)["ahead"] == reasons.leaving(1, [key("sweep")])
    assert wait_reasons(plan)["gang"] == reasons.placed_after([key("small"), key("ahead")])


def test_a_start_behind_a_deferred_one_leaves_it_its_nodes() -> None:
    """The pod of `big` could take the nodes of gated pods, so it waits until these are bound."""
    big = worker("big", 1, 1, shape=shape(5), queued=-30)
    gated = worker("gated", 2, 2, shape=shape(2), gated=True, queued=-20)
    state = cluster(node("a", 5), node("b", 5), node("c", 1), big, gated, small(high=1))
    plan = plan_for(state)
    assert list(started(plan)) == ["gated"]
    assert wait_reasons(plan)["big"] == reasons.placed_after([key("gated")])
    assert wait_reasons(plan)["small"] == reasons.placed_after([key("big"), key("gated")])
    for _ in range(4):
        state = act(state, plan_for(state), after=SECOND, spreading=True)
    assert quiet(plan_for(state))


def pooled(*names: str) -> list[Node]:
    """Nodes with their pool's name and CPUs: `a5` is in pool a. One more CPU is in pool a."""
    nodes = [node(name, int(name[1:]), labels={"pool": name[0]}) for name in names]
    return [*nodes, node("z", 1, labels={"pool": "a"})]


def unbound() -> TrainingJob:
    """A pod that kube-scheduler has yet to bind to a node of pool a."""
    pods = pending().roles[0].status.pods
    on_a = shape(node_selector=(("pool", "a"),))
    return small(size=1, high=1, suspended=False, pods=pods, shape=on_a, started_at=at(-5))


def on(pool: str, cpu: float) -> Shape:
    return shape(cpu, node_selector=(("pool", pool),))


def test_a_gang_for_which_the_same_role_yields_waits_with_the_one_ahead_of_it() -> None:
    x, y = (
        worker("x", 1, 5, on=["c2", "b5", "a5", "a5", "a5"]),
        worker("y", 1, 3, on=["c2", "b5", "b5"]),
    )
    first = worker("gang", 1, 1, shape=on("a", 5), queued=-30)
    second = worker("next", 1, 1, shape=on("b", 5), queued=-20)
    alone = plan_for(cluster(*pooled("a5", "b5", "c2"), x, y, first, second))
    assert sizes(alone) == {"x": 1, "y": 1}
    plan = plan_for(cluster(*pooled("a5", "b5", "c2"), x, y, first, second, unbound()))
    assert sizes(plan) == {}
    assert {wait_reasons(plan)[name].code for name in ("gang", "next")} == {Code.PLACEMENT_ORDER}


def test_a_live_role_keeps_its_last_replicas_while_a_gang_waits_for_pods_ahead() -> None:
    """Only the last replica can leave, and that was to go for the gang."""
    low = worker("low", 1, 3, on=["c1", "b3", "a3"])
    first = worker("gang", 1, 1, shape=on("a", 3), queued=-30, priority=1)
    web = demand("web", on("b", 3), priority=0)
    state = cluster(*pooled("a3", "b3", "c1"), low, first, unbound(), web)
    plan = plan_for(state)
    assert wait_reasons(plan)["gang"].code is Code.PLACEMENT_ORDER
    assert sizes(plan) == {}


@pytest.mark.parametrize("owner", ["vision", "speech"])
def test_a_limit_counts_what_runs_while_a_gang_waits_for_pods_ahead(owner: str) -> None:
    """Neither without the replicas that were to go for it nor with its own pods beside them."""
    large = worker("large", 1, 2, on=["d"], shape=on("d", 9))
    beside = cluster(node("d", 18, labels={"pool": "d"}), large)
    state, owners = contested(gang(), pending()), {"gang": owner, "small": "speech"}
    jobs = [of(owners.get(one.key.name, "vision"), one) for one in (*state.jobs, large)]
    nodes = (*state.nodes, *beside.nodes)
    state = replace(state, nodes=nodes, jobs=tuple(chain.from_iterable(jobs)))
    limited = team("vision", limit=Resources.parse({"cpu": 23}))
    plan = plan_for(with_teams(state, limited, team("speech")), Limits(load_ceiling=1))
    assert wait_reasons(plan)["gang"].code is Code.PLACEMENT_ORDER
    assert told(plan)["large"] == (
        "exceeded limit of team vision, requested: cpu=9, limited: cpu=23; used: cpu=18"
    )


def test_a_job_that_cannot_be_suspended_is_not_suspended_for_a_start_that_failed() -> None:
    """Other jobs would wait for capacity that never becomes idle."""
    refusal = WriteRefusal(at(-1), 1, "not now", RefusedSize("worker", 0, grows=False))
    half = job(
        "half",
        role("worker", 2, 2, on=["a", "a"]),
        role("ps", 2, 2, suspended_at=at(-300)),
        started_at=at(-300),
    )
    state = cluster(node("a", 2), half, worker("next", 2, 2))
    assert [one.job.name for one in plan_for(state).suspensions] == ["half"]
    refused = cluster(node("a", 2), replace(half, refusals=(refusal,)), worker("next", 2, 2))
    plan = plan_for(refused)
    assert (plan.suspensions, wait_reasons(plan)["next"].code) == ((), Code.INSUFFICIENT_CAPACITY)


def test_any_number_of_gangs_for_which_a_role_yields_to_two_in_a_row_waits() -> None:
    count = 1200
    state = cluster(node("a", count), *[worker(f"low-{n}", 1, 2, on=["a"]) for n in range(count)])
    roles = take_snapshot(state, POLICIES["fair"], Limits()).allocations
    results = PassResults()
    for number, pair in enumerate(pairwise(roles)):
        evicted: dict[RoleAllocation, list[Placement]] = {one: [] for one in pair}
        results.pipeline([], [], key(f"gang-{number}"), clears=True, evicted=evicted)
    results.requeue(key("gang-0"), reasons.PLACEMENT_ORDER)
    assert results.wait_reasons == {
        key(f"gang-{n}"): reasons.PLACEMENT_ORDER for n in range(count - 1)
    }
