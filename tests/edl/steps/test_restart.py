from msgspec.structs import replace

from edl import contract
from edl.lost_pods import missing_pods
from edl.model import Assignment, ResizePolicy
from edl.planner.plan import Resize
from edl.simulator.cluster.apply_patches import patched_role
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


def test_a_scale_down_of_missing_pods_records_until_when_none_may_be_created() -> None:
    lacking = role("worker", 1, 4, size=3, failures=8, pods=pods("worker", range(2)))
    down = Resize(KEY, "worker", 3, 2, because("makes room"))
    (step,), _ = upkeep(training(lacking), [down], NOW)
    (patch,) = patches(step)
    assert written(patch)[contract.DELAYED_UNTIL] == "2026-01-01T12:10:00Z"
    whole = lacking.changed(pods=pods("worker", range(3)))
    (step,), _ = upkeep(training(whole), [down], NOW)
    (patch,) = patches(step)
    assert contract.DELAYED_UNTIL not in written(patch)
