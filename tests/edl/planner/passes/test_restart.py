"""Frameworks that take a new size by a restart of the whole training job."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.contract import JOB_TRACKING
from edl.job_state import last_changes
from edl.messages import message
from edl.model import Code, JobKey, PodPhase, Reason, ResizePolicy, Role, TrainingJob
from edl.model.causes.reason_subjects import ForeignJob, Minimum, Size
from edl.model.pods import TrainingRuns
from edl.planner.decision_limits import Limits
from edl.planner.plan import Resize
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.plans import plan_for, sizes, started, wait_reasons
from tests.edl.planner.states import at, cluster, demand, job, node, pod, role, room, shape, worker
from tests.edl.planner.ways import wait
from tests.roles import changed_pod

COOLDOWN = int(Limits().restart_cooldown.total_seconds())
WHY = reasons.restart(reasons.grown(3, 3))


def restarting(name: str, low: int, high: int, **fields: Any) -> TrainingJob:  # noqa: ANN401
    return worker(name, low, high, resizing=ResizePolicy.RESTART, **fields)


def stopped(name: str = "mnist", *, size: int = 3, **fields: Any) -> TrainingJob:  # noqa: ANN401
    """A moment after it was stopped to start again at `size`."""
    usual: dict[str, Any] = {"size": size, "last": WHY, "resized_at": at(-5)}
    return restarting(name, 1, 3, **(usual | fields))


def test_it_starts_as_large_as_there_is_room() -> None:
    assert started(plan_for(cluster(node("a", 9), restarting("mnist", 1, 3)))) == {
        "mnist": {"worker": 3}
    }


def test_idle_capacity_is_worth_a_restart_but_not_so_soon_after_the_last_one() -> None:
    after = restarting("mnist", 1, 3, on=["a"], started_at=at(-COOLDOWN))
    (resize,) = plan_for(cluster(node("a", 9), after)).resizes
    assert (resize.before, resize.after, resize.restart) == (1, 3, True)
    soon = restarting("mnist", 1, 3, on=["a"], started_at=at(1 - COOLDOWN))
    plan = plan_for(cluster(node("a", 9), soon))
    assert (plan.resizes, wait_reasons(plan)) == ((), {"mnist": reasons.COOLDOWN})
    assert plan.recheck_after == timedelta(seconds=1)


def test_a_restart_names_the_nodes_of_all_replicas() -> None:
    mine = restarting("mnist", 1, 4, on=["b", "a", "b", "b"], replicas=3)
    (smaller,) = plan_for(cluster(node("a", 2), node("b", 9), mine)).resizes
    assert (smaller.restart, smaller.nodes) == (True, ("b", "a", "b"))
    mine = restarting("mnist", 1, 3, on=["b", "b"])
    (larger,) = plan_for(cluster(node("a", 2), node("b", 2), mine)).resizes
    assert (larger.restart, larger.nodes) == (True, ("b", "b", "a"))


def test_jobs_that_restart_at_once_keep_the_nodes_that_the_plan_has_for_each() -> None:
    """Else the first one, which may use any node, is given those of the second one."""
    first = restarting("first", 1, 3, on=["b", "b"], queued=-9000)
    second = restarting(
        "second", 1, 2, on=["a"], shape=shape(node_selector=(("zone", "a"),)), queued=-8000
    )
    other = worker("other", 1, 2, on=["a", "a"])
    state = cluster(node("a", 4, labels={"zone": "a"}), node("b", 8), first, second, other)
    plan = plan_for(state)
    assert sizes(plan) == {"first": 3, "second": 2}
    again = plan_for(act(state, plan, after=timedelta(seconds=1), lingering=True))
    assert sizes(again) == {}
    assert [one.reason for one in again.waiting] == [reasons.PODS_TERMINATING] * 2


def test_a_job_that_restarts_to_grow_is_packed_anew_where_a_gang_then_fits_beside_it() -> None:
    on = ["a", "a", "a", "b"]
    grows = worker("grows", 4, 6, on=on, resizing=ResizePolicy.RESTART, queued=-3000)
    gang = worker("gang", 1, 1, shape=shape(16), priority=2, queued=-900)
    state = cluster(node("a", 16), node("b", 16), grows, gang)
    stopped = plan_for(state)
    assert sizes(stopped) == {"grows": 6}
    returned = plan_for(act(state, stopped, after=wait(stopped)))
    assert started(returned) == {"grows": {"worker": 6}, "gang": {"worker": 1}}


def test_it_makes_room_for_others_at_once() -> None:
    mine = restarting("mnist", 1, 3, on=["a"] * 3, started_at=at(-1))
    (resize,) = plan_for(cluster(node("a", 3), mine, demand("web", shape(1)))).resizes
    assert (resize.after, resize.restart) == (2, True)


def test_a_manual_size_does_not_wait_for_the_cooldown() -> None:
    mine = restarting("mnist", 1, 9, on=["a"], started_at=at(-1), replicas=3)
    (resize,) = plan_for(cluster(node("a", 9), mine)).resizes
    assert (resize.after, resize.restart, resize.reason) == (3, True, reasons.MANUAL_SIZE)


def test_a_job_with_a_part_of_its_manual_size_waits_before_it_restarts_for_more_of_it() -> None:
    """One CPU after another becomes idle: it would restart for each of them."""
    mine = restarting("mnist", 1, 9, on=["a"], replicas=8)
    state, resizes = cluster(node("a", 3), mine), list[Resize]()
    for second in range(0, 300, 10):
        plan = plan_for(state)
        resizes += plan.resizes
        state = act(state, plan, after=timedelta(seconds=10))
        more = replace(state.nodes[0], allocatable=room(3 + second // 60, pods=110))
        state = replace(state, nodes=(more,))
    assert [message(found.reason) for found in resizes] == ["manual size: 3 of 8 fit"]
    assert wait_reasons(plan)["mnist"] == reasons.COOLDOWN
    plan = plan_for(act(state, plan, after=timedelta(seconds=30)))
    assert [found.after for found in plan.resizes] == [7]


def test_another_manual_size_does_not_wait_for_the_cooldown_of_the_one_before() -> None:
    got = replace(reasons.restarted(reasons.MANUAL_SIZE), about=Size(2, 8))

    def resized(wanted: int) -> dict[str, int]:
        mine = restarting("mnist", 1, 9, on=["a"] * 2, replicas=wanted, last=got, resized_at=at(-1))
        return sizes(plan_for(cluster(node("a", 5), mine)))

    assert (resized(8), resized(9), resized(4), resized(1)) == (
        {},
        {"mnist": 5},
        {"mnist": 4},
        {"mnist": 1},
    )


def test_a_job_restarted_to_free_capacity_comes_back_at_the_smaller_size() -> None:
    """Also at a manual size: else it would be stopped for the same claim again, and so on."""
    reservation = worker("claim", 2, 2, priority=1)
    running = restarting("mnist", 1, 3, on=["a"] * 3, replicas=3)
    state = cluster(node("a", 3), running, reservation)
    restarts = 0
    for _ in range(9):
        plan = plan_for(state)
        restarts += sum(found.restart for found in plan.resizes)
        state = act(state, plan, after=timedelta(seconds=2))
    assert quiet(plan)
    assert restarts == 1
    assert [(one.roles[0].status.size, one.roles[0].status.suspended) for one in state.jobs] == [
        (2, False),
        (1, False),
    ]


def test_a_manual_size_that_changed_meanwhile_is_started_at_once() -> None:
    for size, wanted in ((2, 3), (3, 2)):
        mine = stopped(size=size, replicas=wanted, last=reasons.restart(reasons.MANUAL_SIZE))
        assert started(plan_for(cluster(node("a", 9), mine))) == {"mnist": {"worker": wanted}}


def test_a_job_that_freed_capacity_by_a_restart_waits_a_cooldown_before_growth() -> None:
    why = reasons.restarted(reasons.room_for_job(JobKey("ns", "claim")))
    made = restarting("mnist", 1, 3, on=["a"], replicas=3, started_at=at(-1), last=why)
    plan = plan_for(cluster(node("a", 9), made))
    assert (quiet(plan), wait_reasons(plan)) == (True, {"mnist": reasons.COOLDOWN})
    assert plan.recheck_after == timedelta(seconds=COOLDOWN - 1)


def test_one_restart_does_for_all_of_its_growth() -> None:
    """One replica could come now and one when a pod of somebody else has left."""
    mine = restarting("mnist", 1, 3, on=["a"])
    leaving = pod(0, "a", terminating=True)
    gone = job("gone", role("worker", 1, 1, suspended=True, pods=(leaving,)), paused=True)
    plan = plan_for(cluster(node("a", 3), mine, gone))
    assert not plan.resizes
    assert wait_reasons(plan)["mnist"] == reasons.leaving(2)


def test_a_nearly_finished_job_is_not_restarted() -> None:
    pods = (pod(0, "a", phase=PodPhase.SUCCEEDED), pod(1, "a"))
    mine = restarting("mnist", 1, 4, suspended=False, size=2, pods=pods)
    plan = plan_for(cluster(node("a", 9), mine))
    assert (plan.resizes, wait_reasons(plan)) == ((), {"mnist": reasons.PODS_SUCCEEDED})


def test_a_restarting_job_starts_at_its_new_size_before_queued_jobs() -> None:
    first = worker("first", 3, 3, queued=-9000, priority=9)
    plan = plan_for(cluster(node("a", 3), stopped(), first))
    assert started(plan) == {"mnist": {"worker": 3}}
    assert plan.admissions[0].reason == reasons.restarted(reasons.grown(3, 3))


def test_its_room_is_kept_while_its_pods_leave() -> None:
    leaving = tuple(pod(index, "a", terminating=True) for index in range(2))
    other = worker("other", 1, 9, on=["a"])
    plan = plan_for(cluster(node("a", 4), stopped(pods=leaving), other))
    assert wait_reasons(plan)["mnist"] == reasons.PODS_TERMINATING
    assert sizes(plan) == {}


@pytest.mark.parametrize("resizing", [ResizePolicy.LIVE, ResizePolicy.RESTART])
def test_its_idle_capacity_is_kept_while_pods_of_other_workloads_terminate(
    resizing: ResizePolicy,
) -> None:
    """It could not start before pods of other workloads have terminated, or only smaller."""
    leaving = (pod(0, "a", terminating=True),)
    other = worker("other", 1, 2, on=["a"], resizing=resizing)
    there = replace(node("a", 5), used=room(1), releasing=room(1))
    plan = plan_for(cluster(there, stopped(pods=leaving), other))
    assert wait_reasons(plan)["mnist"] == reasons.PODS_TERMINATING
    assert sizes(plan) == {}


def test_if_its_room_is_gone_it_queues_for_its_minimum() -> None:
    busy = worker("busy", 8, 8, on=["a"] * 8)
    assert started(plan_for(cluster(node("a", 9), busy, stopped()))) == {"mnist": {"worker": 1}}


def test_what_it_was_stopped_for_is_forgotten_after_the_gang_limit() -> None:
    long_ago = at(-1 - int(Limits().gang_limit.total_seconds()))
    first = worker("first", 3, 3, priority=9)
    plan = plan_for(cluster(node("a", 3), stopped(resized_at=long_ago), first))
    assert started(plan) == {"first": {"worker": 3}}


def test_the_gang_limit_begins_when_its_pods_may_have_ended() -> None:
    """They wrote a checkpoint for nine minutes; a gang that waited before them comes after it."""
    first = worker("first", 3, 3, priority=9)

    def starts_after(minutes: int) -> dict[str, dict[str, int]]:
        long_ago = at(-timedelta(minutes=10).total_seconds())
        mine = stopped(size=3, resized_at=long_ago, grace_period=timedelta(minutes=minutes))
        return started(plan_for(cluster(node("a", 3), mine, first)))

    assert starts_after(10) == {"mnist": {"worker": 3}}
    assert starts_after(8) == {"first": {"worker": 3}}


@pytest.mark.parametrize("runs", ["server", "worker"])
def test_a_stop_that_a_crash_left_half_done_is_completed(runs: str) -> None:
    def part(name: str) -> Role:
        if name == runs:
            return role(name, 1, 3, on=["a"], resizing=ResizePolicy.RESTART)
        return role(name, 1, 3, last=WHY, resized_at=at(-1), resizing=ResizePolicy.RESTART)

    plan = plan_for(cluster(node("a", 9), job("mnist", part("server"), part("worker"))))
    assert [(found.job.name, found.reason) for found in plan.suspensions] == [("mnist", WHY)]
    assert not plan.admissions


def without_a_pod(since: float) -> TrainingJob:
    """Two workers, one of which failed and is not recreated yet."""
    pods = (pod(0, "a"),)
    counted = {"suspended": False, "size": 2, "pods": pods, "failures": 1}
    return restarting("mnist", 1, 3, **counted, started_at=at(since))


def test_a_lost_pod_restarts_them_all_at_the_size_that_they_have() -> None:
    (stop,) = plan_for(cluster(node("a", 9), without_a_pod(since=-30))).suspensions
    assert stop.reason == reasons.restart(reasons.POD_LOST)
    back = stopped(size=2, last=stop.reason, failures=1)
    first = worker("first", 9, 9, priority=9)
    assert started(plan_for(cluster(node("a", 9), back, first)))["mnist"]["worker"] >= 2


def test_a_job_with_a_pod_lost_right_after_its_start_is_not_restarted_yet() -> None:
    plan = plan_for(cluster(node("a", 9), without_a_pod(since=-29)))
    assert plan.suspensions == ()
    assert plan.recheck_after == timedelta(seconds=1)


def test_a_replacement_of_a_pod_whose_loss_is_never_counted_restarts_them_all() -> None:
    """An eviction where the podFailurePolicy ignores disruptions, soon after the start."""
    since = {"created_at": at(-31), "ready_since": at(-29)}
    rank = pod(0, "a", created_at=at(-90), ready_since=at(-80))
    for ranks, stops in (((rank, pod(1, "a", **since)), 1), ((pod(0, "a", **since),), 0)):
        counted = {"suspended": False, "size": len(ranks), "pods": ranks, "ignores": True}
        mine = restarting("mnist", 1, 2, **counted, started_at=at(-91))
        found = plan_for(cluster(node("a", 2), mine)).suspensions
        assert [stop.reason for stop in found] == [reasons.restart(reasons.POD_LOST)] * stops


def with_a_failed_container(
    failed: float = -31,
    began: float = -2990,
    **fields: Any,  # noqa: ANN401 - of the role
) -> TrainingJob:
    """Two workers that have trained since so many seconds before 12:00, the second restarted."""
    runs = TrainingRuns(at(failed + 1), at(failed), at(began), restarts=1)
    pods = (pod(0, "a", ready_since=at(began)), pod(1, "a", runs=runs, restarts=1))
    return restarting("mnist", 1, 2, suspended=False, size=2, pods=pods, **fields)


def test_a_container_that_failed_alone_restarts_them_all() -> None:
    (stop,) = plan_for(cluster(node("a", 2), with_a_failed_container(-30))).suspensions
    assert stop.reason == reasons.restart(reasons.CONTAINER_RESTARTED)
    soon = plan_for(cluster(node("a", 2), with_a_failed_container(-29)))
    assert (soon.suspensions, soon.recheck_after) == ((), timedelta(seconds=1))


@pytest.mark.parametrize("before", [Code.POD_LOST, Code.IDLE_CAPACITY, Code.CONTAINER_RESTARTED])
def test_a_job_restarts_for_containers_no_sooner_than_a_cooldown_after_its_start(
    before: Code,
) -> None:
    """Whatever it was restarted for before, and however often."""
    why = replace(reasons.restarted(Reason(before)), attempts=4)
    for late in (0, 1):
        mine = with_a_failed_container(last=why, started_at=at(1 - late - COOLDOWN))
        stops = plan_for(cluster(node("a", 2), mine)).suspensions
        assert [stop.reason.attempts for stop in stops] == [0] * late


@pytest.mark.parametrize("failed", [-31, -3000])
def test_a_lost_container_restarts_the_job_however_late_the_reconciler_sees_it(
    failed: float,
) -> None:
    mine = with_a_failed_container(failed, began=-9000, started_at=at(-9000))
    assert plan_for(cluster(node("a", 2), mine)).suspensions


@pytest.mark.parametrize("cooldown", [20, COOLDOWN, 900])
@pytest.mark.parametrize(("failed", "every"), [(45, 7200), (200, 7200), (200, 200)])
def test_failures_of_each_start_stop_a_job_three_times(
    failed: int, every: int, cooldown: int
) -> None:
    """Programs may load data for minutes before they connect; the kubelet restarts one of them.

    One that fails on is ended by the Job controller, which counts restarts of one start.
    """
    why, stops = reasons.restarted(reasons.POD_LOST), 0
    while (stop := _stop_in_two_hours(range(failed, 7200, every), cooldown, why)) and stops < 9:
        stops, why = stops + 1, stop
    assert stops == 3


def _stop_in_two_hours(failures: range, cooldown: int, last: Reason) -> Reason | None:
    """The next start's reason if a job is stopped that fails then, and started for this reason."""
    rank = pod(0, "a", created_at=at(1), ready_since=at(10))
    for now in range(failures[0] + 10, 7200, 60):
        begins = [0, *(failure + 10 for failure in failures if failure + 10 <= now)]
        runs = TrainingRuns(at(begins[-1]), at(begins[-1] - 10), at(begins[-2]), len(begins) - 1)
        second = pod(1, "a", created_at=at(1), ready_since=at(begins[-1]), runs=runs)
        ranks = {"size": 2, "pods": (rank, second), "started_at": at(0), "resized_at": at(0)}
        mine = restarting("mnist", 1, 2, suspended=False, last=last, **ranks)
        limits = Limits(restart_cooldown=timedelta(seconds=cooldown))
        found = plan_for(cluster(node("a", 2), mine, seconds=now), limits=limits).suspensions
        if found:
            return _started_after(found[0].reason)
    return None


