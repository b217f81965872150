"""Growth before a long rest waits for the capacity that terminating pods still hold."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.model import ClusterState, JobKey, ResizePolicy, TrainingJob
from edl.planner.decide import run_passes
from edl.planner.decision_limits import Limits
from edl.planner.growth_waits import GrowthWaits
from edl.planner.plan import Plan
from edl.planner.plan_builder import build_plan
from edl.planner.policies import POLICIES
from tests.edl.planner.plans import plan_for, sizes, told, wait_reasons
from tests.edl.planner.states import at, cluster, job, node, pod, role, worker

LIMITS = Limits(load_ceiling=1)
PATIENCE = LIMITS.queue_patience
TWENTY = timedelta(seconds=20)


def torch(low: int = 1, **fields: Any) -> TrainingJob:  # noqa: ANN401
    """Under torchrun, whose cooldown is 60 s."""
    given = role("worker", low, 9, **({"on": ["a"] * 2} | fields))
    return job("mine", given, framework="pytorch", mode="elastic")


def slow(**fields: Any) -> TrainingJob:  # noqa: ANN401
    return worker("mine", 1, 9, on=["a"] * 2, **fields)


def restarting(low: int = 1, **fields: Any) -> TrainingJob:  # noqa: ANN401
    return worker("mine", low, 9, on=["a"] * 2, resizing=ResizePolicy.RESTART, **fields)


def beside_leaving(*jobs: TrainingJob, idle: int = 1, leaving: int = 2) -> ClusterState:
    """A node with `idle` CPU, and with `leaving` CPU that terminating pods hold."""
    pods = tuple(pod(index, "a", terminating=True) for index in range(leaving))
    gone = job("gone", role("worker", 1, 9, suspended=True, pods=pods), paused=True)
    used = sum(len(one.status.pods) for found in (*jobs, gone) for one in found.roles)
    return cluster(node("a", used + idle), *jobs, gone)


def planned(*jobs: TrainingJob, **room: int) -> Plan:
    return plan_for(beside_leaving(*jobs, **room), LIMITS)


@pytest.mark.parametrize(
    ("build", "fields", "longest"),
    [
        (torch, {}, timedelta(seconds=60)),
        (slow, {"cooldown": TWENTY}, TWENTY),
        (slow, {"cooldown": timedelta(days=1)}, PATIENCE),
        (restarting, {}, PATIENCE),
        (restarting, {"cooldown": TWENTY}, TWENTY),
    ],
)
def test_growth_before_a_long_rest_waits_as_a_whole_for_as_long_as_it_would_rest(
    build: Any,  # noqa: ANN401
    fields: dict[str, Any],
    longest: timedelta,
) -> None:
    """No longer, as in a large cluster some pod is always terminating."""
    plan = planned(build(**fields))
    assert (sizes(plan), wait_reasons(plan)["mine"]) == ({}, reasons.leaving(3))
    assert told(plan)["mine"] == "3 pods wait for others to terminate"
    assert plan.growth_waits == ((JobKey("ns", "mine"), "worker"),)
    assert plan.recheck_after == longest
    second = timedelta(seconds=1)
    later = planned(build(**fields, growth_awaited_since=at(0) - longest + second))
    assert (sizes(later), later.recheck_after) == ({}, second)
    last = planned(build(**fields, growth_awaited_since=at(0) - longest))
    assert (sizes(last), last.growth_waits) == ({"mine": 3}, ())


def test_a_plan_for_which_growth_waits_leaves_its_decision_as_it_is() -> None:
    decision = run_passes(beside_leaving(restarting()), POLICIES["fair"], LIMITS)
    before = [*decision.snapshot.clock.rechecks]
    assert build_plan(decision) == planned(restarting()) == build_plan(decision)
    assert decision.snapshot.clock.rechecks == before
    assert decision.why_waits(JobKey("ns", "mine")) is None


@pytest.mark.parametrize("build", [torch, restarting])
def test_growth_waits_for_no_pod_whose_capacity_it_cannot_use(build: Any) -> None:  # noqa: ANN401
    assert sizes(planned(build(), idle=7)) == {"mine": 9}
    assert sizes(planned(build(), idle=3, leaving=0)) == {"mine": 5}
    plan = planned(build(), idle=0)
    assert (sizes(plan), plan.growth_waits) == ({}, ())


@pytest.mark.parametrize(
    ("mine", "size"),
    [
        (slow(), 3),
        (slow(cooldown=timedelta(seconds=10)), 3),
        (torch(replicas=5), 3),
        (torch(low=3), 3),
        (torch(low=5), 3),
        (restarting(low=3), 3),
    ],
)
def test_growth_before_a_short_rest_to_a_manual_size_or_a_minimum_does_not_wait(
    mine: TrainingJob, size: int
) -> None:
    assert sizes(planned(mine)) == {"mine": size}


def test_a_restart_that_would_not_reach_its_minimum_waits_however_long() -> None:
    assert sizes(planned(restarting(low=4))) == {}
    assert sizes(planned(restarting(low=4, growth_awaited_since=at(0) - PATIENCE))) == {}


def two_roles(least: int = 1, **fields: Any) -> TrainingJob:  # noqa: ANN401
    """Beside 4 idle CPU, one role may take all that it can use, and the other a part of it."""
    usual: dict[str, Any] = {"resizing": ResizePolicy.RESTART, "gated": True} | fields
    ps = role("ps", least, 4, on=["a"], **usual)
    return job("mine", role("worker", 1, 9, on=["a"] * 2, **usual), ps)


def resized(plan: Plan) -> dict[str, int]:
    return {one.role: one.after for one in plan.resizes}


def test_roles_that_restart_together_wait_together() -> None:
    """Else the job would restart for one of them, and soon again for the other."""
    plan = planned(two_roles(), idle=4, leaving=3)
    assert (resized(plan), told(plan)["mine"]) == ({}, "5 pods wait for others to terminate")
    ended = planned(two_roles(growth_awaited_since=at(0) - PATIENCE), idle=4, leaving=3)
    assert resized(ended) == {"worker": 4, "ps": 3}


def test_roles_that_restart_together_do_not_keep_each_other_waiting_in_turn() -> None:
    """The ps has all that it can use, and has waited with the worker, or for pods of its own."""
    waits = planned(two_roles(), idle=4, leaving=3).growth_waits
    assert waits == ((JobKey("ns", "mine"), "worker"), (JobKey("ns", "mine"), "ps"))
    mine = two_roles()
    worker_role, ps = mine.roles
    ps = ps.changed(growth_awaited_since=at(0) - PATIENCE)
    plan = planned(replace(mine, roles=(worker_role, ps)), idle=4, leaving=3)
    assert resized(plan) == {"worker": 4, "ps": 3}


def test_no_role_of_a_job_waits_that_restarts_anyway() -> None:
    plan = planned(two_roles(least=2), idle=4, leaving=3)
    assert (resized(plan), plan.growth_waits) == ({"worker": 4, "ps": 3}, ())


def test_the_idle_part_stays_reserved_meanwhile() -> None:
    """Another role of less satisfaction has a better claim."""
    rich, poor = (worker("other", 1, 9, on=["a"] * size) for size in (5, 1))
    assert sizes(planned(torch(), rich)) == {}
    assert sizes(planned(torch(), poor)) == {"other": 2}


def test_a_wait_lasts_until_a_plan_without_it() -> None:
    memory, mine = GrowthWaits(), torch()
    state = cluster(node("a", 5), mine, worker("other", 1, 9))

    def since() -> list[Any]:
        return [one.roles[0].growth_awaited_since for one in memory.recall(state).jobs]

    waits = Plan(growth_waits=((mine.key, "worker"),))
    assert since() == [None, None]
    memory.note(waits, cluster(seconds=5))
    memory.note(waits, cluster(seconds=9))
    assert since() == [at(5), None]
    memory.note(Plan(), cluster(seconds=10))
    assert since() == [None, None]
    memory.note(waits, cluster(seconds=11))
    assert since() == [at(11), None]


def test_a_wall_clock_that_goes_back_lengthens_no_wait() -> None:
    plan = planned(torch(growth_awaited_since=at(3600)))
    assert plan.recheck_after == timedelta(seconds=60)
    memory, mine = GrowthWaits(), torch()
    for second in (3600, 0):
        memory.note(Plan(growth_waits=((mine.key, "worker"),)), cluster(seconds=second))
    known = memory.recall(cluster(node("a", 5), mine))
    assert known.jobs[0].roles[0].growth_awaited_since == at(0)
