"""Jobs that require, or prefer, nodes near each other: domains by node labels."""

from datetime import timedelta
from typing import Any, Final

import pytest
from msgspec.structs import replace

from edl.contract import PLACEMENT_GATE
from edl.messages import blocker_text
from edl.model import ClusterState, Node, ResizePolicy, Role, Topology, TrainingJob
from edl.model.causes.reason_codes import Code
from edl.model.causes.scarcity import NodeRule, NoEligibleNode, Shortage
from edl.planner.explain.explanation import explain
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.plan import NodeAssignment, Plan
from edl.planner.policies import POLICIES
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.plans import ALL, plan_for, sizes, wait_reasons
from tests.edl.planner.states import at, cluster, job, node, pod, role, shape, worker

RACK, BLOCK = "example.com/rack", "example.com/block"


def racks(*free: float, per_block: int = 2) -> list[Node]:
    """Two nodes a rack, each with so many CPU; nodes are named rack-node: `r0-a`."""
    return [
        node(f"r{rack}-{name}", cpu, labels={RACK: f"r{rack}", BLOCK: f"b{rack // per_block}"})
        for rack, cpu in enumerate(free)
        for name in "ab"
    ]


def in_one(label: str = RACK) -> Topology:
    return Topology(required=(("", label),))


def close(*labels: str) -> Topology:
    return Topology(preferred=labels)


def asking(topology: Topology, low: int, high: int | None = None, **fields: Any) -> TrainingJob:  # noqa: ANN401 - fields of a role
    """A job of workers."""
    return job("mnist", role("worker", low, high or low, gated=True, topology=topology, **fields))


def where(plan: Plan, part: str = "worker") -> list[str]:
    """The racks of a start's replicas, in the order of their ranks."""
    (found,) = plan.admissions
    return [name.partition("-")[0] for name in dict(found.nodes)[part]]


def shortage(plan: Plan) -> Shortage:
    (held,) = plan.waiting
    assert isinstance(held.reason.about, Shortage)
    return held.reason.about


def test_all_pods_start_in_one_domain_that_is_required() -> None:
    """Without it the fullest nodes come first: two of each rack."""
    assert where(plan_for(cluster(*racks(2, 2, 3), asking(in_one(), 4)))) == ["r0"] * 4


def test_the_domain_with_the_least_room_that_is_enough_comes_first() -> None:
    assert where(plan_for(cluster(*racks(4, 2, 3), asking(in_one(), 4)))) == ["r1"] * 4


def test_all_roles_are_in_the_domain_that_the_job_requires() -> None:
    topology = in_one()
    all_roles = job(
        "mnist",
        role("ps", 2, 2, shape=shape(2), topology=topology),
        role("worker", 4, 4, topology=topology),
    )
    plan = plan_for(cluster(*racks(2, 3, 4), all_roles))
    assert {*where(plan, "ps"), *where(plan, "worker")} == {"r2"}


def test_pods_that_fit_a_domain_only_in_sum_take_the_next_domain() -> None:
    """Three pods of 2 CPU find no three nodes of 3 CPU with 1 CPU left twice."""
    topology = in_one()
    worker = role("worker", 1, 1, topology=topology, shape=shape(2))
    all_roles = job("mnist", role("ps", 2, 2, shape=shape(2)), worker)
    plan = plan_for(cluster(*racks(3, 4), all_roles))
    assert {*where(plan, "ps"), *where(plan, "worker")} == {"r1"}


def test_a_role_is_in_a_domain_of_its_own_where_only_it_requires_one() -> None:
    topology = Topology(required=(("worker", RACK),))
    all_roles = job(
        "mnist", role("ps", 1, 1, shape=shape(3)), role("worker", 4, 4, topology=topology)
    )
    plan = plan_for(cluster(*racks(2, 3), all_roles))
    assert where(plan) == ["r0"] * 4
    assert where(plan, "ps") == ["r1"]


