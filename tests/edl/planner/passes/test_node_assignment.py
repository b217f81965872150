"""The plan gives gated pods their nodes, and what it has assigned is what happens."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.contract import HOSTS_GATE, PLACEMENT_GATE, Provision
from edl.model import (
    Assignment,
    Clearing,
    ClusterState,
    JobKey,
    Provisioning,
    ResizePolicy,
    TrainingJob,
)
from edl.planner.plan import NodeAssignment, Plan
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.plans import ALL, plan_for, sizes, started
from tests.edl.planner.states import at, cluster, job, node, pod, role, shape, worker

GATED: dict[str, Any] = {"gates": (PLACEMENT_GATE,), "created_at": at(-1)}
SECOND = timedelta(seconds=1)
KEY = JobKey("ns", "mnist")


def nodes_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    (found,) = plan.admissions
    return dict(found.nodes)


def run(state: ClusterState, rounds: int = 12) -> tuple[ClusterState, list[Plan]]:
    """Until nothing is left to do."""
    plans: list[Plan] = []
    while len(plans) < rounds:
        plans.append(plan_for(state))
        if quiet(plans[-1]):
            return state, plans
        state = act(state, plans[-1], after=SECOND, spreading=True)
    raise AssertionError(f"still something to do: {plans[-1]}")


def where(state: ClusterState, name: str) -> dict[str, list[str]]:
    """The nodes of a job's pods by role."""
    found = next(one for one in state.jobs if one.key.name == name)
    return {part.name: [one.node for one in part.status.pods] for part in found.roles}


def waiting(*given: str, assigned: tuple[str, ...] = ()) -> TrainingJob:
    """A started job of one worker for each node given, which its gated pod has been given."""
    pods = tuple(
        pod(index, gates=() if name else (PLACEMENT_GATE,), assigned=name, placed_at=at(-1))
        for index, name in enumerate(given)
    )
    part = role(
        "worker", len(given), len(given), size=len(given), suspended=False, gated=True, pods=pods,
        assigned=Assignment(0, assigned),
    )  # fmt: skip
    return job("mnist", part, started_at=at(-2))


def test_a_start_names_a_node_for_each_replica_of_a_gated_role() -> None:
    """4 x 1 CPU and 1 x 4 CPU on two nodes of 4 CPU: kube-scheduler would spread the small ones."""
    all_roles = job("mnist", role("ps", 4, 4, shape=shape(1)), role("chief", shape=shape(4)))
    nodes = nodes_of(plan_for(cluster(node("a", 4), node("b", 4), all_roles)))
    (chief,) = nodes["chief"]
    assert len({*nodes["ps"]}) == 1
    assert chief not in nodes["ps"]


def test_every_pod_comes_to_the_node_that_the_start_has_named() -> None:
    all_roles = job("mnist", role("ps", 4, 4, shape=shape(1)), role("chief", shape=shape(4)))
    state = cluster(node("a", 4), node("b", 4), all_roles)
    nodes = nodes_of(plan_for(state))
    state, plans = run(state)
    assert where(state, "mnist") == {name: list(found) for name, found in nodes.items()}
    assert sum(len(plan.node_assignments) for plan in plans) == 2


def test_an_ungated_role_is_placed_by_the_scheduler() -> None:
    (found,) = plan_for(cluster(node("a", 4), worker("mnist", 2, 2))).admissions
    assert found.nodes == ()


def test_a_pod_comes_to_the_node_that_the_job_was_assigned() -> None:
    mine = waiting("", "", assigned=("b", "a"))
    plan = plan_for(cluster(node("a", 4), node("b", 4), mine))
    assert plan.node_assignments == (
        NodeAssignment(mine.key, "worker", (("pod-0", "b"), ("pod-1", "a"))),
    )