def _started_after(why: Reason) -> Reason:
    """The reason that the start after this stop records."""
    (admission,) = plan_for(cluster(node("a", 9), stopped(size=2, last=why))).admissions
    return admission.reason


@pytest.mark.parametrize(("limit", "stops"), [(6, 0), (7, 1)])
def test_a_job_without_retries_is_not_restarted(limit: int, stops: int) -> None:
    """It fails instead (tests/edl/steps/test_final_failures.py)."""
    mine = with_a_failed_container(backoff_limit=limit, earlier_restarts=5)
    assert len(plan_for(cluster(node("a", 2), mine)).suspensions) == stops


def test_a_start_waits_until_failed_pods_of_the_last_one_are_counted() -> None:
    """For 30 seconds: those counted after the start would restart the job once more."""
    tracked = {"phase": PodPhase.FAILED, "ready": False, "finalizers": (JOB_TRACKING,)}
    for since, starts in ((-29, False), (-30, True)):
        pods = tuple(pod(index, "a", **tracked) for index in range(3))
        mine = stopped(pods=pods, suspended_at=at(since), failures=1)
        plan = plan_for(cluster(node("a", 3), mine))
        assert bool(plan.admissions) == starts
    counted = tuple(changed_pod(one, finalizers=()) for one in pods)
    mine = stopped(pods=counted, suspended_at=at(-1), failures=3)
    assert plan_for(cluster(node("a", 3), mine)).admissions