def test_a_role_may_require_a_narrower_domain_than_its_job() -> None:
    topology = Topology(required=(("", BLOCK), ("worker", RACK)))
    all_roles = job("mnist", role("ps", 4, 4), role("worker", 4, 4, topology=topology))
    plan = plan_for(cluster(*racks(1, 2, 2, 2), all_roles))
    assert len({*where(plan)}) == 1
    assert {*where(plan, "ps"), *where(plan)} == {"r2", "r3"}


def test_a_gang_that_no_domain_holds_waits_and_says_which_comes_nearest() -> None:
    plan = plan_for(cluster(*racks(4, 4), asking(in_one(), 8), worker("runs", 5, 5, queued=-9999,
                    on=["r0-a", "r0-a", "r0-b", "r1-a", "r0-a"])))  # fmt: skip
    assert plan.admissions == ()
    found = shortage(plan)
    assert (found.fitting, [str(one) for one in found.domains]) == (7, [f"{RACK}=r1"])


def test_a_gang_that_no_empty_domain_holds_never_starts() -> None:
    plan = plan_for(cluster(*racks(4, 3), asking(in_one(), 9)))
    (held,) = plan.waiting
    assert (held.reason.code, held.never) == (Code.NEVER_FITS, True)
    found = shortage(plan)
    assert (found.fitting, [str(one) for one in found.domains]) == (8, [f"{RACK}=r0"])


def test_a_label_that_no_node_has_is_named() -> None:
    (held,) = plan_for(cluster(*racks(4), asking(in_one("example.com/pod"), 2))).waiting
    assert held.reason.code is Code.NO_ELIGIBLE_NODE
    assert isinstance(held.reason.about, NoEligibleNode)
    assert held.reason.about.rule is NodeRule.TOPOLOGY
    assert held.reason.about.selector == (("example.com/pod", ""),)


def test_growth_stays_in_the_domain() -> None:
    mine = asking(in_one(), 2, 9, on=["r1-a", "r1-b"])
    (resize,) = plan_for(cluster(*racks(4, 3), mine)).resizes
    assert (resize.after, {name[:2] for name in resize.nodes}) == (6, {"r1"})


@pytest.mark.parametrize(
    ("racks_of_pods", "said"),
    [
        (("", ""), "on nodes without a domain"),
        (("r9", "r0"), "in domains r0 and r9"),
        (("r9", ""), "in domain r9 and on nodes without a domain"),
    ],
)
@pytest.mark.parametrize("required", ["", "worker"])
def test_a_job_whose_pods_are_not_in_one_domain_keeps_its_size(
    racks_of_pods: tuple[str, str], said: str, required: str
) -> None:
    """Labels of nodes were changed while it ran."""
    labels = [{RACK: rack} if rack else {} for rack in racks_of_pods]
    there = [node(name, 4, labels=own) for name, own in zip("ab", labels, strict=True)]
    mine = asking(Topology(required=((required, RACK),)), 2, 9, on=["a", "b"])
    plan = plan_for(cluster(*there, *racks(9, 9), mine))
    assert sizes(plan) == {}
    growing = asking(Topology(required=(("other", RACK),)), 2, 9, on=["a", "b"])
    assert sizes(plan_for(cluster(*there, *racks(9, 9), growing))) == {"mnist": 9}
    found = explain(
        DecisionInput(cluster(*there, *racks(9, 9), mine), POLICIES["fair"], ALL), mine.key
    )
    assert found is not None
    (only,) = found.roles
    assert only.blockers is not None
    assert [blocker_text(one) for one in only.blockers.found] == [
        f"its pods are {said} of the required topology {RACK}"
    ]


def test_a_start_grows_in_its_domain_at_once() -> None:
    assert where(plan_for(cluster(*racks(4, 2), asking(in_one(), 2, 9)))) == ["r1"] * 4


