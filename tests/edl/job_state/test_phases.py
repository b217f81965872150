from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.contract import CleanUp
from edl.job_state.phases import ending, phase, runs, waits_to_start, why_unscheduled
from edl.model import Code, JobEnd, Phase, Pod, PodPhase, ResizePolicy, Role, ScaleDeadline
from edl.steps.host_lists import JOIN
from tests.edl.trainings import NOW, pod, pods, role, training

CHIEF = role("chief", pods=pods("chief", [0]))
WORKER = role("worker", 2, 4, pods=pods("worker", [0, 1]))
PS = role("ps", pods=pods("ps", [0]))


def waiting(found: Role) -> Role:
    return found.changed(suspended=True, pods=())


def done(found: Role, how: JobEnd = JobEnd.COMPLETE, size: int | None = None) -> Role:
    return found.changed(ending=how, size=found.status.size if size is None else size, pods=())


@pytest.mark.parametrize(
    ("roles", "fields", "expected"),
    [
        ([CHIEF, WORKER], {}, Phase.RUNNING),
        ([waiting(CHIEF), waiting(WORKER)], {}, Phase.QUEUED),
        ([waiting(CHIEF), waiting(WORKER)], {"paused": True}, Phase.PAUSED),
        ([waiting(CHIEF)], {"missing": ("worker",)}, Phase.INCOMPLETE),
        ([], {"missing": ("worker",)}, Phase.INCOMPLETE),
        ([WORKER], {"missing": ("chief",)}, Phase.INCOMPLETE),
        ([CHIEF], {"missing": ("worker",)}, Phase.INCOMPLETE),
        ([done(CHIEF), WORKER], {"missing": ("ps",)}, Phase.FINISHING),
        ([CHIEF, WORKER.changed(pods=pods("worker", [0]))], {}, Phase.STARTING),
        ([CHIEF, waiting(WORKER)], {}, Phase.STARTING),
        ([CHIEF, WORKER.changed(min=3)], {}, Phase.STARTING),
        ([CHIEF, WORKER.changed(min=3, remaining=2)], {}, Phase.RUNNING),
        ([CHIEF, done(WORKER.changed(min=3))], {}, Phase.RUNNING),
        ([done(CHIEF), WORKER], {}, Phase.FINISHING),
        ([done(CHIEF), done(WORKER)], {}, Phase.SUCCEEDED),
        ([done(CHIEF, JobEnd.FAILED), done(WORKER)], {}, Phase.FAILED),
        ([CHIEF, done(WORKER)], {}, Phase.RUNNING),
        ([done(WORKER)], {"missing": ("chief",)}, Phase.INCOMPLETE),
    ],
)
def test_a_phase_is_read_off_the_roles(
    roles: Sequence[Role], fields: Mapping[str, Any], expected: Phase
) -> None:
    assert phase(training(*roles, **fields)) is expected


def test_a_job_that_keeps_its_pods_is_done_at_once() -> None:
    job = training(done(CHIEF).changed(clean_up=CleanUp.NONE), WORKER)
    assert phase(job) is Phase.SUCCEEDED


def test_a_failed_role_fails_the_training_job() -> None:
    job = training(CHIEF, done(WORKER, JobEnd.FAILED))
    assert ending(job) is JobEnd.FAILED
    assert phase(job) is Phase.FINISHING


def test_it_stays_failed_when_its_chief_was_ended_for_that() -> None:
    job = training(done(CHIEF, size=0), done(WORKER, JobEnd.FAILED), done(PS, size=0))
    assert phase(job) is Phase.FAILED


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (Code.COMPLETE, Phase.SUCCEEDED),
        (Code.FAILED, Phase.FAILED),
        (Code.ADMITTED, Phase.INCOMPLETE),
    ],
)
def test_those_that_ended_with_the_chief_say_how_once_its_job_is_deleted(
    code: Code, expected: Phase
) -> None:
    """Its user gave a TTL to the chief's Job alone."""
    left = (done(part, size=0).changed(reason=code) for part in (WORKER, PS))
    assert phase(training(*left, missing=("chief",))) is expected
    queued = (done(WORKER, size=0).changed(reason=code), waiting(PS))
    assert phase(training(*queued, missing=("chief",))) is Phase.INCOMPLETE


def test_a_failure_after_the_chief_was_done_changes_nothing() -> None:
    assert ending(training(done(CHIEF), done(WORKER, JobEnd.FAILED))) is JobEnd.COMPLETE


