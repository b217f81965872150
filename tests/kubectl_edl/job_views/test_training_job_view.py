"""The reason of a training job whose Jobs have different reasons."""

from typing import Any

from edl import contract, reasons
from edl.messages import message
from edl.model import (
    Code,
    JobEnd,
    Phase,
    Pod,
    PodPhase,
    RefusedSize,
    ResizePolicy,
    Role,
    TrainingJob,
    WriteRefusal,
)
from edl.model.causes.reason_subjects import Growth
from kubectl_edl.job_views.job_reasons import Why, why, why_of_role
from kubectl_edl.job_views.training_job_view import document, view
from tests.edl.trainings import LONG_AGO, NOW, pod, role, training


def why_alone(found: Role) -> Why:
    """The reason of the only role of a job."""
    return why_of_role(training(found), found)


def preempted(problem: str = "") -> TrainingJob:
    """Both Jobs have the reason of the suspension; the first also has the reason of the wait."""
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


def test_the_reason_of_a_wait_precedes_the_reason_of_the_suspension() -> None:
    assert why(preempted()) == (Code.INSUFFICIENT_CAPACITY, "no room")


def test_an_invalid_request_precedes_the_reason_of_a_wait() -> None:
    assert why(preempted("no number")) == (Code.INVALID, "no number")


def test_a_running_job_shows_the_reason_of_its_elastic_role() -> None:
    found = training(
        role("chief", resizing=ResizePolicy.FIXED, reason=Code.ADMITTED, message="fits"),
        role("worker", 1, 4, replicas=2, reason=Code.MANUAL_SIZE, message="manual size"),
    )
    assert why(found) == (Code.MANUAL_SIZE, "manual size")


def test_a_manual_size_equal_to_the_current_size_is_shown_as_manual() -> None:
    def running(wanted: int | None, size: int) -> TrainingJob:
        idle = {"reason": Code.IDLE_CAPACITY, "message": "idle capacity: 3 of 4 fit"}
        return training(role("worker", 1, 4, size=size, replicas=wanted, **idle))

    assert why(running(3, 3)) == (Code.MANUAL_SIZE, "manual size")
    for other in (running(None, 3), running(4, 3)):
        assert why(other) == (Code.IDLE_CAPACITY, "idle capacity: 3 of 4 fit")


def test_a_manual_size_equal_to_the_size_of_the_start_is_shown_as_manual() -> None:
    fits = "the pod of its minimum fits; idle capacity: 2 of 2 fit"
    for code in (Code.ADMITTED, Code.RECLAIMED, Code.FAIR_SHARING):
        started = role("worker", 1, 2, size=2, replicas=2, reason=code, message=fits)
        assert why(training(started)) == (Code.MANUAL_SIZE, "manual size")
    failed = role("worker", 1, 2, size=2, replicas=2, reason=Code.SCALE_FAILED, message="reverted")
    assert why(training(failed)) == (Code.SCALE_FAILED, "reverted")


def test_a_role_of_fixed_size_that_restarted_for_a_manual_size_is_fixed() -> None:
    manual: dict[str, Any] = {"reason": Code.MANUAL_SIZE, "message": "manual size"}
    assert why_alone(role("server", **manual)) == (Code.FIXED_SIZE, "its size is fixed")
    elastic = role("worker", 1, 4, size=2, **manual)
    assert why_alone(elastic) == (None, "sized automatically")


def test_a_size_request_after_a_reverted_scale_up_is_shown_without_its_message() -> None:
    def asked(wanted: int | None) -> Why:
        return why_alone(role("worker", 1, 4, size=2, replicas=wanted, last=failed))

    failed = reasons.scale_failed(Growth(4, 2, 60, ""))
    assert asked(None) == (None, "sized automatically")
    assert asked(2) == (Code.MANUAL_SIZE, "manual size")
    assert asked(4) == (None, "manual size 4, 2 short: the scale-up waits for free capacity")
    assert asked(1) == (None, "manual size 1")
    done = {"finished_indexes": frozenset({0}), "indexed": True}
    finishing = role("worker", 1, 4, size=2, replicas=4, last=failed, **done)
    ended = "neither scaled up nor restarted: some of its pods have already succeeded"
    assert why_alone(finishing) == (None, f"manual size 4, 2 short: {ended}")