def test_extras_of_others_yield_in_one_domain() -> None:
    """Three replicas anywhere would be enough for the sums."""
    runs = worker("runs", 1, 8, queued=-9999, on=["r0-a", "r0-b", "r1-a", "r1-b"] * 2)
    plan = plan_for(cluster(*racks(2, 2), runs, asking(in_one(), 3)))
    (resize,) = plan.resizes
    assert resize.after <= 5
    state, _ = settle(cluster(*racks(2, 2), runs, asking(in_one(), 3)))
    assert len({name[:2] for name in nodes(state)}) == 1


def test_the_domain_where_the_fewest_replicas_yield_is_chosen() -> None:
    """The highest indexes leave first, and those are in the second rack."""
    indexes = [f"r{rack}-{name}" for rack in range(2) for name in "ab" for _ in range(4)]
    for resizing in ResizePolicy.LIVE, ResizePolicy.RESTART:
        runs = worker("runs", 2, 16, queued=-9999, on=indexes, resizing=resizing)
        (resize,) = plan_for(cluster(*racks(4, 4), runs, asking(in_one(), 6))).resizes
        assert (resize.before, resize.after) == (16, 10), resizing


def nodes(state: ClusterState, name: str = "mnist") -> list[str]:
    found = next(one for one in state.jobs if one.key.name == name)
    return [pod.node for part in found.roles for pod in part.status.pods if pod.node]


def settle(state: ClusterState, rounds: int = 40) -> tuple[ClusterState, list[Plan]]:
    plans: list[Plan] = []
    while not plans or not quiet(plans[-1]):
        assert len(plans) < rounds, plans[-1]
        plans.append(plan_for(state))
        state = act(state, plans[-1], after=timedelta(seconds=1), spreading=True)
    return state, plans


def test_a_restart_stays_in_its_domain_and_comes_back_to_it() -> None:
    mine = asking(in_one(), 2, 4, resizing=ResizePolicy.RESTART, on=["r1-a", "r1-b"])
    state, _ = settle(cluster(*racks(4, 2), mine))
    assert [name[:2] for name in nodes(state)] == ["r1"] * 4


def test_a_pod_that_is_made_again_stays_in_the_domain() -> None:
    """Its node is full, and the fullest node of all is in another rack."""
    part = role("worker", 3, 3, on=["r1-a", "r1-b"], gated=True, topology=in_one(), size=3)
    full = worker("full", 1, 1, on=["r1-a"])
    plan = plan_for(cluster(*racks(1, 2), full, started(part)))
    (found,) = plan.node_assignments
    assert isinstance(found, NodeAssignment)
    assert found.nodes == (("pod-2", "r1-b"),)


def started(part: Role) -> TrainingJob:
    waits = pod(2, gates=(PLACEMENT_GATE,), created_at=at(-1))
    return job("mnist", part.changed(pods=(*part.status.pods, waits)), started_at=at(-99))


@pytest.mark.parametrize(
    ("free", "pods", "expected"),
    [
        pytest.param((2, 3, 4), 4, ["r0"] * 4, id="one rack, the best fit"),
        pytest.param((1, 2, 3), 9, ["r1"] * 3 + ["r2"] * 6, id="two racks of one block last"),
        pytest.param((1, 2, 3), 7, ["r0"] + ["r2"] * 6, id="the rest in the best fit"),
    ],
)
def test_preferred_domains_are_few(free: tuple[float, ...], pods: int, expected: list[str]) -> None:
    assert where(plan_for(cluster(*racks(*free), asking(close(RACK), pods)))) == expected


def test_wider_domains_come_first() -> None:
    """Racks r0 and r2 have most room, and are of two blocks."""
    mine = asking(close(BLOCK, RACK), 7)
    assert where(plan_for(cluster(*racks(3, 1, 2, 2), mine))) == ["r0"] * 6 + ["r1"]


def test_neighbours_in_rank_are_neighbours_in_topology() -> None:
    found = where(plan_for(cluster(*racks(2, 2, 2, 2), asking(close(BLOCK, RACK), 16))))
    assert found == sorted(found)


def test_a_full_preferred_domain_keeps_no_job_from_starting() -> None:
    plain = node("plain", 4)
    plan = plan_for(cluster(*racks(1), plain, asking(close(RACK), 6)))
    assert len(where(plan)) == 6


