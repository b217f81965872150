from datetime import timedelta

from msgspec.structs import replace

from edl import contract
from edl.job_state.lost_pods import missing_pods
from edl.model import Assignment, ResizePolicy, Role
from edl.patches.patched_values import patched_role
from edl.planner.plan import Resize
from edl.steps.running_jobs import upkeep
from tests.edl.trainings import (
    KEY,
    NOW,
    is_stopped,
    job_patches,
    patches,
    pods,
    role,
    training,
    written,
)
from tests.reasons import because

SCHEDULER = role("scheduler")
WORKER = role("worker", 1, 3).changed(resizing=ResizePolicy.RESTART, size=2)
RESIZE = Resize(KEY, "worker", 2, 3, because("idle capacity: 3 of 3 fit"), restart=True)


def test_a_restart_writes_the_new_size_before_it_suspends_every_role() -> None:
    (step,), _ = upkeep(training(SCHEDULER, WORKER, framework="mxnet"), [RESIZE], NOW)
    assert list(job_patches(step).items()) == [
        ("mnist-worker", {"suspend": True, "parallelism": 3, "completions": 3}),
        ("mnist-scheduler", {"suspend": True}),
    ]
    for patch in patches(step):
        assert is_stopped(written(patch))
        assert written(patch)[contract.RESIZED_AT] == "2026-01-01T12:00:00Z"


def test_a_restart_records_the_nodes_of_all_replicas() -> None:
    gated = WORKER.changed(gated=True, assigned=Assignment(0, ("a", "b")))
    resize = replace(RESIZE, nodes=("b", "b", "c"))
    (step,), _ = upkeep(training(SCHEDULER, gated, framework="mxnet"), [resize], NOW)
    assert written(patches(step)[0])[contract.ASSIGNED_NODES] == "0:b*2,c"


def test_a_restart_is_told_once() -> None:
    (step,), recheck = upkeep(training(SCHEDULER, WORKER, framework="mxnet"), [RESIZE], NOW)
    (event,) = step.events
    assert event.action == "Restarting"
    assert event.message == "worker 2 → 3: restarts: idle capacity: 3 of 3 fit"
    assert recheck is None


def test_pods_that_a_scale_up_adds_after_a_recovered_loss_are_not_lost() -> None:
    whole = role("worker", 1, 4, size=2, failures=7, pods=pods("worker", range(2)))
    up = Resize(KEY, "worker", 2, 4, because("idle capacity"))
    (step,), _ = upkeep(training(whole), [up], NOW)
    (patch,) = patches(step)
    grown = patched_role(whole, patch)
    assert (grown.status.size, missing_pods(grown)) == (4, 0)
    assert missing_pods(grown.changed(failures=8)) == 2
    lacking = whole.changed(pods=pods("worker", range(1)))
    (step,), _ = upkeep(training(lacking), [up], NOW)
    (patch,) = patches(step)
    assert missing_pods(patched_role(lacking, patch)) == 3


def test_a_suspended_role_stays_suspended() -> None:
    stopped = SCHEDULER.changed(suspended=True)
    (step,), _ = upkeep(training(stopped, WORKER, framework="mxnet"), [RESIZE], NOW)
    assert list(job_patches(step)) == ["mnist-worker"]


def test_a_restart_for_a_lost_pod_records_until_when_pods_may_be_missing() -> None:
    lacking = WORKER.changed(failures=1, pods=pods("worker", [0]))
    (step,), _ = upkeep(training(SCHEDULER, lacking, framework="mxnet"), [RESIZE], NOW)
    worker, scheduler = (written(patch) for patch in patches(step))
    assert worker[contract.DELAYED_UNTIL] == "2026-01-01T12:00:10Z"
    assert contract.DELAYED_UNTIL not in scheduler


LACKING = role("worker", 1, 4, size=3, failures=8, pods=pods("worker", range(2)))
"""A pod is missing, and the Job controller may create none for ten minutes."""


def scaled(before: Role, size: int) -> Role:
    change = Resize(KEY, "worker", before.status.size, size, because("makes room"))
    (step,), _ = upkeep(training(before), [change], NOW)
    (patch,) = patches(step)
    return patched_role(before, patch)


def test_a_scale_down_of_missing_pods_records_until_when_none_may_be_created() -> None:
    held = scaled(LACKING, 2)
    assert held.record.delayed_until == NOW + timedelta(minutes=10)
    assert scaled(LACKING.changed(pods=pods("worker", range(3))), 2).record.delayed_until is None


def test_the_record_lasts_until_its_time_or_until_a_pod_was_created() -> None:
    held = scaled(LACKING, 2).changed(resized_at=NOW - timedelta(seconds=20))
    until = held.record.delayed_until
    assert scaled(held, 1).record.delayed_until == until
    created = held.status.pods[0]
    recent = replace(created, created_at=NOW - timedelta(seconds=5))
    again = held.changed(pods=(recent, *held.status.pods[1:]))
    assert scaled(again, 1).record.delayed_until is None


def test_replicas_that_a_manual_size_adds_in_the_back_off_are_missing() -> None:
    larger = scaled(scaled(LACKING, 2), 4)
    assert larger.record.delayed_until == NOW + timedelta(minutes=10)
    assert missing_pods(larger) == 2


def test_a_stop_keeps_the_recorded_back_off() -> None:
    held = scaled(LACKING, 2)
    (step,), _ = upkeep(training(SCHEDULER, held, framework="mxnet"), [RESIZE], NOW)
    worker = next(one for one in patches(step) if one.target.name == "mnist-worker")
    assert contract.DELAYED_UNTIL not in written(worker)
