"""Training jobs that never complete, although none of their Jobs has failed."""

from typing import Any

import pytest
from msgspec.structs import replace

from edl import contract
from edl.contract import CleanUp
from edl.frameworks import FRAMEWORKS
from edl.job_state.phases import phase
from edl.model import EndCondition, JobEnd, Phase, ResizePolicy, Role, TrainingJob
from edl.model.pods import PodContainers, TrainingRuns
from edl.patches.patched_values import patched_role
from edl.steps.running_jobs import upkeep
from edl.steps.step_collector import DueSteps
from edl.writes import Json
from tests.edl.trainings import (
    LONG_AGO,
    NOW,
    job_patches,
    patches,
    pods,
    role,
    seconds,
    training,
    written,
)

AT_ONCE: Json = {"activeDeadlineSeconds": 0, "suspend": False}
NOTHING_LEFT: Json = {"parallelism": 0, "completions": 0}


def collective(**fields: Any) -> TrainingJob:  # noqa: ANN401 - of the workers
    """A chief, two workers and an evaluator; the workers' containers were restarted four times."""
    ranks = tuple(
        replace(pod, containers=PodContainers(TrainingRuns(restarts=2), restarts=9))
        for pod in pods("worker", range(2))
    )
    usual = {"size": 2, "pods": ranks, "resizing": ResizePolicy.RESTART, "backoff_limit": 6}
    workers = role("worker", 1, 2, **(usual | fields))
    chief, evaluator = (role(name, pods=pods(name, [0])) for name in ("chief", "evaluator"))
    return training(chief, workers, evaluator, mode="collective")


def failure(due: DueSteps) -> str:
    """Why the job ends; empty if it goes on."""
    (step,), _ = due
    messages = {written(patch).get(contract.MESSAGE, "") for patch in patches(step)}
    return next(iter(messages), "")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"earlier_restarts": 1}, ""),
        ({"earlier_restarts": 0, "backoff_limit": 2}, ""),
        ({"earlier_restarts": 9, "retries": 6}, ""),
        (
            {"earlier_restarts": 2},
            "BackoffLimitExceeded: containers of worker were restarted 6 times",
        ),
        (
            {"failed_indexes": frozenset({1}), "reported_at": LONG_AGO},
            "FailedIndexes: worker 1 has failed for good, and the others need it",
        ),
    ],
    ids=[
        "retries are left",
        "the Job controller counts",
        "the limit is ours",
        "no retries are left",
        "a failed rank",
    ],
)
def test_a_job_whose_ranks_never_meet_again_fails(fields: dict[str, Any], message: str) -> None:
    why = f"mnist has failed: {message}" if message else ""
    assert failure(upkeep(collective(**fields), (), NOW)) == why


def test_its_completion_role_fails_and_the_others_end() -> None:
    (step,), _ = upkeep(collective(earlier_restarts=2), (), NOW)
    ends = {"mnist-worker": NOTHING_LEFT, "mnist-evaluator": NOTHING_LEFT}
    assert job_patches(step) == {"mnist-chief": AT_ONCE, **ends}
    kept = collective(earlier_restarts=2)
    kept = replace(kept, roles=tuple(one.changed(clean_up=CleanUp.NONE) for one in kept.roles))
    (step,), _ = upkeep(kept, (), NOW)
    assert job_patches(step) == {"mnist-chief": AT_ONCE}


def test_the_failure_is_shown_once_the_job_has_ended() -> None:
    """Its Job's own condition names the deadline by which it was ended."""
    job = collective(failed_indexes=frozenset({1}), reported_at=LONG_AGO)
    (step,), _ = upkeep(job, (), NOW)
    by_job = {patch.target.name: patch for patch in patches(step)}
    deadline = EndCondition(NOW, "DeadlineExceeded", "Job was active longer than specified")

    def ended(part: Role) -> Role:
        failed = part.name == "chief"
        end = JobEnd.FAILED if failed else JobEnd.COMPLETE
        part = patched_role(part, by_job[part.job])
        return part.changed(ending=end, end_condition=deadline, deadline_passed=failed)

    job = replace(job, roles=tuple(map(ended, job.roles)))
    assert phase(job) is Phase.FAILED
    assert str(job.failure) == "FailedIndexes: worker 1 has failed for good, and the others need it"