def test_growth_prefers_the_domain_of_its_role() -> None:
    """The fullest node is in another rack."""
    mine = asking(close(RACK), 1, 2, on=["r1-a"])
    (resize,) = plan_for(cluster(*racks(1, 4), mine)).resizes
    assert resize.nodes == ("r1-a",)


def test_jobs_of_one_topology_and_another_are_told_apart_in_the_queue() -> None:
    """Where the one does not fit, the other, which asks for the same pods, still may."""
    held = job("held", role("worker", 3, 3, gated=True, topology=in_one()), queued=-9999)
    free = job("free", role("worker", 3, 3))
    plan = plan_for(cluster(*racks(1, 1), held, free))
    assert [one.job.name for one in plan.admissions] == ["free"]


def test_a_lower_priority_yields_in_its_domain_before_fewer_replicas_of_a_higher_one() -> None:
    low = worker("low", 1, 5, queued=-9999, on=["r0-a"] * 3 + ["r0-b"] * 2)
    high = worker("high", 1, 5, queued=-9999, priority=1, on=["r1-a"] * 3 + ["r1-b"])
    gang = replace(asking(in_one(), 4), priority=1)
    (resize,) = plan_for(cluster(*racks(3, 3), low, high, gang)).resizes
    assert (resize.job.name, resize.after) == ("low", 2)


LARGE_RACKS: Final[list[Node]] = [
    node(f"r{rack}-{name}", labels={RACK: f"r{rack}"}) for rack in range(3) for name in "abcdef"
]


def sweep(low: int, on: list[str], **fields: Any) -> TrainingJob:  # noqa: ANN401 - fields of a role
    """Interchangeable pods; the first ones, which are the oldest, are the minimum."""
    given = {"resizing": ResizePolicy.ITEMS, "indexed": False}
    return worker("sweep", low, 60, on=on, queued=-9999, **(given | fields))


def in_turn(*racks: int) -> list[str]:
    """A node of each of these racks in turn; 20 times."""
    return [f"r{rack}-{'abcdef'[turn % 6]}" for turn in range(20) for rack in racks]


@pytest.mark.parametrize("low", [3, 4, 12, 36])
@pytest.mark.parametrize("resizing", [ResizePolicy.ITEMS, ResizePolicy.RESTART])
def test_minimums_are_kept_in_other_domains_where_a_gang_fits_only_then(
    low: int, resizing: ResizePolicy
) -> None:
    """Each rack has some of the first replicas, and the gang needs all of a rack."""
    indexed = resizing is not ResizePolicy.ITEMS
    runs = sweep(low, in_turn(0, 1, 2), resizing=resizing, indexed=indexed)
    state, plans = settle(cluster(*LARGE_RACKS, runs, asking(in_one(), 24)))
    assert len({name[:2] for name in nodes(state)}) == 1
    assert sizes(plans[0]) == {"sweep": 40}


@pytest.mark.parametrize("topology", [in_one(), Topology(required=(("worker", RACK),))])
@pytest.mark.parametrize(("elsewhere", "most"), [(0, 20), (2, 22), (3, 23), (6, 24)])
def test_a_minimum_leaves_a_domain_as_far_as_its_role_runs_elsewhere(
    elsewhere: int, most: int, topology: Topology
) -> None:
    """The four oldest of 20 replicas run in a rack of 24 CPU; the other rack has room for none."""
    full = worker("full", 18, 18, on=in_turn(1)[:18])
    runs = sweep(4, in_turn(0) + in_turn(1)[:elsewhere])
    others: list[Node | TrainingJob] = [*LARGE_RACKS[:12], full, runs]
    state, _ = settle(cluster(*others, asking(topology, most)))
    assert {name[:2] for name in nodes(state)} == {"r0"}
    found = wait_reasons(plan_for(cluster(*others, asking(topology, most + 1))))["mnist"].about
    assert isinstance(found, Shortage)
    assert (found.fitting, [one.value for one in found.domains]) == (most, ["r0"])
