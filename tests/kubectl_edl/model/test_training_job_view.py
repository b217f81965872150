"""Why a training job is as it is, where its Jobs say different things."""

from edl.model import Code, PodPhase, ResizePolicy, TrainingJob
from kubectl_edl.model.training_job_view import view, why
from tests.edl.trainings import pod, role, training


def preempted(problem: str = "") -> TrainingJob:
    """Both Jobs were told why they stopped; then the first was told why the job waits."""
    waits = Code.INSUFFICIENT_CAPACITY
    return training(
        role("chief", suspended=True, resizing=ResizePolicy.FIXED, reason=waits, message="no room"),
        role(
            "worker",
            *(1, 4),
            suspended=True,
            reason=Code.PREEMPTED,
            message="makes room",
            problem=problem,
        ),
    )


def test_why_a_stopped_job_waits_comes_before_why_it_was_stopped() -> None:
    assert why(preempted()) == (Code.INSUFFICIENT_CAPACITY, "no room")


def test_a_wish_that_makes_no_sense_comes_before_why_it_waits() -> None:
    assert why(preempted("no number")) == (Code.INVALID, "no number")


def test_of_a_job_that_runs_the_elastic_role_is_told() -> None:
    found = training(
        role("chief", resizing=ResizePolicy.FIXED, reason=Code.ADMITTED, message="fits"),
        role("worker", 1, 4, replicas=2, reason=Code.MANUAL_SIZE, message="manual size"),
    )
    assert why(found) == (Code.MANUAL_SIZE, "manual size")


def test_a_size_that_a_job_has_grown_to_and_that_is_held_then_is_a_manual_one() -> None:
    def running(wanted: int | None, size: int) -> TrainingJob:
        idle = {"reason": Code.IDLE_CAPACITY, "message": "idle room: 3 of 4 fit"}
        return training(role("worker", 1, 4, size=size, replicas=wanted, **idle))

    assert why(running(3, 3)) == (Code.MANUAL_SIZE, "manual size")
    for other in (running(None, 3), running(4, 3)):
        assert why(other) == (Code.IDLE_CAPACITY, "idle room: 3 of 4 fit")


def test_a_minimum_that_lacks_lost_pods_comes_before_the_reason_of_its_start() -> None:
    told = {"reason": Code.ADMITTED, "message": "all 2 pods of its minimum fit"}
    found = training(role("worker", 2, 4, size=2, failures=1, pods=(), **told))
    assert why(found).reason is Code.PODS_MISSING
    assert why(found).message.startswith("2 of 2 pods of its minimum are missing: ")


def test_an_index_that_has_failed_for_good_is_not_pending() -> None:
    pods = (pod("worker", 0), pod("worker", 1, phase=PodPhase.FAILED, ready=False))
    items = {"size": 2, "remaining": 1, "finished_indexes": frozenset({1}), "pods": pods}
    found = training(role("worker", 1, 2, resizing=ResizePolicy.ITEMS, **items))
    assert view(found).pending == 0
