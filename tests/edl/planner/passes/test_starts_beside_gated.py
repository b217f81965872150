"""Ungated starts wait for gated ones only where their pods could take the nodes of these.

Nor for ever: gated jobs that keep coming wait for a start before them that has waited for long.
"""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.model import ClusterState, ForeignPods, HostPort, Pod, PodConstraints, TrainingJob
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from tests.edl.planner.acting import act, key
from tests.edl.planner.plans import plan_for, started, wait_reasons
from tests.edl.planner.states import at, cluster, job, node, pod, role, shape, worker

LIMITS = Limits(load_ceiling=1)
PORT = PodConstraints("ns", (), ports=(HostPort("TCP", 80, "10.0.0.1"),))


def gated(name: str = "gpu", count: int = 2, **fields: Any) -> TrainingJob:  # noqa: ANN401 - of its workers
    """A job of GPU pods with 1 CPU each, whose nodes the plan chooses."""
    given = {"shape": shape(1, gpu=1), "gated": True, "queued": -20}
    return worker(name, count, count, **(given | fields))


def large(**fields: Any) -> TrainingJob:  # noqa: ANN401 - of its worker
    """One pod of 4 CPU, whose node kube-scheduler chooses."""
    return worker("large", 1, 1, **({"shape": shape(4), "queued": -30} | fields))


def contested(*jobs: TrainingJob) -> ClusterState:
    """The large pod fits either node; on b it takes the CPU of gated pods."""
    return cluster(node("a", 4), node("b", 4, gpu=4), *jobs)


def decided(state: ClusterState) -> Plan:
    return plan_for(state, LIMITS)


def test_a_start_does_not_wait_for_gated_pods_on_a_node_that_is_too_small_for_it() -> None:
    plan = plan_for(cluster(node("a", 4), node("b", 3, gpu=3), large(), gated()))
    assert list(started(plan)) == ["large", "gpu"]


def test_a_start_waits_for_gated_pods_on_a_node_that_it_could_take() -> None:
    plan = plan_for(contested(large(), gated()))
    assert list(started(plan)) == ["gpu"]
    assert wait_reasons(plan)["large"] == reasons.placed_after([key("gpu")])


def test_a_start_does_not_wait_for_gated_pods_on_a_node_where_its_port_is_used() -> None:
    state = contested(large(shape=shape(4, constraints=PORT)), gated())
    state = replace(state, foreign_pods=(ForeignPods("b", PORT, 1),))
    assert list(started(plan_for(state))) == ["large", "gpu"]


def test_a_start_does_not_wait_for_a_claim_on_a_node_that_is_too_small_for_it() -> None:
    """A pod that terminates holds the capacity of the claim."""
    old = worker("old", 1, 3, on=["b"], shape=shape(1, gpu=1))
    (part,) = old.roles
    leaving = (*part.status.pods, pod(1, "b", terminating=True))
    old = replace(old, roles=(part.changed(pods=leaving),))
    head = gated("head", priority=1, queued=-250)
    nodes = node("a", 4), node("b", 3, gpu=3)
    plan = plan_for(cluster(*nodes, old, head, large()), Limits(load_ceiling=1, preempt=True))
    assert list(started(plan)) == ["large"]


def test_a_start_does_not_wait_where_gated_pods_fit_on_other_nodes_that_it_cannot_take() -> None:
    nodes = node("a", 4), node("b", 3, gpu=3), node("c", 4, gpu=1)
    assert list(started(plan_for(cluster(*nodes, large(), gated())))) == ["large", "gpu"]
    assert list(started(plan_for(cluster(*nodes, large(), gated(count=4))))) == ["gpu"]


def test_a_gated_start_waits_for_one_before_it_that_has_waited_for_long() -> None:
    state = contested(large(queued=-300), gated())
    plan = decided(state)
    assert list(started(plan)) == ["large"]
    assert wait_reasons(plan)["gpu"] == reasons.placed_after([key("large")])
    plan = decided(act(state, plan, after=timedelta(seconds=1)))
    assert (list(started(plan)), wait_reasons(plan)) == (["gpu"], {})


def test_a_gated_start_with_a_role_of_no_pods_waits_as_well() -> None:
    roles = role("worker", 2, 2, shape=shape(1, gpu=1)), role("ps", 0, 0, shape=shape(0.5))
    plan = decided(contested(large(queued=-300), job("gpu", *roles, queued=-20)))
    assert wait_reasons(plan)["gpu"] == reasons.placed_after([key("large")])


@pytest.mark.parametrize("earlier", [{"queued": -301}, {"priority": 1}])
def test_a_start_that_has_waited_for_long_waits_for_gated_ones_before_it(
    earlier: dict[str, Any],
) -> None:
    state = contested(large(queued=-300), gated(**earlier))
    assert list(started(decided(state))) == ["gpu"]


def test_a_gated_start_waits_where_one_before_it_waits_for_pods_under_way() -> None:
    begun = decided(contested(gated("first", queued=-1)))
    state = act(contested(gated("first", queued=-1)), begun, after=timedelta(seconds=1))
    state = replace(state, jobs=(*state.jobs, large(queued=-300), gated("second")))
    plan = decided(state)
    assert not started(plan)
    assert wait_reasons(plan)["large"] == reasons.placed_after([key("first")])
    assert wait_reasons(plan)["second"] == reasons.placed_after([key("large")])


def test_growth_leaves_the_nodes_of_a_gated_start_that_waits() -> None:
    grows = worker("grows", 1, 9, on=["b"])
    plan = decided(cluster(node("a", 4), node("b", 5, gpu=4), large(queued=-300), gated(), grows))
    assert (list(started(plan)), plan.resizes) == (["large"], ())


def test_gated_jobs_that_keep_coming_delay_a_start_before_them_by_five_minutes_at_most() -> None:
    """Every 2 s one of them starts, and soon ends. The large pod fits on the other node."""
    running: list[TrainingJob] = [large(queued=0)]
    for second in range(0, 400, 2):
        came = gated(f"gpu-{second:03}", queued=second)
        state = replace(contested(*running, came), observed_at=at(second))
        plan = decided(state)
        if "large" in started(plan):
            break
        state = act(state, plan, after=timedelta())
        running = [one for one in state.jobs if not any(pod.node for pod in pods(one))]
    assert second == 302


def pods(one: TrainingJob) -> tuple[Pod, ...]:
    return one.roles[0].status.pods