@pytest.mark.parametrize("since", [-1, -9])
def test_a_start_that_a_crash_left_half_done_is_completed_not_undone(since: float) -> None:
    """The first role began after the second one was stopped: nobody stops it again."""
    began = reasons.restarted(WHY)
    first = role("server", 1, 3, on=["a"], last=began, resized_at=at(since))
    second = role("worker", 1, 3, size=2, last=WHY, resized_at=at(-9))
    parts = [part.changed(resizing=ResizePolicy.RESTART) for part in (first, second)]
    plan = plan_for(cluster(node("a", 9), job("mnist", *parts)))
    assert not plan.suspensions
    assert started(plan) == {"mnist": {"worker": 2}}


def test_what_made_room_does_not_take_it_again_when_it_returns() -> None:
    why = reasons.restart(reasons.room_for_minimum(JobKey("ns", "other")))
    plan = plan_for(cluster(node("a", 9), stopped(size=2, last=why)))
    assert started(plan) == {"mnist": {"worker": 2}}


@pytest.mark.parametrize("late", [False, True])
def test_a_size_that_no_node_took_is_not_tried_again_soon(late: bool) -> None:  # noqa: FBT001
    """Neither when it returns nor after the usual cooldown: two restarts are the price."""
    why = reasons.restart(reasons.UNSCHEDULABLE)
    plan = plan_for(cluster(node("a", 9), stopped(size=1, last=why)))
    assert started(plan) == {"mnist": {"worker": 1}}
    since = at(-6 * COOLDOWN + (0 if late else 1))
    back = restarting("mnist", 1, 3, on=["a"], started_at=since)
    (part,) = back.roles
    back = replace(back, roles=(part.changed(last=plan.admissions[0].reason),))
    plan = plan_for(cluster(node("a", 9), back))
    assert sizes(plan) == ({"mnist": 3} if late else {})
    assert wait_reasons(plan) == ({} if late else {"mnist": reasons.BACK_OFF_GROWTH})


