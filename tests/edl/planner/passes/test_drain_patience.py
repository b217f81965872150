"""A budget of pods that stay on a cordoned node blocks its drain for a limited time."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl.messages import message
from edl.model import Node, NodeStateTimes, Pod, ResizePolicy, Taint, TrainingJob
from edl.model.nodes import CORDONED
from edl.model.pods import ContainerWait
from edl.planner.passes.staying_pods import Cordons, staying_anyway
from edl.planner.plan import Plan, StayingPods
from edl.planner.snapshot.decision_clock import DecisionClock
from tests.edl.planner.plans import ALL, plan_for
from tests.edl.planner.states import at, cluster, job, node, pod, role
from tests.reasons import invalid
from tests.roles import changed_pod

CORDON = Taint(CORDONED, "", "NoSchedule")
SPOT = Taint("ToBeDeletedByClusterAutoscaler", "", "NoSchedule")
PATIENCE = timedelta(minutes=10)
LIMITS = replace(ALL, drain_patience=PATIENCE)
RESTARTS = job("ring", role("worker", 2, 2, on=["a", "b"], resizing=ResizePolicy.RESTART))
LIVE = role("worker", 1, 2, on=["a", "b"], resizing=ResizePolicy.LIVE)
MOVES = job("live", LIVE, framework="pytorch")


def cordoned(seconds: float | None) -> Node:
    since = None if seconds is None else at(-seconds)
    return node("a", 9, taints=(CORDON,), cordoned=True, since=NodeStateTimes(cordoned=since))


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


def test_the_order_of_pods_in_the_state_does_not_matter() -> None:
    mine = job("ring", role("worker", 2, 2, on=["a", "a"], resizing=ResizePolicy.RESTART))
    (worker,) = mine.roles
    status = replace(worker.status, pods=worker.status.pods[::-1])
    turned = replace(mine, roles=(replace(worker, status=status),))
    assert staying(0, turned) == staying(0, mine)


def test_the_plan_is_made_again_when_the_patience_ends() -> None:
    assert plan(599).recheck_after == timedelta(seconds=1)


def test_a_job_whose_pods_move_by_themselves_keeps_its_budget() -> None:
    state = cluster(cordoned(9999), node("b", 9), MOVES)
    assert plan_for(state, LIMITS).staying == ()


def test_a_job_that_is_left_alone_keeps_its_budget() -> None:
    found = staying(9999, replace(RESTARTS, problem=invalid("edl.dev/max: must be a number")))
    assert found.blocks_drain
    assert not found.unprotected


FULL = (
    node("a", 2, taints=(CORDON,), cordoned=True, since=NodeStateTimes(cordoned=at(-600))),
    node("b", 2),
)
ROOM, REMOVED = node("c", 9), node("c", 0, taints=(SPOT,))
THERE = (pod(0, "a"), pod(1, "a"), pod(2, "b"), pod(3, "b"))
CRASHES = (*THERE[:3], pod(3, "b", ready=False))


def live(*pods: Pod) -> TrainingJob:
    on = ["a", "a", "b", "b"]
    workers = role("worker", 4, 5, on=on, resizing=ResizePolicy.LIVE, pods=pods)
    return job("live", workers, framework="pytorch")


@pytest.mark.parametrize(
    ("pods", "others", "stay"),
    [
        (THERE, (), ("pod-0", "pod-1")),
        ((pod(0, "a", terminating=True), *THERE[1:]), (), ("pod-1",)),
        ((pod(0, "", created_at=at(-2)), *THERE[1:]), (), ("pod-1",)),
        (CRASHES, (), ("pod-0", "pod-1")),
        (CRASHES, (ROOM,), ("pod-0", "pod-1")),
        (THERE, (REMOVED,), ("pod-0", "pod-1")),
    ],
    ids=[
        "all are ready",
        "one is evicted",
        "an evicted one waits for room",
        "another one never gets ready",
        "another one never gets ready, and there is room",
        "another node is about to be removed",
    ],
)
def test_workers_that_a_plan_does_not_move_lose_their_budget(
    pods: tuple[Pod, ...], others: tuple[Node, ...], stay: tuple[str, ...]
) -> None:
    found = plan_for(cluster(*FULL, *others, live(*pods)), LIMITS)
    (lifted,) = found.staying
    assert (lifted.unprotected, lifted.evictable) == (True, len(stay))
    assert lifted.pods == tuple((name, "a") for name in stay)
    assert not found.drains


CRASH = ContainerWait("main", "CrashLoopBackOff")
UNREADY = "pod-3 is not ready"
LOST = "1 of 4 pods is missing: the Job controller creates it again after its back-off, up to 160 s"


@pytest.mark.parametrize(
    ("last", "failures", "why"),
    [
        (pod(3, "b", ready=False, created_at=at(-119)), 0, None),
        (pod(3, "b", ready=False, created_at=at(-120)), 0, UNREADY),
        (pod(3, "b", ready=False, created_at=at(-9), waits=CRASH), 0, UNREADY),
        (pod(3, "b", terminating=True), 0, None),
        (None, 4, None),
        (None, 5, LOST),
    ],
    ids=["starts", "is late", "crash-loops", "ends", "was lost", "backs off"],
)
def test_workers_that_wait_for_another_one_stay_with_the_reason(
    last: Pod | None, failures: int, why: str | None
) -> None:
    mine = live(*THERE[:3], *((last,) if last else ()))
    mine = replace(mine, roles=(mine.roles[0].changed(failures=failures),))
    found = plan_for(cluster(*FULL, ROOM, mine)).staying
    stay = (("pod-0", "a"), ("pod-1", "a"))
    said = [(one.pods, one.evictable, one.reason and message(one.reason)) for one in found]
    assert said == ([(stay, 0, why)] if why else [])


def test_the_plan_is_made_again_when_another_worker_should_be_ready() -> None:
    mine = live(*THERE[:3], pod(3, "b", ready=False, created_at=at(-100)))
    assert plan_for(cluster(*FULL, ROOM, mine)).recheck_after == timedelta(seconds=20)


def test_the_budget_returns_once_no_worker_of_the_minimum_is_left_on_the_node() -> None:
    mine = live(pod(0, "b"), pod(1, "b"), pod(2, "b"), pod(3, "b", ready=False), pod(4, "a"))
    assert plan_for(cluster(FULL[0], node("b", 4), mine), LIMITS).staying == ()


def test_the_budget_stays_away_when_the_node_itself_is_about_to_be_removed() -> None:
    removed = replace(cordoned(600), taints=(CORDON, SPOT))
    (found,) = plan_for(cluster(removed, node("b", 1), RESTARTS), LIMITS).staying
    assert found.unprotected


def items(*pods: Pod, least: int = 4) -> TrainingJob:
    on = ["a"] * least
    workers = role("worker", least, least, on=on, indexed=False, pods=pods)
    return job("items", workers.changed(resizing=ResizePolicy.ITEMS), framework="none")


def unranked(number: int, **fields: Any) -> Pod:  # noqa: ANN401
    return changed_pod(pod(number, "a"), index=-1, **fields)


ITEMS = tuple(unranked(number) for number in range(3))


@pytest.mark.parametrize(
    ("last", "unprotected"),
    [
        (unranked(3), False),
        (unranked(3, terminating=True), False),
        (unranked(3, ready=False, created_at=at(-599)), False),
        (unranked(3, ready=False, created_at=at(-600)), True),
    ],
    ids=["ready", "evicted", "starts", "never gets ready"],
)
def test_work_items_lose_their_budget_only_if_it_lets_none_go(
    last: Pod, *, unprotected: bool
) -> None:
    assert staying(9999, items(*ITEMS, last)).unprotected is unprotected


def test_the_plan_is_made_again_when_a_new_work_item_should_be_ready() -> None:
    starts = unranked(3, ready=False, created_at=at(-598))
    assert plan(9999, items(*ITEMS, starts)).recheck_after == timedelta(seconds=2)


@pytest.mark.parametrize("seconds", [599, 600])
@pytest.mark.parametrize("mine", [RESTARTS, items(*ITEMS, unranked(3, ready=False))])
def test_status_says_of_one_job_what_the_plan_says(seconds: float, mine: TrainingJob) -> None:
    cordons = Cordons.of([cordoned(seconds), node("b", 1)], PATIENCE, DecisionClock(at(0)))
    assert staying_anyway(mine, cordons) == ((staying(seconds, mine),), True)
