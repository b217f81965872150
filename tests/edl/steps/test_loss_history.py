"""Which lost pods are recorded in the history."""

from typing import Any

from edl.annotations.job_history import Operation, last_entry
from edl.contract import HISTORY
from edl.steps.running_jobs import losses
from tests.edl.trainings import NOW, pods, role, training, written

LOST = "2026-01-01T11:59:00.000Z PodsLost 3 2 PodsMissing 1 of 3 pods is missing"


def recorded(there: int, **fields: Any) -> tuple[Operation, int, int] | None:  # noqa: ANN401
    """What is recorded of a role of three pods, of which `there` exist."""
    usual: dict[str, Any] = {"size": 3, "failures": 1, "pods": pods("worker", range(there))}
    found = role("worker", 1, 4, **(usual | fields))
    for patch in losses(training(found), found, NOW):
        entry = last_entry(written(patch)[HISTORY] or "")
        return entry and (entry.operation, entry.before, entry.after)
    return None


def test_a_loss_is_recorded_once() -> None:
    assert recorded(2) == (Operation.LOST, 3, 2)
    assert recorded(2, history=LOST) is None


def test_the_return_of_lost_pods_is_recorded() -> None:
    assert recorded(3, history=LOST) == (Operation.RECREATED, 2, 3)
    assert recorded(3) is None


def test_pods_that_were_never_there_are_not_lost() -> None:
    assert recorded(2, failures=0) is None


def test_pods_of_a_suspended_role_are_not_lost() -> None:
    assert recorded(0, suspended=True, history=LOST) is None


def test_failed_pods_of_work_items_are_not_recorded() -> None:
    assert recorded(2, remaining=9, indexed=False) is None