def test_a_new_pod_of_work_items_comes_to_the_node_that_its_growth_has_named() -> None:
    """Its completion index is unknown beforehand; it comes after the pods that have nodes."""
    pods = (pod(7, "b"), pod(3, **GATED))
    part = role(
        "worker", 1, 2, size=2, suspended=False, gated=True, pods=pods,
        resizing=ResizePolicy.ITEMS, indexed=False, assigned=Assignment(1, ("a",)),
    )  # fmt: skip
    plan = plan_for(cluster(node("a", 9), node("b", 9), job("mnist", part, started_at=at(-9))))
    assert plan.node_assignments == (NodeAssignment(KEY, "worker", (("pod-3", "a"),)),)


def test_a_pod_comes_near_its_peers_where_it_was_assigned_no_node() -> None:
    pods = (pod(0, "b"), pod(1, "b"), pod(2, **GATED))
    part = role("worker", 3, 3, size=3, suspended=False, gated=True, pods=pods)
    mine = job("mnist", part, started_at=at(-9))
    plan = plan_for(cluster(node("a", 1), node("b", 9), mine))
    assert plan.node_assignments == (NodeAssignment(mine.key, "worker", (("pod-2", "b"),)),)


def test_a_pod_waits_behind_its_gate_until_its_room_is_free() -> None:
    mine = waiting("", assigned=("a",))
    leaves = replace(
        worker("leaves", 1, 1),
        roles=(role("worker", 1, 1, ending=None, pods=(pod(0, "a", terminating=True),)),),
    )
    assert plan_for(cluster(node("a", 1), mine, leaves)).node_assignments == ()


def beginning(*made: int, suspended: bool = False) -> TrainingJob:
    """A server, and workers for two of which there must be room; pods of some are made."""
    pods = tuple(pod(index, **GATED) for index in made)
    server = role("ps", size=1, suspended=False, gated=True, pods=(pod(0, **GATED),))
    workers = role("worker", 2, 3, size=3, suspended=suspended, gated=True, pods=pods)
    return job("mnist", server, workers, started_at=at(-1))


def test_no_pod_of_a_gang_has_a_node_before_all_of_its_minimum_are_made() -> None:
    """The Job controller makes those of one Job at a time, or never where it may not."""
    nodes = [node("a", 9)]
    for mine in (beginning(), beginning(0), beginning(1), beginning(suspended=True)):
        assert plan_for(cluster(*nodes, mine)).node_assignments == ()
    placed = plan_for(cluster(*nodes, beginning(0, 1))).node_assignments
    assert {one.role: len(one.nodes) for one in placed} == {"ps": 1, "worker": 2}


def test_a_gang_that_has_begun_gives_each_new_pod_its_node() -> None:
    begun = beginning(0)
    server = begun.roles[0].changed(pods=(pod(0, "a"),))
    placed = plan_for(cluster(node("a", 9), replace(begun, roles=(server, begun.roles[1]))))
    assert [one.role for one in placed.node_assignments] == ["worker"]


def test_a_pod_keeps_the_node_that_it_was_given() -> None:
    plan = plan_for(cluster(node("a", 4), node("b", 1), waiting("a", assigned=("b",))))
    assert quiet(plan)


def test_a_pod_is_deleted_and_placed_again_after_its_node_filled_up() -> None:
    mine = waiting("a", assigned=("a",))
    taken = worker("other", 1, 1, on=["a"])
    state = cluster(node("a", 1), node("b", 1), mine, taken)
    plan = plan_for(state)
    assert plan.node_assignments == (NodeAssignment(mine.key, "worker", (), ("pod-0",)),)
    state, _ = run(state)
    assert where(state, "mnist") == {"worker": ["b"]}


def test_a_pod_is_deleted_and_placed_again_after_its_node_was_removed() -> None:
    state, _ = run(cluster(node("b", 1), waiting("a", assigned=("a",))))
    assert where(state, "mnist") == {"worker": ["b"]}


def test_a_pod_behind_another_gate_is_given_its_node_too() -> None:
    both = (HOSTS_GATE, PLACEMENT_GATE)
    part = role("launcher", size=1, suspended=False, gated=True, pods=(pod(0, gates=both),))
    mine = job("mnist", part, started_at=at(-1))
    plan = plan_for(cluster(node("a", 1), mine))
    assert plan.node_assignments == (NodeAssignment(mine.key, "launcher", (("pod-0", "a"),)),)


