from collections.abc import Sequence
from typing import Any

import pytest

from edl import contract
from edl.contract import CleanUp
from edl.model import FailureRules, JobEnd, PodPhase, Role
from edl.steps.finish import finish
from edl.steps.running_jobs import upkeep
from edl.writes import Delete, Step
from tests.edl.trainings import (
    NOW,
    deleted,
    job_patches,
    patches,
    pods,
    role,
    training,
    written,
)

CHIEF = role("chief", ending=JobEnd.COMPLETE)
PS = role("ps", 2)
WORKER = role("worker", 1, 3, size=2)
NOTHING_LEFT = {"parallelism": 0, "completions": 0}


def ended(*roles: Role, clean_up: CleanUp = CleanUp.RUNNING) -> Step:
    (step,), recheck = upkeep(training(*(one.changed(clean_up=clean_up) for one in roles)), (), NOW)
    assert recheck is None
    return step


@pytest.mark.parametrize("clean_up", [CleanUp.RUNNING, CleanUp.ALL])
def test_when_the_chief_is_done_the_others_end_in_one_patch_each(clean_up: CleanUp) -> None:
    step = ended(CHIEF, PS, WORKER, clean_up=clean_up)
    assert job_patches(step) == {"mnist-ps": NOTHING_LEFT, "mnist-worker": NOTHING_LEFT}
    assert {written(patch)[contract.MESSAGE] for patch in patches(step)} == {"mnist is done"}
    assert [patch.version for patch in patches(step)] == ["v-ps", "v-worker"]
    assert [(event.target.name, event.action) for event in step.events] == [
        ("mnist-ps", "Ended"),
        ("mnist-worker", "Ended"),
    ]


def test_waiting_jobs_end_too() -> None:
    step = ended(CHIEF, PS.changed(suspended=True))
    assert job_patches(step) == {"mnist-ps": NOTHING_LEFT}


@pytest.mark.parametrize("clean_up", CleanUp)
def test_a_job_that_ended_while_suspended_is_resumed_to_record_its_end(clean_up: CleanUp) -> None:
    wedged = CHIEF.changed(suspended=True, end_unrecorded=True)
    step = ended(wedged, WORKER.changed(size=0), clean_up=clean_up)
    assert job_patches(step)["mnist-chief"] == {"suspend": False}


def test_an_ended_suspended_job_is_resumed_while_other_roles_run() -> None:
    done = PS.changed(ending=JobEnd.COMPLETE, suspended=True, end_unrecorded=True)
    (step,), _ = upkeep(training(CHIEF.changed(ending=None), done, WORKER), (), NOW)
    assert job_patches(step)["mnist-ps"] == {"suspend": False}


def test_ending_is_written_once() -> None:
    step = ended(CHIEF, PS.changed(size=0), WORKER.changed(ending=JobEnd.COMPLETE, size=0))
    assert (step.writes, step.events) == ((), ())


def test_none_keeps_everything() -> None:
    step = ended(CHIEF, PS, WORKER, clean_up=CleanUp.NONE)
    assert (step.writes, step.events) == ((), ())


def test_the_deciding_role_fails_with_a_role_that_failed() -> None:
    failed = WORKER.changed(ending=JobEnd.FAILED)
    step = ended(CHIEF.changed(ending=None), PS, failed)
    at_once = {"activeDeadlineSeconds": 0, "suspend": False}
    assert job_patches(step) == {"mnist-chief": at_once, "mnist-ps": NOTHING_LEFT}
    assert {event.message for event in step.events} == {"mnist has failed"}


def _all_ended(clean_up: CleanUp) -> Sequence[str]:
    over = pods("chief", [0], ready=False, phase=PodPhase.SUCCEEDED)
    leaving = pods("worker", [0], terminating=True)
    roles = (
        CHIEF.changed(pods=over),
        WORKER.changed(ending=JobEnd.COMPLETE, size=0, pods=leaving),
    )
    return [target.name for target in deleted(ended(*roles, clean_up=clean_up))]


@pytest.mark.parametrize("clean_up", [CleanUp.RUNNING, CleanUp.NONE])
def test_pods_that_ended_stay_for_their_logs(clean_up: CleanUp) -> None:
    assert _all_ended(clean_up) == []


def test_all_removes_them_once_nothing_runs() -> None:
    assert _all_ended(CleanUp.ALL) == ["mnist-chief-0-abcde"]


def test_all_waits_for_the_others() -> None:
    over = pods("chief", [0], ready=False, phase=PodPhase.SUCCEEDED)
    assert deleted(ended(CHIEF.changed(pods=over), PS, clean_up=CleanUp.ALL)) == []


def test_a_pod_is_deleted_in_the_version_that_was_seen() -> None:
    over = pods("chief", [0], ready=False, phase=PodPhase.SUCCEEDED)
    step = finish(training(CHIEF.changed(pods=over, clean_up=CleanUp.ALL)), JobEnd.COMPLETE, NOW)
    (delete,) = step.writes
    assert isinstance(delete, Delete)
    assert delete.version == over[0].version


def test_a_job_past_its_deadline_is_not_patched_again() -> None:
    failed = WORKER.changed(ending=JobEnd.FAILED)
    told = CHIEF.changed(ending=None, deadline_passed=True)
    assert job_patches(ended(told, failed)) == {}


@pytest.mark.parametrize(
    "rules",
    [
        {"has_success_policy": True},
        {"failure_rules": FailureRules(per_index=1, indexes=1)},
    ],
)
def test_a_job_whose_rules_need_an_index_gets_a_deadline(rules: dict[str, Any]) -> None:
    step = ended(CHIEF, PS, WORKER.changed(**rules))
    at_once = {"activeDeadlineSeconds": 0, "suspend": False}
    assert job_patches(step) == {"mnist-ps": NOTHING_LEFT, "mnist-worker": at_once}


def times(step: Step) -> list[tuple[str, object]]:
    name = "ttlSecondsAfterFinished"
    found = [one for one in patches(step) if name in (one.body.get("spec") or {})]
    return [(one.target.name, one.body["spec"][name]) for one in found]


def test_a_jobs_time_to_live_begins_when_all_have_ended_and_the_deciding_one_goes_last() -> None:
    chief = CHIEF.changed(held_ttl=0)
    assert times(ended(chief, PS, WORKER)) == []
    ps, worker = (one.changed(ending=JobEnd.COMPLETE, size=0, held_ttl=9) for one in (PS, WORKER))
    assert times(ended(chief, ps, WORKER)) == []
    assert times(ended(chief, ps, worker)) == [
        ("mnist-ps", 9),
        ("mnist-worker", 9),
        ("mnist-chief", 0),
    ]


def test_nothing_is_written_where_no_time_is_held() -> None:
    assert ended(CHIEF, PS.changed(ending=JobEnd.COMPLETE, size=0)).writes == ()


def test_without_clean_up_times_to_live_begin_when_all_have_ended_too() -> None:
    chief, ps = CHIEF.changed(held_ttl=0), PS.changed(held_ttl=5)
    assert times(ended(chief, ps, clean_up=CleanUp.NONE)) == []
    failed = ps.changed(ending=JobEnd.FAILED, size=0)
    assert times(ended(chief, failed, clean_up=CleanUp.NONE)) == [
        ("mnist-ps", 5),
        ("mnist-chief", 0),
    ]