def test_a_worker_that_completes_first_does_not_end_the_training_job() -> None:
    assert ending(training(CHIEF, done(WORKER))) is None


def test_pods_that_failed_are_not_at_work() -> None:
    failed = pods("worker", [0, 0], ready=False, phase=PodPhase.FAILED)
    assert not runs(WORKER.changed(pods=failed))
    assert runs(WORKER.changed(pods=(*failed, *pods("worker", [0, 1]))))


def test_pods_that_are_done_count_as_their_work() -> None:
    ended = pods("worker", [0, 1], ready=False, phase=PodPhase.SUCCEEDED)
    assert runs(WORKER.changed(pods=ended))


@pytest.mark.parametrize(
    ("left", "expected"),
    [((), Phase.STARTING), (pods("worker", [3]), Phase.RUNNING)],
)
def test_a_job_whose_other_pods_are_lost_does_not_run_because_of_pods_that_are_done(
    left: tuple[Pod, ...], expected: Phase
) -> None:
    ended = pods("worker", [0, 1], ready=False, phase=PodPhase.SUCCEEDED)
    role = WORKER.changed(size=4, finished_indexes=frozenset({0, 1}), resized_at=None)
    assert phase(training(role.changed(pods=(*ended, *left)))) is expected
    assert phase(training(role.changed(pods=left))) is expected, "their pods are gone"


@pytest.mark.parametrize(("running", "expected"), [((), True), ((2,), False)])
def test_a_rank_without_a_node_is_needed_once_no_other_that_has_not_ended_runs(
    running: Sequence[int], *, expected: bool
) -> None:
    pending = pods("worker", [1], node="", ready=False, created_at=NOW)
    ranks = (*pending, *pods("worker", running))
    role = WORKER.changed(min=1, size=4, finished_indexes=frozenset({0, 3}), pods=ranks)
    job = training(role, started_at=NOW - timedelta(hours=1))
    assert why_unscheduled(job) == (reasons.minimum_pending(job.key) if expected else None)


ITEMS = WORKER.changed(resizing=ResizePolicy.ITEMS, indexed=False, remaining=7)
COMPLETED = pods("worker", [0, 1, 2], ready=False, phase=PodPhase.SUCCEEDED)


def test_completed_work_items_are_not_at_work() -> None:
    pending = pods("worker", [3, 4], ready=False, phase=PodPhase.PENDING)
    assert not runs(ITEMS.changed(pods=(*COMPLETED, *pending)))
    assert runs(ITEMS.changed(pods=(*COMPLETED, *pods("worker", [3, 4]))))


def test_a_replica_between_two_work_items_does_not_stop_the_others_from_running() -> None:
    coming = pod("worker", 4, ready=False, phase=PodPhase.PENDING)
    assert runs(ITEMS.changed(pods=(*COMPLETED, pod("worker", 3), coming)))


def test_the_first_work_items_run_once_the_minimum_is_ready() -> None:
    coming = pod("worker", 1, ready=False, phase=PodPhase.PENDING)
    assert not runs(ITEMS.changed(pods=(pod("worker", 0), coming)))
    assert runs(ITEMS.changed(pods=pods("worker", [0, 1])))


def test_pods_that_leave_do_not_count() -> None:
    leaving = pods("worker", [0, 1], terminating=True)
    assert not runs(WORKER.changed(pods=leaving))
    assert runs(WORKER.changed(pods=pods("worker", [0, 1])))


STARTED = NOW - timedelta(minutes=30)
RESIZED = NOW - timedelta(seconds=20)


def scaled(*found: Pod, size: int = 3, **fields: Any) -> Role:  # noqa: ANN401
    """Workers 2..4 whose size changed a moment ago."""
    return WORKER.changed(size=size, pods=found, resized_at=RESIZED, **fields)


def shown(worker: Role) -> Phase:
    return phase(training(CHIEF, worker, started_at=STARTED))


def new(index: int, age: float, **fields: Any) -> Pod:  # noqa: ANN401
    return replace(
        pod("worker", index, ready=False, **fields), created_at=NOW - timedelta(seconds=age)
    )


