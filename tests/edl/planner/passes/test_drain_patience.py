"""A budget of pods that stay on a cordoned node blocks its drain for a limited time."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from edl.model import Node, ResizePolicy, Taint, TrainingJob
from edl.model.nodes import CORDONED
from edl.planner.passes.staying_pods import overdue_nodes, staying_anyway
from edl.planner.plan import Plan, StayingPods
from edl.planner.snapshot.decision_clock import DecisionClock
from tests.edl.planner.plans import ALL, plan_for
from tests.edl.planner.states import at, cluster, job, node, role
from tests.reasons import invalid

CORDON = Taint(CORDONED, "", "NoSchedule")
PATIENCE = timedelta(minutes=10)
LIMITS = replace(ALL, drain_patience=PATIENCE)
RESTARTS = job("ring", role("worker", 2, 2, on=["a", "b"], resizing=ResizePolicy.RESTART))
LIVE = role("worker", 1, 2, on=["a", "b"], resizing=ResizePolicy.LIVE)
MOVES = job("live", LIVE, framework="pytorch")


def cordoned(seconds: float | None) -> Node:
    since = None if seconds is None else at(-seconds)
    return node("a", 9, taints=(CORDON,), cordoned=True, cordoned_since=since)


def plan(seconds: float | None, mine: TrainingJob = RESTARTS) -> Plan:
    return plan_for(cluster(cordoned(seconds), node("b", 1), mine), LIMITS)


def staying(seconds: float | None, mine: TrainingJob = RESTARTS) -> StayingPods:
    (found,) = plan(seconds, mine).staying
    return found


@pytest.mark.parametrize(("seconds", "evictable"), [(599, 0), (600, 1), (None, 0)])
def test_a_budget_is_lifted_once_its_node_is_cordoned_for_the_patience(
    seconds: float | None, evictable: int
) -> None:
    found = staying(seconds)
    assert (found.evictable, found.unprotected) == (evictable, bool(evictable))
    assert found.blocks_drain is not found.unprotected


def test_without_a_patience_no_budget_is_lifted() -> None:
    (found,) = plan_for(cluster(cordoned(9999), node("b", 1), RESTARTS)).staying
    assert found.blocks_drain
    assert not found.unprotected


def test_the_plan_is_made_again_when_the_patience_ends() -> None:
    assert plan(599).recheck_after == timedelta(seconds=1)


def test_a_job_whose_pods_move_by_themselves_keeps_its_budget() -> None:
    state = cluster(cordoned(9999), node("b", 9), MOVES)
    assert plan_for(state, LIMITS).staying == ()


def test_a_job_that_is_left_alone_keeps_its_budget() -> None:
    found = staying(9999, replace(RESTARTS, problem=invalid("edl.dev/max: must be a number")))
    assert found.blocks_drain
    assert not found.unprotected


@pytest.mark.parametrize("seconds", [599, 600])
def test_status_says_of_one_job_what_the_plan_says(seconds: float) -> None:
    nodes = [cordoned(seconds), node("b", 1)]
    overdue = overdue_nodes(nodes, PATIENCE, DecisionClock(at(0)))
    assert staying_anyway(RESTARTS, nodes, overdue) == ((staying(seconds),), True)
