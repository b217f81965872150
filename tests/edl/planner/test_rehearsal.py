"""Starts that kube-scheduler might leave half placed are made so that it cannot."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from edl import reasons
from edl.model import Resizing, TrainingJob
from edl.planner.plan import Admission, Plan
from tests.edl.planner.acting import act
from tests.edl.planner.plans import held, plan_for, sizes, started
from tests.edl.planner.states import at, cluster, job, node, pod, role, shape, worker


def admission(plan: Plan) -> Admission:
    (found,) = plan.admissions
    return found


def test_pods_of_one_shape_need_no_care() -> None:
    tight = [worker(f"job-{number}", 1, 1, shape=shape(2)) for number in range(4)]
    plan = plan_for(cluster(node("a", 4), node("b", 4), *tight))
    assert len(plan.admissions) == 4
    assert all(not (one.nodes or one.leads) for one in plan.admissions)


def test_where_there_is_room_for_any_order_nothing_is_pinned() -> None:
    cast = job("mnist", role("ps", 4, 4, shape=shape(1)), role("chief", shape=shape(4)))
    found = admission(plan_for(cluster(node("a", 16), node("b", 16), cast)))
    assert (found.nodes, found.leads) == ((), "")


def test_small_pods_are_kept_off_the_node_that_a_large_one_needs() -> None:
    """4 x 1 CPU and 1 x 4 CPU on two nodes of 4 CPU: seen on a real scheduler."""
    cast = job("mnist", role("ps", 4, 4, shape=shape(1)), role("chief", shape=shape(4)))
    found = admission(plan_for(cluster(node("a", 4), node("b", 4), cast)))
    nodes = dict(found.nodes)
    assert len(nodes["ps"]) == len(nodes["chief"]) == 1
    assert nodes["ps"] != nodes["chief"]


def test_a_gang_that_was_placed_otherwise_starts_with_its_roles_on_different_nodes() -> None:
    """No role can take another's room there, whatever the scheduler prefers."""
    parts = (role(name, last=reasons.GANG_PENDING) for name in ("ps", "worker"))
    again = job("mnist", *parts, started_at=at(-600))
    found = dict(admission(plan_for(cluster(node("a", 4), node("b", 4), again))).nodes)
    assert set(found) == {"ps", "worker"}
    assert not set(found["ps"]) & set(found["worker"])


def test_a_role_that_grows_stays_free_where_the_others_pins_are_enough() -> None:
    cast = job("mnist", role("ps", 3, 3, shape=shape(1)), role("worker", 1, 2, shape=shape(4)))
    found = admission(plan_for(cluster(node("a", 3), node("b", 4), cast)))
    assert found.nodes == (("ps", ("a",)),)


def test_a_role_that_restarts_for_each_size_is_pinned_where_other_pins_are_not_enough() -> None:
    """Two workers fit beside the chief only if none of them is on the node with its GPU."""
    why = reasons.restart(reasons.grown(2, 2))
    returns = {"suspended": True, "resized_at": at(-2), "last": why}
    grown = role("worker", 1, 2, size=2, shape=shape(2), resizing=Resizing.RESTART, **returns)
    chief = role("chief", shape=shape(0.5, gpu=1), **returns)
    nodes = (node("a", 2, gpu=1), node("b", 2), node("c", 2))
    found = admission(plan_for(cluster(*nodes, job("mnist", grown, chief, started_at=at(-600)))))
    assert dict(found.nodes) == {"worker": ("b", "c"), "chief": ("a",)}


def test_roles_that_share_a_node_are_pinned_where_no_two_can_be_kept_apart() -> None:
    parts = (role("chief"), role("ps", shape=shape(3)), role("worker", 3, 3, shape=shape(2)))
    found = admission(plan_for(cluster(node("a", 5), node("b", 6), job("mnist", *parts))))
    assert dict(found.nodes) == {"chief": ("a",), "ps": ("a",), "worker": ("b",)}


def test_extras_stay_away_where_they_might_take_the_room_of_a_minimum() -> None:
    cast = job("mnist", role("chief", shape=shape(4)), role("worker", 1, 5, shape=shape(1)))
    plan = plan_for(cluster(node("a", 4), node("b", 5), cast))
    assert started(plan)["mnist"]["worker"] <= 2 or admission(plan).nodes


def test_where_no_pins_are_sure_the_hardest_role_leads() -> None:
    cast = job(
        "mnist",
        role("chief", shape=shape(2)),
        role("ps", 3, 3, shape=shape(3)),
        role("worker", 2, 2, shape=shape(5)),
    )
    found = admission(plan_for(cluster(node("a", 4), node("b", 3), node("c", 16), cast)))
    assert (found.leads, found.nodes) == ("worker", ())
    assert dict(found.sizes) == {"chief": 1, "ps": 3, "worker": 2}


