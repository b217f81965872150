"""Restarts one soon after another: each one doubles the time until the next."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.model import Code, JobKey, Reason, ResizePolicy, TrainingJob
from edl.planner.decision_limits import GrowthMode, Limits
from tests.edl.planner.plans import ALL, plan_for, sizes, wait_reasons
from tests.edl.planner.states import at, cluster, demand, node, pod, shape, worker

COOLDOWN = int(Limits().restart_cooldown.total_seconds())
PERIOD = 6 * COOLDOWN
HOUR = 3600
TRIES = JobKey("ns", "tries")
IN_VAIN = reasons.restarted(reasons.room_for_job(TRIES))


def restarted(last: Reason, *, since: float, size: int = 1, high: int = 3) -> TrainingJob:
    """A job that came back this many seconds ago, by a restart of this reason."""
    return worker(
        "mnist",
        1,
        high,
        on=["a"] * size,
        resizing=ResizePolicy.RESTART,
        last=last,
        resized_at=at(-since),
        started_at=at(-since),
    )


def vain(attempts: int) -> Reason:
    return replace(reasons.restarted(reasons.GROWTH_UNSCHEDULABLE), attempts=attempts)


@pytest.mark.parametrize(
    ("attempts", "periods"), [(0, 1), (1, 2), (2, 4), (3, 8), (4, 16), (5, 16), (100, 16)]
)
def test_each_restart_without_growth_doubles_the_delay_up_to_sixteen_times(
    attempts: int, periods: int
) -> None:
    due = periods * PERIOD
    soon = plan_for(cluster(node("a", 9), restarted(vain(attempts), since=due - 1)))
    assert (soon.resizes, wait_reasons(soon)) == ((), {"mnist": reasons.BACK_OFF_GROWTH})
    assert soon.recheck_after == timedelta(seconds=1)
    then = plan_for(cluster(node("a", 9), restarted(vain(attempts), since=due)))
    assert sizes(then) == {"mnist": 3}


def attempts(last: Reason, *, since: float) -> int:
    """What the next restart of the job says, in which it grows."""
    (resize,) = plan_for(cluster(node("a", 9), restarted(last, since=since))).resizes
    return resize.reason.attempts


def test_the_next_restart_counts_the_restarts_without_growth_before_it() -> None:
    assert attempts(vain(0), since=PERIOD) == 1
    assert attempts(vain(1), since=2 * PERIOD) == 2
    assert attempts(vain(4), since=16 * PERIOD) == 4


def grew(attempts: int) -> Reason:
    return replace(reasons.restarted(reasons.grown(1, 3)), attempts=attempts)


@pytest.mark.parametrize(("before", "cooldowns"), [(0, 1), (1, 2), (2, 4), (3, 4), (100, 4)])
def test_restarts_soon_after_another_double_the_cooldown_up_to_four_times(
    before: int, cooldowns: int
) -> None:
    due = cooldowns * COOLDOWN
    soon = plan_for(cluster(node("a", 9), restarted(grew(before), since=due - 1)))
    assert (soon.resizes, wait_reasons(soon)) == ((), {"mnist": reasons.COOLDOWN})
    then = plan_for(cluster(node("a", 9), restarted(grew(before), since=due)))
    assert sizes(then) == {"mnist": 3}


def test_a_size_that_lasted_twice_as_long_ends_the_count() -> None:
    assert attempts(grew(0), since=2 * COOLDOWN - 1) == 1
    assert attempts(grew(0), since=2 * COOLDOWN) == 0
    assert attempts(grew(1), since=4 * COOLDOWN - 1) == 2
    assert attempts(grew(1), since=4 * COOLDOWN) == 0


def left(attempts: int) -> Reason:
    """It left unneeded nodes."""
    return replace(reasons.restarted(reasons.NODE_UNNEEDED), attempts=attempts)


@pytest.mark.parametrize(
    ("attempts", "wait"), [(1, 2 * COOLDOWN), (2, PERIOD), (3, 2 * PERIOD), (4, 4 * PERIOD)]
)
def test_growth_waits_half_an_hour_and_more_once_a_job_has_left_unneeded_nodes_again(
    attempts: int, wait: int
) -> None:
    soon = plan_for(cluster(node("a", 9), restarted(left(attempts), since=wait - 1)))
    assert soon.resizes == ()
    then = plan_for(cluster(node("a", 9), restarted(left(attempts), since=wait)))
    assert sizes(then) == {"mnist": 3}


def test_growth_within_an_hour_after_a_job_left_unneeded_nodes_counts() -> None:
    assert attempts(left(0), since=HOUR - 1) == 1
    assert attempts(left(0), since=HOUR) == 0


def attempts_of_leaving(last: Reason, *, since: float) -> int:
    """What the restart says by which the job leaves an unneeded node."""
    mine = restarted(last, since=since, size=2)
    pods = (pod(0, "a"), pod(1, "b"))
    mine = replace(mine, roles=tuple(one.changed(pods=pods) for one in mine.roles))
    needed = replace(ALL, growth=GrowthMode.NEEDED_NODES)
    unneeded = (("b", at(-needed.idle_node_after.total_seconds())),)
    state = replace(cluster(node("a", 9), node("b", 9), mine), unneeded_since=unneeded)
    (resize,) = plan_for(state, needed).resizes
    assert resize.reason.code is Code.NODE_UNNEEDED
    return resize.reason.attempts


def test_leaving_nodes_counts_within_an_hour_after_growth_and_not_after_leaving_others() -> None:
    assert attempts_of_leaving(grew(1), since=HOUR - 1) == 2
    assert attempts_of_leaving(grew(1), since=HOUR) == 0
    assert attempts_of_leaving(left(1), since=HOUR - 1) == 1


def test_a_start_from_the_queue_counts_as_no_restart() -> None:
    assert attempts(replace(reasons.started(1), attempts=2), since=COOLDOWN * 4) == 0


def test_the_count_stays_with_the_job_when_it_returns() -> None:
    why = reasons.restart(replace(reasons.grown(3, 3), attempts=2))
    fields = {"resizing": ResizePolicy.RESTART, "size": 3, "last": why, "resized_at": at(-5)}
    (start,) = plan_for(cluster(node("a", 9), worker("mnist", 1, 3, **fields))).admissions
    assert start.reason == replace(reasons.restarted(reasons.grown(3, 3)), attempts=2)
    (smaller,) = plan_for(cluster(node("a", 2), worker("mnist", 1, 3, **fields))).admissions
    assert smaller.reason == vain(2)


def test_a_restart_for_a_lost_pod_counts_too() -> None:
    mine = restarted(replace(reasons.restarted(reasons.grown(1, 3)), attempts=2), since=60)
    (part,) = mine.roles
    mine = replace(mine, roles=(part.changed(pods=(), failures=1),))
    (stop,) = plan_for(cluster(node("a", 9), mine)).suspensions
    assert stop.reason == replace(reasons.restart(reasons.POD_LOST), attempts=3)


def test_it_gives_nothing_for_an_equal_share_meanwhile() -> None:
    """Nor does it grow: it would be restarted, and again for the claim that it made room for."""
    tries = worker("tries", 9, 9, queued=-900)
    poor = worker("poor", 1, 3, on=["a"])
    for since, due in ((PERIOD - 1, False), (PERIOD, True)):
        mine = restarted(IN_VAIN, since=since, size=3)
        plan = plan_for(cluster(node("a", 4), mine, poor, tries))
        assert sizes(plan) == ({"mnist": 2} if due else {})


def test_starts_and_others_pods_take_its_extras_at_any_time() -> None:
    """Else they would starve behind a job that rests for hours."""
    resting = restarted(vain(4), since=1, size=3)
    plan = plan_for(cluster(node("a", 3), resting, worker("new", 2, 2)))
    assert sizes(plan) == {"mnist": 1}
    assert sizes(plan_for(cluster(node("a", 3), resting, demand("web", shape(1))))) == {"mnist": 2}


def test_a_restart_that_reached_its_purpose_is_followed_by_the_usual_cooldown() -> None:
    runs = worker("tries", 2, 2, on=["b"] * 2)
    mine = restarted(IN_VAIN, since=COOLDOWN)
    assert sizes(plan_for(cluster(node("a", 9), node("b", 2), mine, runs))) == {"mnist": 3}


@pytest.mark.parametrize("times", [0, 1, 2, 4])
def test_what_changes_live_waits_twice_as_long_after_each_failure_in_a_row(times: int) -> None:
    """Others give up replicas each time, although its new pods get no nodes."""
    last = replace(reasons.UNSCHEDULABLE, attempts=times)
    wait = 2 * Limits().pending_limit.total_seconds() * 2**times
    mine = worker("mnist", 1, 3, on=["a"], last=last, resized_at=at(-wait))
    (grows,) = plan_for(cluster(node("a", 9), mine)).resizes
    assert grows.reason == replace(reasons.grown(3, 3), attempts=min(times + 1, 4))
    early = worker("mnist", 1, 3, on=["a"], last=last, resized_at=at(1 - wait))
    assert sizes(plan_for(cluster(node("a", 9), early))) == {}


def test_failures_to_grow_live_are_counted_until_growth_lasts() -> None:
    waits = tuple(pod(index, "a" if index == 0 else "", created_at=at(-31)) for index in range(3))
    last = replace(reasons.grown(3, 3), attempts=2)
    mine = worker("mnist", 1, 3, on=["a"] * 3, pods=waits, last=last, resized_at=at(-31))
    (shrinks,) = plan_for(cluster(node("a", 1), mine)).resizes
    assert shrinks.reason == replace(reasons.UNSCHEDULABLE, attempts=2)
    lasted = worker("mnist", 1, 3, on=["a"] * 2, last=last, resized_at=at(-31))
    (grows,) = plan_for(cluster(node("a", 9), lasted)).resizes
    assert grows.reason == reasons.grown(3, 3)