def test_growth_of_a_gated_role_names_the_nodes_of_its_new_replicas() -> None:
    all_roles = job("mnist", role("ps", on=["a"]), role("worker", 1, 3, on=["a"]))
    plan = plan_for(cluster(node("a", 2), node("b", 2.5), all_roles))
    (resize,) = plan.resizes
    assert (resize.before, resize.after, resize.nodes) == (1, 3, ("b", "b"))


def test_a_job_that_gave_a_replica_by_a_restart_comes_back_beside_the_taker() -> None:
    """Its pods might come back two by two, and no node would have room for the taker then."""
    rich = worker(
        "rich", 1, 5, resizing=ResizePolicy.RESTART, on=["a", "a", "a", "b", "b"],
        assigned=Assignment(0, ("a", "a", "a", "b", "b")),
    )  # fmt: skip
    poor = worker("poor", 1, 3, shape=shape(2), on=["c"])
    state = cluster(node("a", 3), node("b", 3), node("c", 2), rich, poor)
    assert sizes(plan_for(state)) == {"rich": 4}
    state, plans = run(state)
    assert sorted(map(len, (*where(state, "rich").values(), *where(state, "poor").values()))) == [
        2,
        4,
    ]
    assert all(all(on) for name in ("rich", "poor") for on in where(state, name).values())
    assert sum(one.restart for plan in plans for one in plan.resizes) == 1


def test_an_ungated_start_waits_while_gated_pods_have_no_node() -> None:
    """kube-scheduler may put it where the plan has the gated pods."""
    gated = waiting("", assigned=("a",))
    gated = replace(gated, roles=(gated.roles[0].changed(shape=shape(4)),))
    nodes = (node("a", 4), node("b", 4))
    assert started(plan_for(cluster(*nodes, gated, worker("free", 2, 2, shape=shape(1))))) == {}
    bound = gated.roles[0].changed(pods=(pod(0, "a"),))
    plan = plan_for(
        cluster(*nodes, replace(gated, roles=(bound,)), worker("free", 2, 2, shape=shape(1)))
    )
    assert started(plan) == {"free": {"worker": 2}}


PAIRS = [(5, 1), (3, 1), (3, 0.5), (5, 2), (2, 0.5), (2, 1), (3, 2)]
"""CPU of a large pod, and of a small one."""


@st.composite
def tight_fits(draw: st.DrawFn) -> tuple[list[float], list[tuple[float, int]]]:
    """CPU by node, and (CPU, pods) by role: a node a large pod, and no more room than all need.

    kube-scheduler's own preference would take a large one's node for small ones.
    """
    large, small = draw(st.sampled_from(PAIRS))
    many, few = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    beside = draw(st.integers(0, few - 1))
    nodes = [large + draw(st.sampled_from([0, 0.25]))] * many
    nodes[0] += beside * small
    roles = [(small, few), (large, many)]
    return draw(st.permutations([*nodes, (few - beside) * small])), draw(st.permutations(roles))


def test_gangs_that_just_fit_run_whole_in_three_rounds() -> None:
    starts: list[bool] = []

    @settings(max_examples=60, deadline=None)
    @given(tight_fits())
    def all_run(drawn: tuple[list[float], list[tuple[float, int]]]) -> None:
        nodes, parts = drawn
        roles = (
            role(f"role-{n}", pods, pods, shape=shape(cpu)) for n, (cpu, pods) in enumerate(parts)
        )
        machines = (node(f"n{number}", cpu) for number, cpu in enumerate(nodes))
        state, plans = run(cluster(*machines, job("mnist", *roles)), rounds=4)
        starts.append(bool(plans[0].admissions))
        if starts[-1]:
            assert all(all(on) for on in where(state, "mnist").values())

    all_run()
    assert sum(starts) >= 0.4 * len(starts), "most gangs start"


