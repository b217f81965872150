"""New ungated pods leave gated ones the nodes that rules between pods have left for these."""

from datetime import timedelta
from typing import Any, Final

import pytest

from edl import reasons
from edl.model import (
    ClusterState,
    Node,
    PodAffinityTerm,
    PodConstraints,
    Requirement,
    Selector,
    TrainingJob,
)
from tests.edl.planner.acting import act, key, quiet
from tests.edl.planner.plans import ALL, plan_for, sizes, started, wait_reasons
from tests.edl.planner.states import cluster, node, shape, worker

HOST: Final = "kubernetes.io/hostname"
TERM = PodAffinityTerm(HOST, Selector(("ns",), (Requirement("app", "In", ("gang",)),)))
APART = PodConstraints("ns", (("app", "gang"),), anti_affinity=(TERM,))


def hosts(*cores: float) -> list[Node]:
    names = [f"n{number}" for number in range(1, len(cores) + 1)]
    return [node(name, cpu, labels={HOST: name}) for name, cpu in zip(names, cores, strict=True)]


def gang(count: int = 3, **fields: Any) -> TrainingJob:  # noqa: ANN401 - of its worker
    """One gated pod of 1 CPU per node."""
    given = {"shape": shape(1, constraints=APART), "gated": True, "queued": -100}
    return worker("gang", count, count, **(given | fields))


def grows(high: int = 4) -> TrainingJob:
    return worker("grows", 1, high, on=["n1"])


def lived(state: ClusterState, rounds: int, *, spreading: bool) -> tuple[ClusterState, int]:
    """The state after these rounds, and how often a job was stopped meanwhile."""
    stopped = 0
    for _ in range(rounds):
        plan = plan_for(state, ALL)
        stopped += len(plan.suspensions)
        state = act(state, plan, after=timedelta(seconds=10), spreading=spreading)
    return state, stopped


@pytest.mark.parametrize("spreading", [False, True])
def test_growth_takes_no_node_that_a_gated_pod_alone_may_use(*, spreading: bool) -> None:
    """By amounts node n3 has room for all; by the rule it runs only one of them."""
    state = cluster(*hosts(2, 1, 4), grows(), gang())
    plan = plan_for(state, ALL)
    assert (list(started(plan)), sizes(plan)) == (["gang"], {})
    assert wait_reasons(plan)["grows"] == reasons.placed_after([key("gang")])
    settled, stopped = lived(state, 5, spreading=spreading)
    nodes = {job.key.name: [pod.node for pod in job.roles[0].status.pods] for job in settled.jobs}
    assert (stopped, nodes["gang"], len(nodes["grows"])) == (0, ["n1", "n2", "n3"], 4)
    assert quiet(plan_for(settled, ALL))


def test_a_start_takes_no_node_that_a_gated_pod_alone_may_use() -> None:
    two = worker("two", 2, 2, queued=-90)
    plan = plan_for(cluster(*hosts(1, 1, 4), two, gang()), ALL)
    assert (list(started(plan)), wait_reasons(plan)) == (
        ["gang"],
        {"two": reasons.placed_after([key("gang")])},
    )


def test_growth_goes_on_beside_gated_pods_whose_nodes_have_room_for_all() -> None:
    plan = plan_for(cluster(*hosts(5, 4, 4), grows(), gang()), ALL)
    assert (list(started(plan)), sizes(plan)) == (["gang"], {"grows": 4})


def test_growth_goes_on_where_the_rule_leaves_gated_pods_other_nodes() -> None:
    """Three new pods may take three nodes, of as many others or of two."""
    plan = plan_for(cluster(*hosts(2, 1, 1, 1, 1, 1), grows(4), gang(2)), ALL)
    assert (list(started(plan)), sizes(plan)) == (["gang"], {"grows": 4})
    fewer = plan_for(cluster(*hosts(2, 1, 1, 3), grows(4), gang(2)), ALL)
    assert (list(started(fewer)), sizes(fewer)) == (["gang"], {})


def test_growth_of_pods_that_the_rule_excludes_waits_although_there_is_room() -> None:
    """The scheduler may bind the new pod beside none of the gang, but before it to any node."""
    labels = shape(1, constraints=PodConstraints("ns", (("app", "gang"),)))
    excluded = worker("excluded", 1, 2, shape=labels, on=["n4"])
    plan = plan_for(cluster(*hosts(4, 4, 4, 2), excluded, gang()), ALL)
    assert (list(started(plan)), sizes(plan)) == (["gang"], {})


def test_growth_leaves_pods_of_two_gated_classes_what_both_need() -> None:
    """Each class by itself has room for one more on n1, but they share it."""
    small = worker("small", 2, 2, shape=shape(1, "1Gi"), gated=True, queued=-100)
    other = worker("other", 2, 2, shape=shape(1, "2Gi"), gated=True, queued=-99)
    only = [node("n1", 5), node("n2", 2, memory="0")]
    state = cluster(*only, worker("grows", 1, 2, on=["n1"]), small, other)
    plan = plan_for(state, ALL)
    assert (list(started(plan)), sizes(plan)) == (["small", "other"], {})
