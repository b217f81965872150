"""Rules between pods decide which gangs help a preemptor; one that does not is passed over."""

from typing import Any

import pytest
from msgspec.structs import replace

from edl.model import (
    ClusterState,
    Node,
    PodAffinityTerm,
    PodConstraints,
    Requirement,
    Selector,
    TrainingJob,
)
from edl.planner.passes.preemption import preemption
from tests.edl.planner.plans import ALL, plan_for, told
from tests.edl.planner.states import cluster, demand, node, shape, worker

PREEMPT = replace(ALL, preempt=True)
HOST = "kubernetes.io/hostname"
TERM = PodAffinityTerm(HOST, Selector(("ns",), (Requirement("app", "In", ("x",)),)))
X = shape(1, constraints=PodConstraints("ns", (("app", "x"),)))
BESIDE = PodConstraints("ns", (("app", "p"),), affinity=(TERM,))
APART = PodConstraints("ns", (("app", "p"),), anti_affinity=(TERM,))


def host(name: str, cpu: float) -> Node:
    return node(name, cpu, labels={HOST: name})


def fixed(name: str, count: int, **fields: Any) -> TrainingJob:  # noqa: ANN401 - a builder's fields
    return worker(name, count, count, **fields)


def suspended(state: ClusterState) -> list[str]:
    return [found.job.name for found in plan_for(state, PREEMPT).suspensions]


def repelling() -> ClusterState:
    """The youngest gang is on a node from which a pod of a higher priority repels others."""
    stays = fixed("stays", 1, on=["n1"], shape=X, priority=20)
    young = fixed("young", 2, on=["n1"] * 2, queued=-100)
    old = fixed("old", 2, on=["n2"] * 2, queued=-900)
    return cluster(host("n1", 3), host("n2", 2), stays, young, old)


def test_a_gang_is_passed_over_whose_node_a_rule_denies_to_the_preemptor() -> None:
    high = fixed("high", 1, shape=shape(2, constraints=APART), priority=10)
    state = repelling()
    assert suspended(replace(state, jobs=(*state.jobs, high))) == ["old"]


def test_other_owners_pods_pass_over_such_a_gang_too_and_take_what_one_of_them_needs() -> None:
    high = demand("high", shape(2, constraints=APART), 2, priority=10)
    assert suspended(replace(repelling(), demands=(high,))) == ["old"]


def test_a_gang_stays_beside_which_the_preemptor_must_run() -> None:
    needed = fixed("needed", 1, on=["n1"], shape=X, queued=-100)
    other = fixed("other", 2, on=["n1"] * 2, queued=-900)
    high = fixed("high", 1, shape=shape(1, constraints=BESIDE), priority=10)
    state = cluster(host("n1", 3), host("n2", 2), needed, other, high)
    assert suspended(state) == ["other"]


def test_no_gang_is_preempted_where_the_rules_exclude_all_nodes() -> None:
    stays = fixed("stays", 2, on=["n1", "n2"], shape=X, priority=20)
    low = fixed("low", 2, on=["n1", "n2"])
    high = fixed("high", 1, shape=shape(1, constraints=APART), priority=10)
    plan = plan_for(cluster(host("n1", 2), host("n2", 2), stays, low, high), PREEMPT)
    assert plan.suspensions == ()
    assert told(plan)["high"].startswith("Insufficient cpu")


@pytest.mark.parametrize(("most", "gangs"), [(100_000, ["old"]), (3, [])])
def test_the_work_for_claims_that_never_fit_is_bounded(
    monkeypatch: pytest.MonkeyPatch, most: int, gangs: list[str]
) -> None:
    """Each such claim looks at all gangs that it may preempt: here at two of two pods."""
    monkeypatch.setattr(preemption, "_MAX_VAIN_SEARCHES", most)
    never = fixed("never", 3, shape=shape(1, constraints=APART), priority=11, queued=-60)
    high = fixed("high", 1, shape=shape(2, constraints=APART), priority=10, queued=-60)
    state = repelling()
    assert suspended(replace(state, jobs=(*state.jobs, never, high))) == gangs