def test_a_replica_that_left_a_node_for_another_pod_does_not_come_back_to_it() -> None:
    left = (Clearing("a", 1, at(-2)),)
    pods = (pod(0, "a"), pod(1, "a"), pod(2, **GATED))
    part = role(
        "worker", 3, 3, size=3, suspended=False, gated=True, pods=pods, cleared=left,
        assigned=Assignment(0, ("a", "a", "a")),
    )  # fmt: skip
    mine = job("mnist", part, started_at=at(-9))
    for nodes, expected in (((node("a", 9), node("b", 9)), "b"), ((node("a", 9),), "a")):
        (found,) = plan_for(cluster(*nodes, mine)).node_assignments
        assert found.nodes == (("pod-2", expected),)


def test_a_replica_comes_back_to_its_node_once_that_was_cleared_long_ago() -> None:
    def assigned(since: float) -> tuple[str, ...]:
        pods = (pod(0, "z"), pod(1, gates=(PLACEMENT_GATE,), created_at=at(-1)))
        workers = role(
            "worker", 1, 2, size=2, suspended=False, gated=True, pods=pods,
            cleared=(Clearing("z", 1, at(-since)),), assigned=Assignment(0, ("z", "z")),
        )  # fmt: skip
        nodes = node("a", 4), node("z", 4)
        found = plan_for(cluster(*nodes, job("mine", workers, started_at=at(-9999))))
        return tuple(name for one in found.node_assignments for _, name in one.nodes)

    assert assigned(599) == ("a",)
    assert assigned(600) == ("z",)


def test_minimums_are_placed_before_extras() -> None:
    def coming(name: str, low: int, high: int) -> TrainingJob:
        pods = tuple(pod(index, **GATED) for index in range(high))
        part = role("worker", low, high, size=high, suspended=False, gated=True, pods=pods)
        return job(name, part, started_at=at(-2))

    first, second = coming("first", 1, 2), coming("second", 1, 1)
    placed = {
        one.job: one.nodes
        for one in plan_for(cluster(node("a", 2), first, second)).node_assignments
    }
    assert placed == {first.key: (("pod-0", "a"),), second.key: (("pod-0", "a"),)}


def test_no_pod_of_a_gang_holds_a_node_until_all_of_its_minimum_have_room() -> None:
    ps = role("ps", size=1, suspended=False, gated=True, pods=(pod(0, **GATED),))
    pods = (pod(0, **GATED), pod(1, **GATED))
    workers = role("worker", 2, 2, size=2, suspended=False, gated=True, pods=pods, shape=shape(3))
    gang = job("mnist", ps, workers, started_at=at(-1))
    nodes = (node("a", 4), node("b", 3))
    assert plan_for(cluster(*nodes, gang, worker("other", 1, 1, on=["b"]))).node_assignments == ()
    assert len(plan_for(cluster(*nodes, gang)).node_assignments) == 2


def test_a_gang_of_which_a_pod_has_a_node_goes_on_pod_by_pod() -> None:
    ps = role("ps", size=1, suspended=False, gated=True, pods=(pod(0, "a"),))
    pods = (pod(0, **GATED), pod(1, **GATED))  # made anew long after the start
    workers = role("worker", 2, 2, size=2, suspended=False, gated=True, pods=pods, shape=shape(3))
    gang = job("mnist", ps, workers, started_at=at(-100))
    (found,) = plan_for(cluster(node("a", 4), gang)).node_assignments
    assert found.nodes == (("pod-0", "a"),)


def test_a_launcher_waiting_for_hosts_is_placed_again_after_its_node_filled_up() -> None:
    waits = pod(0, gates=(HOSTS_GATE,), assigned="a", placed_at=at(-9))
    part = role("launcher", size=1, suspended=False, gated=True, pods=(waits,))
    mine = job("mnist", part, started_at=at(-9))
    other = worker("other", 1, 1, on=["a"])
    assert quiet(plan_for(cluster(node("a", 2), node("b", 1), mine, other)))
    (found,) = plan_for(cluster(node("a", 1), node("b", 1), mine, other)).node_assignments
    assert (found.nodes, found.replaced_pods) == ((), ("pod-0",))


