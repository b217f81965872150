"""When parts of a training job beside its Jobs are written again."""

import pytest

from edl.model import JobKey, ObjectRef
from edl.writes import DEPENDENTS, Create, CreateKeys, Delete, Step, Write
from reconciler.job_backoff import AFTER_FAILURE, LASTING, JobBackoff

JOB = JobKey("web", "train")
BUDGET = ObjectRef("PodDisruptionBudget", "web", "train-worker-first-2")
OLD = ObjectRef("PodDisruptionBudget", "web", "train-worker-first-3")
NEW: Write = Create(BUDGET, {"metadata": {}})
KEYS: Write = CreateKeys(ObjectRef("Secret", "web", "train-ssh"), {"metadata": {}})
REPLACES: tuple[Write, ...] = (NEW, Delete(OLD, uid="1"))


def step(*writes: Write) -> Step:
    return Step(JOB, writes, part=DEPENDENTS)


def test_a_budget_that_changes_all_the_time_is_written_in_each_round() -> None:
    backoff, asked = JobBackoff(), step(*REPLACES)
    for now in range(9):
        assert backoff.due([asked], now) == (asked,)
        backoff.succeeded(asked, now)


@pytest.mark.parametrize("writes", [(NEW,), (KEYS, NEW)])
def test_creations_that_are_asked_for_again_are_ever_rarer(writes: tuple[Write, ...]) -> None:
    """An object of another owner, which is not seen, has the name."""
    backoff, asked, due = JobBackoff(), step(*writes), []
    for now in range(16):
        if backoff.due([asked], now):
            due.append(now)
            backoff.succeeded(asked, now)
    assert due == [0, 1, 3, 7, 15]


def test_the_first_success_after_many_refusals_is_the_last_delay() -> None:
    backoff = JobBackoff()
    for now in (0, 20, 40, 60, 80, 100):
        backoff.failed(JOB, now, DEPENDENTS)
    assert backoff.is_lasting(JOB, 170, DEPENDENTS)
    backoff.succeeded(step(NEW), 170)
    assert backoff.is_backing_off(JOB, 170.5, DEPENDENTS)
    assert not backoff.is_backing_off(JOB, 170 + AFTER_FAILURE.first, DEPENDENTS)
    backoff.failed(JOB, 180, DEPENDENTS)
    assert not backoff.is_lasting(JOB, 180 + LASTING - 1, DEPENDENTS)


def test_steps_that_failed_come_after_others_and_the_first_that_failed_before_the_next() -> None:
    """Where each try lasts, there is time for a few: all have their turn."""
    backoff = JobBackoff()
    second, first, other = (Step(JobKey("web", name), (NEW,)) for name in ("a", "b", "c"))
    backoff.failed(first.job, 1)
    backoff.failed(second.job, 2)
    assert backoff.due([second, first, other], 60) == (other, first, second)