def test_a_job_with_a_reverted_growth_does_not_grow_again_soon() -> None:
    """Beside those that ran there was room for three; all together do not fit."""
    parts = (
        role("ps", 1, 3, size=3, shape=shape(0.5, gpu=1), last=WHY, resized_at=at(-5)),
        role("worker", 1, 1, shape=shape(3), last=WHY, resized_at=at(-5)),
    )
    parts = (parts[0].changed(resizing=ResizePolicy.RESTART), parts[1])
    nodes = (node("a", 2, gpu=2), node("b", 4))
    (admission,) = plan_for(cluster(*nodes, job("mnist", *parts))).admissions
    assert admission.sizes == (("ps", 2), ("worker", 1))
    assert admission.reason == reasons.restarted(reasons.GROWTH_UNSCHEDULABLE)
    runs = (
        role("ps", 1, 3, on=["a", "a"], shape=shape(0.5, gpu=1)).changed(
            resizing=ResizePolicy.RESTART
        ),
        role("worker", 1, 1, on=["b"], shape=shape(3)),
    )
    later = [part.changed(last=admission.reason, resized_at=at(-COOLDOWN)) for part in runs]
    plan = plan_for(cluster(*nodes, job("mnist", *later)))
    assert (plan.resizes, wait_reasons(plan)) == ((), {"mnist": reasons.BACK_OFF_GROWTH})


