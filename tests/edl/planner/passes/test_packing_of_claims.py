"""Claims of several roles: the nodes of all pods are chosen together."""

from msgspec.structs import replace

from edl.model import (
    Code,
    PodConstraints,
    Requirement,
    Selector,
    Teams,
    TopologySpread,
    TrainingJob,
)
from tests.edl.planner import teams
from tests.edl.planner.acting import act
from tests.edl.planner.plans import plan_for, sizes, started, wait_reasons
from tests.edl.planner.states import cluster, job, node, role, shape, worker
from tests.edl.planner.ways import wait

NODES = (node("a", 3), node("b", 3))
RUNS = worker("runs", 1, 2, on=["b", "a"], queued=-900)


def _asks(**fields: object) -> TrainingJob:
    parts = (role("ps", 1, 1, shape=shape(3)), role("worker", 1, 1, shape=shape(2)))
    return job("asks", *parts, queued=-400, **fields)


def test_a_role_does_not_take_the_only_node_that_another_fits_without_an_extra() -> None:
    state = cluster(*NODES, RUNS, _asks())
    plan = plan_for(state)
    assert sizes(plan) == {"runs": 1}
    assert started(plan_for(act(state, plan, after=wait(plan)))) == {"asks": {"ps": 1, "worker": 1}}


def test_an_extra_of_a_higher_priority_stays() -> None:
    above = worker("runs", 1, 2, on=["b", "a"], queued=-900, priority=1)
    assert not sizes(plan_for(cluster(*NODES, above, _asks())))


def test_a_borrower_returns_the_only_node_that_a_role_fits() -> None:
    (borrower,), (owner,) = teams.of("borrower", RUNS), teams.of("owner", _asks())
    given = Teams.of([teams.team("owner", 5), teams.team("borrower")])
    names = {"owner": "owner", "borrower": "borrower"}
    state = replace(cluster(*NODES, borrower, owner), teams=given, namespace_teams=names)
    assert sizes(plan_for(state)) == {"runs": 1}


def test_only_the_extra_in_the_way_yields() -> None:
    beside = worker("beside", 1, 3, on=["c", "c", "c"], queued=-900)
    state = cluster(*NODES, node("c", 3), RUNS, beside, _asks())
    assert sizes(plan_for(state)) == {"runs": 1}


def test_a_gang_starts_on_idle_nodes_that_only_its_claim_has_found() -> None:
    """The fullest nodes first are other ones without the extras, and no order fits with them."""
    nodes = [node(f"n{n}", cpus) for n, cpus in enumerate((6, 8, 7, 5))]
    runs = worker("runs", 1, 9, on=["n2", "n2", "n3"], queued=-900)
    pods = (("ps", 3, 3), ("worker", 1, 1), ("chief", 3, 4))
    asks = job("asks", *(role(name, n, n, shape=shape(cpus)) for name, n, cpus in pods))
    plan = plan_for(cluster(*nodes, runs, asks))
    assert "asks" in started(plan)
    assert "runs" not in sizes(plan)


def test_a_gang_that_cannot_start_on_its_claimed_nodes_keeps_them() -> None:
    """What an extra leaves to `first` beyond its need becomes idle only with the extra's end."""
    runs = worker("runs", 1, 2, on=["b", "a"], shape=shape(4), queued=-900)
    first = worker("first", 1, 1, queued=-800, priority=1)
    asks = job("asks", role("ps", 1, 1), role("worker", 1, 1), queued=-400)
    behind = worker("behind", 1, 1, shape=shape(2), queued=-1)
    plan = plan_for(cluster(node("a", 4), node("b", 4), runs, first, asks, behind))
    assert sizes(plan) == {"runs": 1}
    codes = {name: reason.code for name, reason in wait_reasons(plan).items()}
    assert codes["asks"] is Code.PODS_TERMINATING
    assert codes["behind"] is Code.INSUFFICIENT_CAPACITY


def test_extras_that_a_spread_constraint_counts_yield_and_do_not_come_back() -> None:
    """By amounts alone, the workers fit beside the extras."""
    zones = {"n0": "a", "n1": "a", "n2": "b", "n3": "b"}
    nodes = [
        node(name, cpus, labels={"zone": zones[name]})
        for name, cpus in (("n0", 7), ("n1", 7), ("n2", 6), ("n3", 3))
    ]
    beside = Selector(("ns",), (Requirement("app", "In", ("g",)),))
    spread = PodConstraints("ns", (("app", "x"),), spread=(TopologySpread("zone", beside, 1),))
    counted = PodConstraints("ns", (("app", "g"),))
    on = ["n1", "n0", "n1", "n1", "n0"]
    runs = worker("runs", 1, 20, on=on, shape=shape(constraints=counted), queued=-900)
    parts = (role("ps", 1, 1), role("worker", 2, 2, shape=shape(4, constraints=spread)))
    state = cluster(*nodes, runs, job("asks", *parts, queued=-400))
    plan = plan_for(state)
    assert sizes(plan) == {"runs": 1}
    assert "asks" in started(plan_for(act(state, plan, after=wait(plan))))
