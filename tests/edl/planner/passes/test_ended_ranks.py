"""Elastic jobs of which ranks have ended: no size and no requeue takes the others' work."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.model import Code, Pod, PodPhase, Quota, QuotaCharge, Reason, TrainingJob
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from tests.edl.planner.plans import ALL, plan_for, sizes, started, wait_reasons
from tests.edl.planner.states import at, cluster, demand, node, pod, shape, worker

_GATED = pod(3, gates=("example.com/quota",), created_at=at(-5))
PREEMPT = Limits(load_ceiling=1, queue_patience=timedelta(hours=9), preempt=True)


def _queued(
    low: int = 1, over: tuple[int, ...] = (0,), replicas: int | None = None, **record: object
) -> TrainingJob:
    """Suspended at size 4."""
    given = {"finished_indexes": frozenset(over), "replicas": replicas, **record}
    return worker("mnist", low, 4, size=4, **given)


def _running(on: str, low: int = 1, created: float = -3600) -> TrainingJob:
    """One rank per letter: on node a, pending (p), ended (e) or ended and without its pod (-)."""
    pods = tuple(_pod(index, found, created) for index, found in enumerate(on) if found != "-")
    over = frozenset(index for index, found in enumerate(on) if found in "e-")
    given = {"pods": pods, "size": len(on), "finished_indexes": over, "started_at": at(-9000)}
    return worker("mnist", low, max(len(on), low + 1), suspended=False, **given)


def _pod(index: int, found: str, created: float) -> Pod:
    phase = {"phase": PodPhase.SUCCEEDED} if found == "e" else {}
    return pod(index, "" if found == "p" else "a", created_at=at(created), **phase)


@pytest.mark.parametrize(
    ("nodes", "low", "over", "size"),
    [(1, 1, (0,), 2), (1, 1, (0, 1), 3), (2, 2, (0, 2), 4), (1, 1, (3,), 1), (1, 1, (), 1)],
)
def test_a_job_starts_with_ranks_that_have_not_ended(
    nodes: int, low: int, over: tuple[int, ...], size: int
) -> None:
    assert started(plan_for(cluster(node("a", nodes), _queued(low, over)))) == {
        "mnist": {"worker": size}
    }


def test_a_start_needs_room_for_its_pods_alone() -> None:
    """Ranks 0 and 1 of four have ended: the min is 2 and 3."""
    plan = plan_for(cluster(node("a", 1), _queued(2, (0, 1))))
    assert not plan.admissions
    assert wait_reasons(plan)["mnist"].code is Code.NEVER_FITS


def test_a_job_that_has_started_grows_beside_its_ended_ranks() -> None:
    assert started(plan_for(cluster(node("a", 3), _queued(over=(0, 2))))) == {
        "mnist": {"worker": 4}
    }


@pytest.mark.parametrize(
    ("fields", "grown"),
    [
        ({"finished_indexes": frozenset({0})}, False),
        ({"finished_indexes": frozenset({0}), "failed_indexes": frozenset({0})}, True),
        ({"finished_indexes": frozenset({0}), "has_success_policy": True}, True),
        ({"finished_indexes": frozenset({0}), "is_service": True}, True),
        ({"pods": (pod(0, "a"), pod(1, "a", phase=PodPhase.SUCCEEDED))}, False),
        ({"pods": (pod(0, "a"), pod(1, "a", phase=PodPhase.SUCCEEDED, terminating=True))}, True),
        ({"pods": (pod(0, "a"), pod(1, "a"), pod(5, phase=PodPhase.SUCCEEDED))}, False),
        ({"finished_indexes": frozenset({0}), "replicas": 4}, False),
        ({"finished_indexes": frozenset({0}), "min": 3}, False),
    ],
)
def test_a_role_of_which_a_rank_has_succeeded_grows_no_further(
    fields: dict[str, Any], *, grown: bool
) -> None:
    """Each further rank would have to succeed as well, unless others decide how the Job ends."""
    given: dict[str, Any] = {"pods": (pod(0, "a"), pod(1, "a")), "size": 2} | fields
    mine = worker("mnist", given.pop("min", 1), 4, suspended=False, **given)
    for policy in POLICIES.values():
        plan = decide(cluster(node("a", 9), mine), policy, ALL)
        assert bool(plan.resizes) is grown
        assert grown or wait_reasons(plan) == {"mnist": reasons.PODS_SUCCEEDED}


@pytest.mark.parametrize(
    ("third", "fields", "why"),
    [
        ((), {"failures": 1}, reasons.missing(1, 4, timedelta(seconds=10), extras=True)),
        ((pod(3, "gone", terminating=True),), {}, reasons.PODS_MISSING),
        ((_GATED,), {}, reasons.PODS_GATED),
        ((pod(3, "a"),), {"delayed_until": at(60)}, reasons.PODS_SUCCEEDED),
        ((pod(3, "a"),), {"resized_at": at(-1)}, reasons.PODS_SUCCEEDED),
    ],
)
def test_pods_that_a_finishing_role_lacks_are_told_first(
    third: tuple[Pod, ...], fields: dict[str, Any], why: Reason
) -> None:
    given = {"size": 4, "finished_indexes": frozenset({0}), "started_at": at(-9000)} | fields
    pods = (pod(1, "a"), pod(2, "a"), *third)
    mine = worker("mnist", 2, 6, suspended=False, pods=pods, **given)
    for policy in POLICIES.values():
        plan = decide(cluster(node("a", 9), mine), policy, ALL)
        assert (plan.resizes, wait_reasons(plan)) == ((), {"mnist": why})


def test_a_job_of_which_a_rank_has_succeeded_returns_no_larger_than_it_was() -> None:
    mine = _queued(over=(0,)).roles[0].changed(max=9)
    plan = plan_for(cluster(node("a", 9), replace(_queued(), roles=(mine,))))
    assert started(plan) == {"mnist": {"worker": 4}}


def test_the_nodes_of_a_start_are_assigned_by_rank() -> None:
    """Rank 0 has ended and gets no pod."""
    there = [node("a", 1), node("b", 1)]
    (admission,) = plan_for(cluster(*there, _queued(2, gated=True))).admissions
    ((_, nodes),) = admission.nodes
    assert (dict(admission.sizes), sorted(nodes[1:])) == ({"worker": 3}, ["a", "b"])


def test_a_quota_counts_no_rank_that_has_ended() -> None:
    mine = _queued(over=(0, 1), charges=(QuotaCharge("tight", "pods", 1),))
    state = replace(cluster(node("a", 4), mine), quotas=(Quota("ns", "tight", "pods", 1),))
    assert started(plan_for(state)) == {"mnist": {"worker": 3}}


def test_a_restart_at_a_smaller_manual_size_keeps_a_rank_that_trains() -> None:
    mine = _queued(replicas=1, last=reasons.restart(reasons.MANUAL_SIZE), resized_at=at(-1))
    assert started(plan_for(cluster(node("a", 4), mine))) == {"mnist": {"worker": 2}}


def test_a_start_is_not_taken_back_for_ranks_that_get_no_pod() -> None:
    """Index 0 has ended, index 1 runs; the gang limit has passed long ago."""
    plan = plan_for(cluster(node("a", 2), _running("-a")))
    assert not plan.suspensions
    assert "mnist" not in wait_reasons(plan)


def test_a_pending_rank_is_an_extra_while_others_of_the_minimum_run() -> None:
    """The job is not requeued: rank 1 gets the room of rank 3."""
    plan = plan_for(cluster(node("a", 2), _running("epaa")))
    assert not plan.suspensions
    assert sizes(plan) == {"mnist": 3}


def test_a_pending_rank_stops_no_job_while_others_of_the_minimum_run() -> None:
    low = worker("low", 2, 2, on=["a"] * 2, priority=-1)
    plan = plan_for(cluster(node("a", 3), _running("epa", created=-1), low), PREEMPT)
    assert (plan.suspensions, plan.resizes) == ((), ())


def test_others_take_no_rank_that_runs_of_the_minimum() -> None:
    """Rank 1 is pending, and with it alone nothing would train."""
    taker = demand("nginx", shape(1), count=4)
    assert sizes(plan_for(cluster(node("a", 2), _running("epaa"), taker))) == {"mnist": 3}


@pytest.mark.parametrize(("on", "low"), [("ep", 1), ("eppa", 2), ("epap", 2)])
def test_a_job_is_requeued_for_a_pending_rank_that_its_minimum_needs(on: str, low: int) -> None:
    (stop,) = plan_for(cluster(node("a", 1), _running(on, low))).suspensions
    assert stop.job.name == "mnist"
