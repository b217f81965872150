"""Pods that a plan ends, where a `podFailurePolicy` might take their end for a failure."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from edl.model import (
    ClusterState,
    Code,
    ExitCodeRule,
    FailureRules,
    Pod,
    ResizePolicy,
    Role,
    TrainingJob,
)
from edl.model.pods import DisruptionMark
from edl.planner.plan import Plan, Resize, Suspension
from edl.steps.plan_steps import Steps, steps
from edl.steps.running_jobs import upkeep
from edl.steps.sizes.start import stop
from edl.steps.step_collector import DueSteps
from edl.writes import ConditionPatch, Patch, Step
from tests.edl.trainings import KEY, LONG_AGO, NOW, pod, pods, role, seconds, training
from tests.reasons import because

FAILS = ExitCodeRule("FailJob", frozenset({1}), spares_disrupted=True)
WHY = because("another job needs it")


def worker(*rules: ExitCodeRule, **fields: object) -> Role:
    usual = {"size": 3, "pods": pods("worker", range(3))} | fields
    return role("worker", 1, 4, **usual).changed(failure_rules=FailureRules(rules))


def smaller(job: TrainingJob, after: int) -> Step:
    (step,), _ = upkeep(job, [Resize(KEY, "worker", 3, after, WHY)], NOW)
    return step


def conditions(step: Step, status: str) -> list[Patch]:
    """The patches that write this status of the condition DisruptionTarget."""
    patches = (write for write in step.writes if isinstance(write, ConditionPatch))
    return [patch for patch in patches if patch.body["status"] == status]


def marked(step: Step) -> list[str]:
    """The names of marked pods; every mark precedes all other writes."""
    marks = conditions(step, "True")
    assert [*step.writes[: len(marks)]] == marks
    return [mark.target.name for mark in marks]


def names(*indexes: int) -> list[str]:
    return [f"mnist-worker-{index}-abcde" for index in indexes]


def test_the_pods_above_a_smaller_size_are_marked_first() -> None:
    step = smaller(training(worker(FAILS)), 1)
    assert sorted(marked(step)) == names(1, 2)
    condition = conditions(step, "True")[0].body
    assert (condition["type"], condition["reason"]) == ("DisruptionTarget", WHY.code)
    assert condition["lastTransitionTime"] == "2026-01-01T12:00:00Z"


@pytest.mark.parametrize(
    "rules",
    [
        (),
        (ExitCodeRule("FailJob", frozenset({1})),),
        (ExitCodeRule("FailIndex", frozenset({1}), spares_disrupted=True),),
    ],
)
def test_no_pod_is_marked_where_its_exit_code_fails_no_job_or_a_mark_does_not_help(
    rules: Sequence[ExitCodeRule],
) -> None:
    assert marked(smaller(training(worker(*rules)), 1)) == []


def test_no_pod_is_marked_without_a_container_that_could_end() -> None:
    found = (pod("worker", 0), pod("worker", 1, terminating=True), pod("worker", 2, node=""))
    assert marked(smaller(training(worker(FAILS, pods=found)), 1)) == []


def test_all_work_items_are_marked_as_the_job_controller_chooses_the_pods() -> None:
    items = worker(FAILS, indexed=False, resizing=ResizePolicy.ITEMS)
    assert sorted(marked(smaller(training(items, framework="none"), 2))) == names(0, 1, 2)


def test_pods_that_are_removed_by_name_are_marked() -> None:
    found = worker(FAILS, removing=frozenset(names(0)))
    (step,), _ = upkeep(training(found), [], NOW)
    assert marked(step) == names(0)


def test_a_work_item_removed_by_name_leaves_the_others_unmarked() -> None:
    found = tuple(pod("worker", index, ready_since=NOW - seconds(index)) for index in range(3))
    items = worker(
        FAILS,
        pods=found,
        indexed=False,
        resizing=ResizePolicy.ITEMS,
        removing=frozenset({found[2].name}),
    )
    assert marked(smaller(training(items, framework="none"), 2)) == [found[2].name]


def test_pods_above_the_size_are_not_marked_again_while_they_end() -> None:
    found, _ = upkeep(training(worker(FAILS, size=1)), [], NOW)
    assert [mark for step in found for mark in conditions(step, "True")] == []


def test_all_pods_of_a_job_that_is_stopped_are_marked() -> None:
    chief = role("chief", pods=pods("chief", [0])).changed(failure_rules=FailureRules())
    job = training(chief, worker(FAILS), started_at=LONG_AGO)
    assert sorted(marked(stop(job, Suspension(KEY, WHY), NOW))) == names(0, 1, 2)


def test_a_stop_that_was_interrupted_goes_on_with_the_pods_that_have_no_mark() -> None:
    found = (marked_pod(0, age=60), pod("worker", 1), marked_pod(2, age=1))
    step = stop(training(worker(FAILS, pods=found), started_at=LONG_AGO), Suspension(KEY, WHY), NOW)
    assert marked(step) == names(1)


def test_all_pods_of_a_job_that_restarts_for_a_new_size_are_marked() -> None:
    found = worker(FAILS, resizing=ResizePolicy.RESTART)
    resize = Resize(KEY, "worker", 3, 4, WHY, restart=True)
    (step,), _ = upkeep(training(found, framework="mxnet"), [resize], NOW)
    assert sorted(marked(step)) == names(0, 1, 2)


def kept(*found: Pod, **fields: object) -> DueSteps:
    """The upkeep of a worker with these pods."""
    return upkeep(training(worker(FAILS, pods=found, **fields)), [], NOW)


def marked_pod(index: int, age: float) -> Pod:
    return pod("worker", index, mark=DisruptionMark(Code.RECLAIMED, NOW - seconds(age)))


def withdrawn(due: DueSteps) -> list[str]:
    (step,) = due.steps
    assert marked(step) == []
    return [mark.target.name for mark in conditions(step, "False")]


def test_a_pod_that_runs_on_loses_its_mark() -> None:
    """The stop that followed the mark got no answer, or its leader has ended."""
    due = kept(marked_pod(0, age=30), pod("worker", 1), marked_pod(2, age=31))
    assert withdrawn(due) == names(0, 2)


def test_a_mark_stays_until_the_write_that_followed_it_is_known() -> None:
    due = kept(marked_pod(0, age=20), marked_pod(1, age=25), pod("worker", 2))
    assert withdrawn(due) == []
    assert due.recheck_after == seconds(5)


@pytest.mark.parametrize("leaving", [{"size": 2}, {"suspended": True}])
def test_pods_that_leave_keep_their_marks(leaving: dict[str, object]) -> None:
    found = [pod("worker", index) for index in range(2)]
    assert withdrawn(kept(*found, marked_pod(2, age=60), **leaving)) == []


def test_of_work_items_the_pods_that_remain_lose_their_marks() -> None:
    def due(size: int) -> DueSteps:
        found = tuple(marked_pod(index, age=60) for index in range(3))
        items = worker(FAILS, pods=found, size=size, indexed=False, resizing=ResizePolicy.ITEMS)
        return upkeep(training(items, framework="none"), [], NOW)

    assert withdrawn(due(size=2)) == []
    assert withdrawn(due(size=3)) == names(0, 1, 2)


def test_a_pod_that_a_plan_ends_now_keeps_its_mark() -> None:
    found = tuple(marked_pod(index, age=60) for index in range(3))
    step = smaller(training(worker(FAILS, pods=found)), 1)
    assert conditions(step, "False") == []


def test_the_pods_of_a_job_with_a_problem_lose_their_marks() -> None:
    """The edit that made it invalid may be what the stop after the marks conflicted with."""

    def due(*found: Pod) -> Steps:
        problem = because("edl.dev/max: no number; write a number")
        job = training(worker(FAILS, pods=found), started_at=LONG_AGO, problem=problem)
        return steps(Plan(), ClusterState(NOW, (), (job,)))

    (step,) = due(marked_pod(0, age=60), marked_pod(1, age=20), pod("worker", 2)).steps
    assert withdrawn(DueSteps((step,))) == [write.target.name for write in step.writes] == names(0)
    early = due(marked_pod(0, age=20))
    assert (early.steps, early.recheck_after) == ((), seconds(10))


def test_a_pod_that_is_ending_keeps_its_mark() -> None:
    """Its exit code is still to come: its grace period may be long."""
    found = replace(marked_pod(0, age=60), terminating=True)
    assert withdrawn(kept(found, marked_pod(1, age=60), pod("worker", 2))) == names(1)


def test_a_mark_without_a_rule_that_it_spares_stays() -> None:
    """No rule of ours had it made: a withdrawal would be a write for nothing."""
    job = training(worker(pods=(marked_pod(0, age=60), pod("worker", 1), pod("worker", 2))))
    assert withdrawn(upkeep(job, [], NOW)) == []