def test_a_size_that_a_removal_made_manual_is_shown_as_manual() -> None:
    told = {"reason": Code.PODS_REMOVED, "message": "removed by name: bert-3-vnhtv"}
    found = training(role("worker", 1, 4, size=3, replicas=3, **told))
    assert why(found) == (Code.MANUAL_SIZE, "manual size")


def test_a_role_below_its_raised_minimum_does_not_say_that_its_minimum_fits() -> None:
    fits = {"reason": Code.ADMITTED, "message": "all 2 pods of its minimum fit"}
    raised = role("worker", 4, 8, size=2, **fits)
    assert why_alone(raised) == (Code.BELOW_MIN, "2 below its minimum")


FITS: dict[str, Any] = {"reason": Code.ADMITTED, "message": "the pod of its minimum fits"}


def test_a_role_that_has_ended_does_not_say_that_its_minimum_fits() -> None:
    failed = role("worker", 1, 4, ending=JobEnd.FAILED, **FITS)
    assert why_alone(failed) == (Code.FAILED, "its Job has failed")
    complete = role("worker", 1, 4, ending=JobEnd.COMPLETE, **FITS)
    assert why_alone(complete) == (Code.COMPLETE, "its Job is complete")


def test_a_role_with_lost_pods_says_so() -> None:
    found = role("worker", 2, 4, size=3, failures=1, pods=(pod("worker", 0),), **FITS)
    job = training(role("chief", pods=(pod("chief", 0),), **FITS), found)
    assert why_of_role(job, found).reason is Code.PODS_MISSING
    assert why_of_role(job, found).message.startswith("2 of 3 pods are missing: the Job controller")
    assert why_of_role(job, job.roles[0]).reason is Code.ADMITTED


def test_a_role_that_outlives_its_job_has_the_reason_of_that_end() -> None:
    chief, worker = role("chief", ending=JobEnd.COMPLETE, **FITS), role("worker", 1, 4, **FITS)
    job = training(chief, worker)
    assert why_of_role(job, worker) == why(job) == (Code.COMPLETE, "mnist is done")


def test_a_role_with_fewer_work_items_than_it_had_replicas_says_so() -> None:
    idle = {"reason": Code.IDLE_CAPACITY, "message": "idle capacity: 6 of 6 fit"}

    def items(remaining: int, *, is_queue: bool = False) -> str:
        found = role("worker", 1, 6, size=6, remaining=remaining, is_queue=is_queue, **idle)
        return why_alone(found).message

    assert items(6) == "idle capacity: 6 of 6 fit"
    assert items(2) == "2 work items are left, with one pod each"
    ends = "a pod of this work queue has succeeded: Kubernetes adds none, and removes none"
    assert items(2, is_queue=True) == f"2 pods are left; {ends}"
    assert items(1, is_queue=True) == f"1 pod is left; {ends}"
    manual = {"reason": Code.MANUAL_SIZE, "message": "manual size"}
    ending = role("worker", 1, 6, size=6, remaining=2, is_queue=True, **manual)
    assert why_alone(ending).message == f"2 pods are left; {ends}"


def test_work_items_that_each_have_a_pod_are_not_said_to_lack_capacity() -> None:
    idle = {"reason": Code.IDLE_CAPACITY, "message": "idle capacity: 4 of 6 fit"}
    assert why_alone(role("worker", 1, 6, size=4, remaining=5, **idle)).message == idle["message"]
    ends = role("worker", 1, 6, size=4, remaining=4, **idle)
    assert why_alone(ends).message == "4 work items are left, with one pod each"


def test_lost_pods_of_the_minimum_precede_the_reason_of_the_start() -> None:
    told = {"reason": Code.ADMITTED, "message": "all 2 pods of its minimum fit"}
    found = training(role("worker", 2, 4, size=2, failures=1, pods=(), **told))
    assert why(found).reason is Code.PODS_MISSING
    assert why(found).message.startswith("2 of 2 pods of its minimum are missing: ")


def test_lost_pods_of_the_minimum_precede_a_refused_size() -> None:
    refused = WriteRefusal(NOW, 1, "denied by a policy", RefusedSize("worker", 8, grows=True))
    found = training(role("worker", 2, 8, failures=2), refusals=(refused,))
    assert why(found).message.startswith("2 of 2 pods of its minimum are missing: ")


def test_lost_extras_precede_the_reason_of_the_size() -> None:
    told = {"reason": Code.RECLAIMED, "message": "to make room for a pod that is long gone"}
    found = training(role("worker", 1, 4, size=3, failures=1, pods=(pod("worker", 0),), **told))
    assert why(found).message.startswith("2 of 3 pods are missing: the Job controller creates them")