def test_a_restarting_job_reserves_capacity_for_its_growth() -> None:
    """Else another one takes all of it by a restart, and gives it back by more restarts."""
    back = stopped("back", size=1)
    other = restarting("other", 1, 9, on=["a"])
    assert sizes(plan_for(cluster(node("a", 4), back, other))) == {"other": 2}
    again = stopped("back", size=1, last=reasons.restart(reasons.GROWTH_UNSCHEDULABLE))
    assert sizes(plan_for(cluster(node("a", 4), again, other))) == {"other": 3}


def test_what_grew_in_the_way_of_its_own_other_role_gives_that_room_back_itself() -> None:
    """Its worker came back with more than there is room for beside its ps; it has to wait then."""
    began = {"on": ["a"] * 3, "last": reasons.restarted(reasons.grown(3, 3))}
    parts = (
        role("ps", 1, 1, last=WHY, resized_at=at(-5)),
        role("worker", 1, 3, resizing=ResizePolicy.RESTART, resized_at=at(-3), **began),
    )
    mine = job("mnist", *parts, started_at=at(-3))
    other = restarting("other", 1, 3, on=["a"] * 3, queued=-60)
    plan = plan_for(cluster(node("a", 6), mine, other))
    assert sizes(plan) == {"mnist": 2}
    (resize,) = plan.resizes
    assert resize.reason == Reason(Code.RECLAIMED, Minimum(mine.key, own=True), attempts=1)
    back = parts[1].changed(last=reasons.restart(resize.reason))
    assert last_changes.growth_failed(mine.key, back)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("failed", [False, True])