TWO = pods("worker", [0, 1])


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        (scaled(*TWO), Phase.SCALING),
        (scaled(*TWO, new(2, age=19)), Phase.SCALING),
        (scaled(*TWO, pod("worker", 2)), Phase.RUNNING),
        (scaled(*TWO, new(2, age=5)), Phase.RUNNING),
        (scaled(*TWO, pod("worker", 2, terminating=True), size=2), Phase.SCALING),
        (scaled(*TWO, new(1, age=5, terminating=True), size=2), Phase.RUNNING),
        (scaled(*TWO).changed(resized_at=STARTED), Phase.RUNNING),
        (scaled(*TWO).changed(resizing=ResizePolicy.FIXED), Phase.RUNNING),
        (scaled(TWO[0], new(1, age=19), size=2), Phase.STARTING),
        (scaled(*TWO, size=2, removing=frozenset({"x"})), Phase.SCALING),
        (scaled(*TWO, size=2, scaling=ScaleDeadline(JOIN, since=NOW, before=2)), Phase.SCALING),
        (scaled(*TWO, size=2, scaling=ScaleDeadline(JOIN)), Phase.RUNNING),
    ],
    ids=[
        "new pods are not made yet",
        "new pods are not ready yet",
        "all are ready",
        "a lost pod is replaced",
        "the highest leaves",
        "another one leaves",
        "its size is from the start",
        "it never changes its size",
        "less than its minimum runs",
        "a named one is to leave",
        "a growth in time is watched",
        "its clock has not started",
    ],
)
def test_scaling_is_a_new_size_on_its_way(worker: Role, expected: Phase) -> None:
    assert shown(worker) is expected


def test_a_restart_at_a_new_size_is_scaling_until_its_pods_run() -> None:
    restarting = WORKER.changed(resizing=ResizePolicy.RESTART, resized_at=RESIZED)
    stopped = waiting(restarting).changed(last=reasons.restart(reasons.grown(2, 2)))
    job = training(waiting(CHIEF), stopped, started_at=STARTED)
    assert (phase(job), waits_to_start(job)) == (Phase.SCALING, True)
    half = training(CHIEF, stopped, started_at=STARTED)
    assert (phase(half), waits_to_start(half)) == (Phase.SCALING, False)
    begun = restarting.changed(pods=(new(0, 19),), last=reasons.restarted(reasons.grown(2, 2)))
    job = training(CHIEF, begun, started_at=RESIZED)
    assert (phase(job), waits_to_start(job)) == (Phase.SCALING, False)
    there = begun.changed(pods=TWO)
    assert phase(training(CHIEF, there, started_at=RESIZED)) is Phase.RUNNING


LOST = WORKER.changed(failures=1, resized_at=RESIZED)


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        (LOST.changed(size=4, pods=pods("worker", [0, 2, 3])), Phase.RUNNING),
        (LOST.changed(size=4, pods=pods("worker", [0, 1, 2])), Phase.RUNNING),
        (LOST.changed(size=4, pods=pods("worker", [3])), Phase.STARTING),
        (LOST.changed(pods=TWO[:1], last=reasons.restarted(reasons.grown(2, 2))), Phase.STARTING),
    ],
    ids=["of its minimum", "an extra", "all but one", "after a restart to resize it"],
)
def test_a_lost_pod_of_a_job_that_was_resized_is_not_scaling(worker: Role, expected: Phase) -> None:
    assert shown(worker) is expected


GROWN = scaled(size=4, history=f"{RESIZED.isoformat()} ScaledUp 3 4 IdleCapacity")
OLD, NEW = pods("worker", [0, 1, 2]), new(3, age=19, terminating=True)


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        (GROWN.changed(pods=OLD), Phase.SCALING),
        (GROWN.changed(pods=(*OLD, pod("worker", 3, terminating=True))), Phase.SCALING),
        (GROWN.changed(pods=(*OLD, NEW)), Phase.RUNNING),
        (GROWN.changed(pods=(*TWO, pod("worker", 3))), Phase.RUNNING),
    ],
    ids=[
        "its index has no pod",
        "an earlier pod of its index leaves",
        "its pod was made, and is lost",
        "an index that it did not add has no pod",
    ],
)
def test_only_pods_that_a_growth_adds_make_it_scaling(worker: Role, expected: Phase) -> None:
    """Lost pods may be uncounted: a podFailurePolicy ignores disruptions."""
    assert shown(worker) is expected


def test_a_paused_job_is_paused_though_it_was_stopped_to_restart() -> None:
    stopped = waiting(WORKER).changed(last=reasons.restart(reasons.grown(2, 2)))
    assert phase(training(waiting(CHIEF), stopped, paused=True)) is Phase.PAUSED