def test_a_replacement_of_the_minimum_without_a_node_precedes_the_reason_of_the_start() -> None:
    told = {"reason": Code.ADMITTED, "message": "all 2 pods of its minimum fit"}
    pending = {"node": "", "phase": PodPhase.PENDING, "ready": False}

    def running(*pods: Pod) -> TrainingJob:
        return training(role("worker", 2, 4, size=2, pods=pods, **told), started_at=LONG_AGO)

    again = pod("worker", 1, **pending, created_at=NOW)
    assert why(running(pod("worker", 0), again)) == (
        Code.INSUFFICIENT_CAPACITY,
        "not all pods of its minimum have a node yet",
    )
    (worker,) = running(pod("worker", 0), again).roles
    chief = role("chief", 1, 1, pods=(pod("chief", 0),), **told)
    job = training(chief, worker, started_at=LONG_AGO)
    assert why_of_role(job, worker) == why(job)
    assert why_of_role(job, chief).reason is Code.ADMITTED, "its own pod has a node"
    first = pod("worker", 1, **pending, created_at=LONG_AGO)
    assert why(running(pod("worker", 0), first)).reason is Code.ADMITTED, "it has just started"
    extra = pod("worker", 2, **pending, created_at=NOW)
    whole = (pod("worker", 0), pod("worker", 1), extra)
    assert why(running(*whole)).reason is Code.ADMITTED, "its minimum runs"


def test_a_pod_behind_a_gate_of_its_template_precedes_the_reason_of_the_start() -> None:
    pending = {"node": "", "phase": PodPhase.PENDING, "ready": False, "created_at": LONG_AGO}

    def running(gate: str) -> TrainingJob:
        found = pod("worker", 0, gates=(gate,), **pending)
        told: dict[str, Any] = {"reason": Code.ADMITTED, "message": "the pod of its minimum fits"}
        return training(role("worker", size=1, pods=(found,), **told), started_at=LONG_AGO)

    assert why(running("example.com/quota")).reason is Code.PODS_GATED
    assert why(running(contract.PLACEMENT_GATE)).reason is Code.ADMITTED


def test_near_their_end_work_items_have_fewer_replicas_than_parallelism() -> None:
    """The Job controller creates no more pods than items remain."""
    pods = tuple(pod("worker", index) for index in range(4))
    items = {"size": 6, "remaining": 4, "indexed": False, "pods": pods}
    shown = view(training(role("worker", 2, 6, resizing=ResizePolicy.ITEMS, **items)))
    assert (shown.sizes, shown.pending) == ("worker=4/2..6", 0)
    assert document(shown, None)["roles"][0]["replicas"] == 4


def test_an_index_that_has_failed_for_good_is_not_pending() -> None:
    pods = (pod("worker", 0), pod("worker", 1, phase=PodPhase.FAILED, ready=False))
    items = {"size": 2, "remaining": 1, "finished_indexes": frozenset({1}), "pods": pods}
    found = training(role("worker", 1, 2, resizing=ResizePolicy.ITEMS, **items))
    assert view(found).pending == 0


def test_growth_up_to_another_max_is_shown_without_it() -> None:
    """The max was changed since, and the reconciler writes no reason for a size that stays."""
    last = reasons.grown(5, 30)
    fields = {"reason": last.code, "message": message(last), "last": last}
    assert why_alone(role("worker", 1, 30, **fields)).message == "idle capacity: 5 of 30 fit"
    assert why_alone(role("worker", 1, 8, **fields)).message == "idle capacity"


def test_two_columns_of_a_table_share_one_computed_reason() -> None:
    shown = view(preempted())
    assert shown.why is shown.why


def test_the_minimum_of_a_job_that_is_stopped_for_a_restart_is_pending() -> None:
    last = reasons.restart(reasons.POD_LOST)
    stopped = role("worker", 2, 4, suspended=True, last=last, resizing=ResizePolicy.RESTART)
    shown = view(training(stopped))
    assert (shown.phase, shown.pending) == (Phase.SCALING, 2)


def test_ranks_that_have_ended_are_not_pending_at_a_start() -> None:
    last, over = reasons.restart(reasons.POD_LOST), frozenset({0})
    fields = {"suspended": True, "last": last, "size": 4, "finished_indexes": over}
    assert view(training(role("worker", 1, 4, **fields))).pending == 1