def test_a_donor_is_not_restarted_again_for_the_next_attempt_of_the_same_job(
    failed: bool,  # noqa: FBT001
    late: bool,  # noqa: FBT001
    named: bool,  # noqa: FBT001 - of another namespace it knows the uid alone
) -> None:
    """It keeps its size while that job waits, to start or to start again, six cooldowns at most."""
    started = {"last": reasons.GANG_UNSCHEDULABLE, "started_at": at(-130)} if failed else {}
    pods = 2 if failed else 3
    tries = worker("tries", pods, pods, **started, uid="tries", queued=-900)
    since = at(-6 * COOLDOWN + (0 if late else 1))
    why = reasons.restarted(reasons.room_for_job(tries.key))
    why = why if named else replace(why, about=ForeignJob("tries"))
    gave = restarting("gave", 1, 3, on=["a"], last=why, started_at=since)
    plan = plan_for(cluster(node("a", 3), gave, tries))
    assert sizes(plan) == ({"gave": 3} if late else {})
    assert late or wait_reasons(plan)["gave"] == reasons.BACK_OFF_RECLAMATION
    runs = worker("tries", 2, 2, on=["b", "b"], uid="tries", queued=-900)
    assert sizes(plan_for(cluster(node("a", 3), node("b", 2), gave, runs))) == {"gave": 3}


