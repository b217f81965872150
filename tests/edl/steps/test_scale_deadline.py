"""A growth with a time limit comes in time, or the size before it comes back."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import contract, reasons
from edl.annotations.last_change import read_reason
from edl.model import ClusterState, Code, ResizePolicy, Role, ScaleDeadline
from edl.planner.plan import Plan, Resize, WaitingJob
from edl.steps.host_lists import LEAVE
from edl.steps.plan_steps import steps
from edl.steps.running_jobs import upkeep
from edl.writes import Step
from tests.edl.trainings import (
    KEY,
    NOW,
    hostfile,
    is_stopped,
    job_patches,
    patches,
    pod,
    pods,
    published,
    role,
    seconds,
    training,
    written,
)
from tests.reasons import because
from tests.roles import changed_pod

MINUTE = timedelta(minutes=1)
ANSWERED = {contract.SCALE_TIMEOUT: None, contract.SCALE_FALLBACK: None, contract.SCALING: None}
PS = role("ps", pods=pods("ps", [0]))


def since(age: float, fallback: int | None = None, before: int = 4) -> ScaleDeadline:
    return ScaleDeadline(MINUTE, fallback, NOW - seconds(age), before)


def worker(size: int, ready: int, scaling: ScaleDeadline | None, **fields: Any) -> Role:  # noqa: ANN401
    """Workers 1..12, 6 wanted; those above `ready` are on their way."""
    found = (*pods("worker", range(ready)), *pods("worker", range(ready, size), ready=False))
    return role("worker", 1, 12, size=size, replicas=6, pods=found, scaling=scaling, **fields)


def lived(found: Role, *resizes: Resize, now: datetime = NOW) -> tuple[Step, timedelta | None]:
    (step,), recheck = upkeep(training(PS, found), resizes, now)
    return step, recheck


def notes(step: Step) -> dict[str, str | None]:
    """The annotations of the one patch, without what every change says."""
    (patch,) = patches(step)
    said = (
        contract.REASON,
        contract.MESSAGE,
        contract.LAST_CHANGE,
        contract.HISTORY,
        contract.RESIZED_AT,
    )
    return {name: text for name, text in written(patch).items() if name not in said}


def test_the_clock_starts_with_the_growth_itself() -> None:
    step, _ = lived(
        worker(4, 4, ScaleDeadline(MINUTE)), Resize(KEY, "worker", 4, 6, because("manual size"))
    )
    assert job_patches(step) == {"mnist-worker": {"parallelism": 6, "completions": 6}}
    assert notes(step) == {contract.SCALING: "2026-01-01T12:00:00Z 4 6"}


def test_the_clock_starts_without_room_as_well() -> None:
    step, _ = lived(worker(4, 4, ScaleDeadline(MINUTE)))
    assert notes(step) == {contract.SCALING: "2026-01-01T12:00:00Z 4 6"}
    assert "spec" not in patches(step)[0].body


def test_it_is_looked_at_again_when_the_time_is_up() -> None:
    step, recheck = lived(worker(6, 4, since(20)))
    assert (step.writes, recheck) == ((), seconds(40))


def test_a_growth_that_came_is_answered() -> None:
    step, recheck = lived(worker(6, 6, since(20)))
    assert notes(step) == ANSWERED
    assert [event.reason for event in step.events] == ["ScaleSucceeded"]
    assert recheck is None


def test_a_growth_that_came_late_by_a_blink_has_come() -> None:
    step, _ = lived(worker(6, 6, since(61)))
    assert notes(step) == ANSWERED
    assert job_patches(step) == {"mnist-worker": {}}


@pytest.mark.parametrize(("fallback", "held"), [(None, None), (4, "4")])
def test_a_growth_that_did_not_come_is_taken_back(fallback: int | None, held: str | None) -> None:
    step, _ = lived(worker(6, 5, since(60, fallback)))
    assert job_patches(step) == {"mnist-worker": {"parallelism": 4, "completions": 4}}
    assert notes(step) == ANSWERED | {contract.REPLICAS: held}
    told = written(patches(step)[0])
    assert told[contract.MESSAGE] == "reverted to 4: 6 not ready within 60 s"
    assert told[contract.HISTORY].endswith(
        " ScaleFailed 6 4 ScaleFailed reverted to 4: 6 not ready within 60 s"
    )
    failed = step.events[-1]
    assert (failed.reason, failed.warning) == ("ScaleFailed", True)
    assert failed.message == "worker: reverted to 4: 6 not ready within 60 s"


def test_a_growth_is_taken_back_no_further_than_ranks_that_still_train() -> None:
    """Ranks 0 and 1 have ended meanwhile: at size 2 the Job would be complete."""
    found = worker(6, 5, since(60, before=2), finished_indexes=frozenset({0, 1}))
    step, _ = lived(found)
    assert job_patches(step) == {"mnist-worker": {"parallelism": 3, "completions": 3}}


def test_a_timed_scale_up_that_fails_during_a_start_keeps_the_count_of_failed_starts() -> None:
    last = replace(reasons.started(5), failed_starts=2)
    step, _ = lived(worker(6, 5, since(60), last=last))
    recorded = read_reason(written(patches(step)[0])[contract.LAST_CHANGE])
    assert recorded is not None
    assert (recorded.code, recorded.failed_starts) == (Code.SCALE_FAILED, 2)


def test_a_growth_for_which_there_was_never_room_is_answered_too() -> None:
    step, _ = lived(worker(4, 4, since(60)))
    assert notes(step) == ANSWERED | {contract.REPLICAS: None}
    assert job_patches(step) == {"mnist-worker": {}}
    assert [event.reason for event in step.events] == ["ScaleFailed"]


def test_a_growth_that_the_plan_holds_back_names_the_reason() -> None:
    job = training(PS, worker(4, 4, since(60)))
    plan = Plan(waiting=(WaitingJob(KEY, because("Insufficient cpu")),))
    (step,) = steps(plan, ClusterState(NOW, (), (job,))).steps
    told = "reverted to 4: 6 not ready within 60 s (Insufficient cpu)"
    assert [event.message for event in step.events] == [f"worker: {told}"]
    assert written(patches(step)[0])[contract.MESSAGE] == told


def test_the_plan_does_not_grow_what_is_taken_back() -> None:
    step, _ = lived(worker(4, 4, since(60)), Resize(KEY, "worker", 4, 5, because("manual size")))
    assert job_patches(step) == {"mnist-worker": {}}


def test_a_listed_worker_leaves_the_host_list_first() -> None:
    found = pod("launcher", 0, hosts=hostfile(range(5)), published_at=NOW - MINUTE)
    job = training(
        role("launcher", pods=(changed_pod(found, confirmed_at=NOW - MINUTE),)),
        worker(6, 5, since(60)),
        framework="horovod",
    )
    (step,), recheck = upkeep(job, [], NOW)
    assert published(step.writes) == hostfile(range(4))
    assert job_patches(step) == {}
    assert recheck == LEAVE


def test_another_wish_starts_the_clock_anew_but_remembers_the_size() -> None:
    step, _ = lived(worker(5, 4, ScaleDeadline(MINUTE, None, None, 4)))
    assert notes(step) == {contract.SCALING: "2026-01-01T12:00:00Z 4 6"}


def test_a_limit_that_was_taken_away_leaves_no_clock_behind() -> None:
    step, _ = lived(worker(5, 4, ScaleDeadline(None, None, None, 4)))
    assert notes(step) == ANSWERED
    assert step.events == ()


def test_a_shrink_never_fails() -> None:
    step, recheck = lived(worker(8, 8, since(900, before=8)))
    assert (step.writes, recheck) == ((), None)


def test_no_clock_starts_in_the_queue() -> None:
    waiting = worker(6, 0, ScaleDeadline(MINUTE), suspended=True)
    step, _ = lived(waiting.changed(pods=()))
    assert step.writes == ()


RESTARTING = {"resizing": ResizePolicy.RESTART}


def test_what_restarts_is_taken_back_by_another_restart() -> None:
    step, _ = lived(worker(6, 5, since(60), **RESTARTING))
    assert job_patches(step)["mnist-worker"] == {
        "suspend": True,
        "parallelism": 4,
        "completions": 4,
    }
    patch = patches(step)[0]
    assert {name: written(patch)[name] for name in ANSWERED} == ANSWERED
    assert is_stopped(written(patch))
    assert [event.action for event in step.events] == ["Restarting", "Scaled"]


def test_what_stopped_for_room_that_never_came_starts_again_as_it_was() -> None:
    stopped = worker(6, 0, since(60), suspended=True, **RESTARTING)
    why = reasons.restart(reasons.MANUAL_SIZE)
    step, _ = lived(stopped.changed(pods=(), last=why))
    assert job_patches(step) == {"mnist-worker": {"parallelism": 4, "completions": 4}}
    assert is_stopped(written(patches(step)[0]))


def test_until_then_nothing_is_done() -> None:
    step, recheck = lived(worker(6, 5, since(60)), now=NOW - seconds(1))
    assert (step.writes, recheck) == ((), seconds(1))
