from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from edl.contract import CleanUp
from edl.model import Ending, Phase, PodPhase, Resizing, Role
from edl.phases import ending, phase, runs
from tests.edl.trainings import pods, role, training

CHIEF = role("chief", pods=pods("chief", [0]))
WORKER = role("worker", 2, 4, pods=pods("worker", [0, 1]))
PS = role("ps", pods=pods("ps", [0]))


def waiting(found: Role) -> Role:
    return replace(found, suspended=True, pods=())


def done(found: Role, how: Ending = Ending.COMPLETE, size: int | None = None) -> Role:
    return replace(found, ending=how, size=found.size if size is None else size, pods=())


@pytest.mark.parametrize(
    ("roles", "fields", "expected"),
    [
        ([CHIEF, WORKER], {}, Phase.RUNNING),
        ([waiting(CHIEF), waiting(WORKER)], {}, Phase.QUEUED),
        ([waiting(CHIEF), waiting(WORKER)], {"paused": True}, Phase.PAUSED),
        ([waiting(CHIEF)], {"missing": ("worker",)}, Phase.INCOMPLETE),
        ([], {"missing": ("worker",)}, Phase.INCOMPLETE),
        ([CHIEF, replace(WORKER, pods=pods("worker", [0]))], {}, Phase.STARTING),
        ([CHIEF, waiting(WORKER)], {}, Phase.STARTING),
        ([done(CHIEF), WORKER], {}, Phase.FINISHING),
        ([done(CHIEF), done(WORKER)], {}, Phase.SUCCEEDED),
        ([done(CHIEF, Ending.FAILED), done(WORKER)], {}, Phase.FAILED),
        ([CHIEF, done(WORKER)], {}, Phase.RUNNING),
    ],
)
def test_a_phase_is_read_off_the_roles(
    roles: Sequence[Role], fields: Mapping[str, Any], expected: Phase
) -> None:
    assert phase(training(*roles, **fields)) is expected


def test_a_job_that_keeps_its_pods_is_done_at_once() -> None:
    job = training(done(CHIEF), WORKER, clean_up=CleanUp.NONE)
    assert phase(job) is Phase.SUCCEEDED


def test_a_failed_role_fails_the_training_job() -> None:
    job = training(CHIEF, done(WORKER, Ending.FAILED))
    assert ending(job) is Ending.FAILED
    assert phase(job) is Phase.FINISHING


def test_it_stays_failed_when_its_chief_was_ended_for_that() -> None:
    job = training(done(CHIEF, size=0), done(WORKER, Ending.FAILED), done(PS, size=0))
    assert phase(job) is Phase.FAILED


def test_a_failure_after_the_chief_was_done_changes_nothing() -> None:
    assert ending(training(done(CHIEF), done(WORKER, Ending.FAILED))) is Ending.COMPLETE


def test_a_role_that_only_ended_early_ends_nobody() -> None:
    assert ending(training(CHIEF, done(WORKER))) is None


def test_pods_that_failed_are_not_at_work() -> None:
    failed = pods("worker", [0, 0], ready=False, phase=PodPhase.FAILED)
    assert not runs(replace(WORKER, pods=failed))


def test_pods_that_are_done_count_as_their_work() -> None:
    ended = pods("worker", [0, 1], ready=False, phase=PodPhase.SUCCEEDED)
    assert runs(replace(WORKER, resizing=Resizing.ITEMS, pods=ended))


def test_pods_that_leave_do_not_count() -> None:
    leaving = pods("worker", [0, 1], terminating=True)
    assert not runs(replace(WORKER, pods=leaving))