def test_the_others_have_an_hour_after_a_rank_has_failed_for_good() -> None:
    """It may have failed as it ended, while another one saves the model."""
    for since, fails in ((3599, False), (3600, True)):
        job = collective(failed_indexes=frozenset({1}), reported_at=NOW - seconds(since))
        assert bool(failure(upkeep(job, (), NOW))) == fails
        waits = replace(job, roles=(job.roles[0].changed(suspended=True), *job.roles[1:]))
        assert not failure(upkeep(waits, (), NOW))
    job = collective(failed_indexes=frozenset({1}), reported_at=NOW - seconds(3599))
    assert upkeep(job, (), NOW).recheck_after == seconds(1)


@pytest.mark.parametrize("since", [3599, 3600])
def test_a_failure_that_is_not_due_yet_explains_no_end_of_another_cause(since: float) -> None:
    job = collective(failed_indexes=frozenset({1}), reported_at=NOW - seconds(since))
    *ranks, evaluator = job.roles
    condition = EndCondition(NOW, "BackoffLimitExceeded", "")
    ended = evaluator.changed(ending=JobEnd.FAILED, end_condition=condition)
    job = replace(job, roles=(*ranks, ended))
    assert ("FailedIndexes" in failure(upkeep(job, (), NOW))) == (since == 3600)
    keeps = replace(job, roles=tuple(one.changed(clean_up=CleanUp.NONE) for one in job.roles))
    (step,), _ = upkeep(keeps, (), NOW)
    assert bool(job_patches(step)) == (since == 3600)


@pytest.mark.parametrize(("low", "fails"), [(1, False), (2, False), (3, True)])
def test_torchrun_needs_its_minimum_alone(low: int, fails: bool) -> None:  # noqa: FBT001
    """It grows to its max for a rank that has failed for good."""
    ranks = pods("worker", range(2))
    workers = role("worker", low, 3, size=3, pods=ranks, failed_indexes=frozenset({2}))
    workers = workers.changed(reported_at=LONG_AGO)
    job = training(workers.changed(is_leader=True), framework="pytorch")
    assert bool(failure(upkeep(job, (), NOW))) == fails


def test_other_ranks_continue_without_one() -> None:
    workers = role("worker", 2, 3, size=3, failed_indexes=frozenset({2}), reported_at=LONG_AGO)
    job = training(role("launcher"), workers, framework="horovod")
    assert not failure(upkeep(job, (), NOW))


@pytest.mark.parametrize("fields", [{"failed_indexes": frozenset({0})}, {"earlier_restarts": 9}])
def test_others_train_on_without_an_evaluator(fields: dict[str, Any]) -> None:
    lone = role(
        "evaluator", pods=pods("evaluator", [0]), backoff_limit=6, reported_at=LONG_AGO, **fields
    )
    others = collective().roles[:2]
    assert not failure(upkeep(training(*others, lone, mode="collective"), (), NOW))


@pytest.mark.parametrize("framework", ["tensorflow", "horovod", "paddle"])
def test_no_training_job_ends_because_a_service_has_ended(framework: str) -> None:
    """A chief may still export its model, and Horovod trains on with its other workers."""
    kinds = FRAMEWORKS[framework].kinds.values()
    leads = {"tensorflow": "chief", "horovod": "launcher", "paddle": "trainer"}[framework]
    chief = role(leads, pods=pods(leads, [0]), is_leader=True)
    for serves in (kind.name for kind in kinds if kind.serves and kind.name != leads):
        over: dict[str, Any] = {"ending": JobEnd.COMPLETE, "end_condition": EndCondition(LONG_AGO)}
        part: dict[str, Any] = {"pods": pods(serves, [0]), "finished_indexes": frozenset({1})}
        for service in (role(serves, **over), role(serves, 2, **part)):
            ended = service.changed(is_service=True, reported_at=LONG_AGO)
            job = training(chief, ended, framework=framework)
            assert failure(upkeep(job, (), NOW)) == ""