def test_a_role_that_leads_runs_alone_until_the_next_plan_starts_the_others() -> None:
    cast = (role("ps", 3, 3, shape=shape(3)), role("worker", 2, 2, shape=shape(5)))
    coming = job("mnist", role("chief", shape=shape(2)), *cast)
    state = cluster(node("a", 4), node("b", 3), node("c", 16), coming)
    for expected in ({"worker"}, {"chief", "ps", "worker"}):
        state = act(state, plan_for(state), after=timedelta(seconds=2))
        assert {part.name for part in state.jobs[0].live if not part.suspended} == expected


def test_who_follows_the_leading_role_waits_until_it_has_its_nodes() -> None:
    leading = role("worker", 2, 2, shape=shape(5), on=["c", ""])
    others = (role("chief", shape=shape(2)), role("ps", 3, 3, shape=shape(3)))
    nodes = (node("a", 4), node("b", 3), node("c", 16))
    coming = job("mnist", *others, leading, started_at=at(-1))
    assert held(plan_for(cluster(*nodes, coming))) == {"mnist": reasons.PLACED_FIRST}
    there = replace(leading, pods=(pod(0, "c"), pod(1, "c")))
    arrived = job("mnist", *others, there, started_at=at(-1))
    assert "ps" in started(plan_for(cluster(*nodes, arrived)))["mnist"]


def test_a_gang_that_others_may_disturb_starts_when_they_have_their_nodes() -> None:
    first = worker("first", 2, 2, shape=shape(1), queued=-99)
    second = worker("second", 1, 1, shape=shape(4), queued=-98)
    nodes = (node("a", 4), node("b", 4))
    plan = plan_for(cluster(*nodes, first, second))
    assert list(started(plan)) == ["first"]
    assert held(plan)["second"] == reasons.PLACED_FIRST
    assert plan.recheck_after is not None
    bound = worker("first", 2, 2, shape=shape(1), on=["a", "a"])
    assert list(started(plan_for(cluster(*nodes, bound, second)))) == ["second"]


def test_growth_waits_for_a_gang_that_it_may_disturb() -> None:
    running = worker("running", 1, 2, shape=shape(1), on=["a"])
    queued = worker("queued", 1, 1, shape=shape(4))
    plan = plan_for(cluster(node("a", 4), node("b", 4), running, queued))
    assert (list(started(plan)), sizes(plan)) == (["queued"], {})
    assert held(plan) == {"running": reasons.PLACED_FIRST}
    begun = worker("queued", 1, 1, shape=shape(4), on=["b"])
    assert sizes(plan_for(cluster(node("a", 4), node("b", 4), running, begun))) == {"running": 2}


def test_growth_that_holds_up_nobody_goes_on_beside_a_start_that_waits() -> None:
    """Another's pod is on its way; the start would have to wait without the growth, too."""
    running = worker("running", 1, 2, shape=shape(1, node_selector=(("zone", "a"),)), on=["a"])
    assert sizes(plan_beside_a_start_that_waits(running)) == {"running": 2}


def test_growth_leaves_the_room_of_a_start_that_waits() -> None:
    running = worker("running", 1, 2, shape=shape(1), on=["a"])
    plan = plan_beside_a_start_that_waits(running)
    assert (sizes(plan), held(plan)["running"]) == ({}, reasons.PLACED_FIRST)


def plan_beside_a_start_that_waits(running: TrainingJob) -> Plan:
    coming = worker("coming", 2, 2, shape=shape(1), on=["a", ""], started_at=at(-5))
    queued = worker("queued", 1, 1, shape=shape(4, node_selector=(("zone", "b"),)))
    part = replace(coming.roles[0], pods=(pod(0, "a"), pod(1, created_at=at(-5))))
    nodes = (node("a", 4, labels={"zone": "a"}), node("b", 4, labels={"zone": "b"}))
    plan = plan_for(cluster(*nodes, running, replace(coming, roles=(part,)), queued))
    assert (started(plan), held(plan)["queued"]) == ({}, reasons.PLACED_FIRST)
    return plan


def test_growth_of_small_pods_waits_where_it_may_take_the_node_of_a_large_one() -> None:
    small = worker("small", 1, 2, shape=shape(1), on=["a"])
    large = worker("large", 1, 2, shape=shape(4), on=["b"])
    nodes = (node("a", 2), node("b", 4), node("c", 4))
    plan = plan_for(cluster(*nodes, small, large))
    assert (sizes(plan), held(plan)) == ({"large": 2}, {"small": reasons.PLACED_FIRST})
    grown = worker("large", 1, 2, shape=shape(4), on=["b", "c"])
    assert sizes(plan_for(cluster(*nodes, small, grown))) == {"small": 2}