def test_what_gave_a_replica_that_found_no_place_does_not_take_it_again_soon() -> None:
    """The scheduler put its pods elsewhere: the job for which it restarted did not grow."""
    on_b = shape(1, node_selector=(("zone", "b"),))
    nodes = (node("a", 3), node("b", 1, labels={"zone": "b"}))
    recipient = restarting("taker", 1, 3, on=["b"], shape=on_b)
    why = reasons.restarted(reasons.gave(Code.FAIR_SHARING, recipient.key))
    since = at(-COOLDOWN)
    gave = restarting("gave", 1, 3, on=["a", "a"], last=why, started_at=since, resized_at=since)
    plan = plan_for(cluster(*nodes, gave, recipient))
    assert plan.resizes == ()
    assert wait_reasons(plan)["gave"] == reasons.BACK_OFF_GROWTH
    grew = restarting("taker", 1, 3, on=["b"], shape=on_b, resized_at=at(1 - COOLDOWN))
    assert sizes(plan_for(cluster(*nodes, gave, grew))) == {"gave": 3}


def test_a_restart_gives_up_the_replicas_whose_nodes_are_needed_not_the_last_ones() -> None:
    """All pods are placed anew: one replica less is enough for one pod."""
    nodes = [node(name, 4, labels={"gpu": str(name == "a")}) for name in "abcdefgh"]
    runs = worker("runs", 2, 8, on=[*"abcdefgh"], shape=shape(3), resizing=ResizePolicy.RESTART)
    needs = shape(2, node_selector=(("gpu", "True"),))
    (resize,) = plan_for(cluster(*nodes, runs, worker("small", 1, 1, shape=needs))).resizes
    assert (resize.before, resize.after) == (8, 7)
    assert sorted(resize.nodes) == [*"bcdefgh"]


@pytest.mark.parametrize("resizing", [ResizePolicy.RESTART, ResizePolicy.LIVE])
def test_no_replica_is_moved_to_a_job_that_starts_and_soon_could_not_use_it(
    resizing: ResizePolicy,
) -> None:
    """It would rest until its cooldown ends, while the donor lacks the replica."""
    donor = worker("donor", 1, 9, on=["a"] * 9, started_at=at(-9000), resizing=ResizePolicy.LIVE)
    starting = worker("new", 1, 9, resizing=resizing)
    plan = plan_for(cluster(node("a", 10), donor, starting))
    assert started(plan) == {"new": {"worker": 1}}
    assert sizes(plan) == ({} if resizing is ResizePolicy.RESTART else {"donor": 5})