def lost(**fields: Any) -> ClusterState:  # noqa: ANN401 - of a training job
    """An hour after its start one of two gated workers is made anew; the only node is full."""
    new = pod(1, gates=(PLACEMENT_GATE,), created_at=at(-130))
    part = role("worker", 2, 4, size=2, suspended=False, gated=True, pods=(pod(0, "a"), new))
    ran = replace(job("mnist", part), **{"started_at": at(-3600), **fields})
    return cluster(node("a", 1), ran)


def test_an_autoscaler_sees_the_pending_pod_of_a_minimum_that_lost_its_node() -> None:
    state = replace(lost(), autoscaled=True)
    plan = plan_for(state)
    assert plan.node_assignments == (NodeAssignment(KEY, "worker", (("pod-1", ""),)),)
    assert plan.suspensions == ()
    longest = replace(state, observed_at=at(-130) + ALL.provisioning.provisioning_timeout)
    assert [one.job for one in plan_for(longest).suspensions] == [KEY]


def test_a_start_of_which_a_pod_was_given_its_node_late_waits_no_longer_than_other_starts() -> None:
    """Only a pod that is made long after the start shows that the gang ran."""
    late = pod(1, assigned="a", created_at=at(-260), placed_at=at(-130))
    part = role("worker", 2, 2, size=2, suspended=False, gated=True, pods=(pod(0, "a"), late))
    mine = job("mnist", part, started_at=at(-270))
    state = replace(cluster(node("a", 2), mine), autoscaled=True)
    assert [one.job for one in plan_for(state).suspensions] == [KEY]


@pytest.mark.parametrize(
    "state",
    [
        lost(),
        replace(lost(provisioning=Provisioning(provision=Provision.NEVER)), autoscaled=True),
    ],
    ids=["no autoscaler", "asks for no node"],
)
def test_without_an_autoscaler_a_gang_without_a_node_for_its_minimum_goes_back(
    state: ClusterState,
) -> None:
    plan = plan_for(state)
    assert (plan.node_assignments, [one.job for one in plan.suspensions]) == ((), [KEY])


def test_a_pod_with_pending_capacity_requests_no_scale_up() -> None:
    extras = worker("other", 1, 3, on=["b", "b"], resizing=ResizePolicy.LIVE)
    (ran,) = lost().jobs
    state = replace(cluster(node("a", 1), node("b", 2), ran, extras), autoscaled=True)
    plan = plan_for(state)
    assert (plan.node_assignments, sizes(plan)) == ((), {"other": 1})


def test_the_rest_of_a_start_has_capacity_before_unplaced_pending_pods() -> None:
    """One patch of two met a conflict; the pod of `one` fits beside both workers, on b alone."""
    ps = role("ps", on=["c"], gated=True)
    mine = job("mnist", ps, role("worker", 2, 2, shape=shape(3), gated=True), started_at=at(-1))
    pending = worker("one", 1, 1, size=1, suspended=False, pods=(pod(0, created_at=at(-1)),))
    nodes = (node("a", 3), node("b", 4), node("c", 1))
    (found,) = plan_for(cluster(*nodes, mine, pending)).admissions
    assert sorted(dict(found.nodes)["worker"]) == ["a", "b"]


def test_an_unplaced_extra_is_given_up_for_a_queued_job_where_an_autoscaler_is() -> None:
    """Its pod waits for a node when the replica is taken: it has no placement any more."""
    extra = pod(1, gates=(PLACEMENT_GATE,), created_at=at(-1))
    part = role(
        "worker",
        1,
        2,
        size=2,
        suspended=False,
        gated=True,
        resizing=ResizePolicy.LIVE,
        pods=(pod(0, "a"), extra),
    )
    ran = job("mnist", part, started_at=at(-3600))
    state = replace(cluster(node("a", 2), ran, worker("next", 1, 1)), autoscaled=True)
    assert sizes(plan_for(state)) == {"mnist": 1}