def test_growth_leaves_the_room_alone_that_a_claim_waits_for() -> None:
    """The scheduler knows of no claim, and would put the new pods there, again and again."""
    low = worker("low", 2, 10, wanted=6, on=["std", "std", "gpu", "gpu"])
    high = worker("high", 3, 3, shape=shape(2, gpu=1), priority=1000, queued=-60)
    plan = plan_for(cluster(node("gpu", 6, gpu=3), node("std", 4), low, high))
    assert held(plan)["high"] == reasons.leaving(3)
    assert all(one.after < one.before for one in plan.resizes)


def test_pods_that_wait_for_long_are_waited_for_no_longer() -> None:
    waiting = worker("waiting", 1, 2, shape=shape(3), on=["a", ""], started_at=at(-40))
    part = replace(waiting.roles[0], pods=(pod(0, "a"), pod(1, created_at=at(-40))))
    queued = worker("queued", 1, 1, shape=shape(1))
    plan = plan_for(cluster(node("a", 4), node("b", 4), replace(waiting, roles=(part,)), queued))
    assert "queued" in started(plan)


PAIRS = [(5, 1), (3, 1), (3, 0.5), (5, 2), (2, 0.5), (2, 1), (3, 2)]
"""CPU of a large pod, and of a small one."""


@st.composite
def tight_fits(draw: st.DrawFn) -> tuple[list[float], list[tuple[float, int]]]:
    """CPU by node, and (CPU, pods) by role: a node a large pod, and no more room than all need.

    The scheduler's own preference would take a large one's node for small ones.
    """
    large, small = draw(st.sampled_from(PAIRS))
    many, few = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    beside = draw(st.integers(0, few - 1))
    nodes = [large + draw(st.sampled_from([0, 0.25]))] * many
    nodes[0] += beside * small
    roles = [(small, few), (large, many)]
    return draw(st.permutations([*nodes, (few - beside) * small])), draw(st.permutations(roles))


def test_a_role_has_room_for_all_of_its_pods_on_the_nodes_to_which_it_is_kept() -> None:
    plans: list[bool] = []

    @settings(max_examples=60, deadline=None)
    @given(tight_fits())
    def has_room(drawn: tuple[list[float], list[tuple[float, int]]]) -> None:
        nodes, parts = drawn
        roles = (
            role(f"role-{n}", pods, pods, shape=shape(cpu)) for n, (cpu, pods) in enumerate(parts)
        )
        machines = {f"n{number}": cpu for number, cpu in enumerate(nodes)}
        plan = plan_for(cluster(*(node(*one) for one in machines.items()), job("mnist", *roles)))
        kept = dict(pair for found in plan.admissions for pair in found.nodes)
        plans.append(bool(kept))
        for number, (cpu, pods) in enumerate(parts):
            on = kept.get(f"role-{number}", tuple(machines))
            assert not plan.admissions or sum(machines[name] // cpu for name in on) >= pods

    has_room()
    assert sum(plans) >= 0.4 * len(plans), "most plans keep a role to nodes"


def test_growth_does_not_wait_for_pods_that_are_in_the_way_of_others_alone() -> None:
    """Of two pods on their way the small one may take the large one's node; it grows elsewhere."""

    def coming(name: str, cpu: float) -> TrainingJob:
        part = role(
            "worker", size=1, suspended=False, pods=(pod(0, created_at=at(-2)),),
            shape=shape(cpu, node_selector=(("pool", "one"),)),
        )  # fmt: skip
        return job(name, part, started_at=at(-2))

    nodes = (node("a", 4, labels={"pool": "one"}), node("b", 8, labels={"pool": "two"}))
    mine = worker("mine", 1, 4, shape=shape(2, node_selector=(("pool", "two"),)), on=["b"])
    plan = plan_for(cluster(*nodes, coming("small", 2), coming("large", 3), mine))
    assert sizes(plan) == {"mine": 4}


def test_the_role_leads_after_which_the_others_find_room_wherever_it_lands() -> None:
    """Two workers may take all of a, and ps may use no other node; ps leaves room for both."""
    parts = (
        role("ps", 1, 1, shape=shape(0.5, node_selector=(("zone", "a"),))),
        role("worker", 2, 2, shape=shape(1)),
    )
    state = cluster(node("a", 2, labels={"zone": "a"}), node("b", 1), job("mnist", *parts))
    (admission,) = plan_for(state).admissions
    assert admission.leads == "ps"
