"""Training jobs that never complete, although none of their Jobs has failed."""

from typing import Any

import pytest
from msgspec.structs import replace

from edl import contract
from edl.contract import CleanUp
from edl.model import EndCondition, JobEnd, Phase, ResizePolicy, Role, TrainingJob
from edl.model.pods import PodContainers
from edl.phases import phase
from edl.simulator.cluster.apply_patches import patched_role
from edl.steps.running_jobs import upkeep
from edl.steps.step_collector import DueSteps
from edl.writes import Json
from tests.edl.trainings import (
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
        replace(pod, containers=PodContainers(restarts=2)) for pod in pods("worker", range(2))
    )
    usual = {"size": 2, "pods": ranks, "resizing": ResizePolicy.RESTART, "backoff_limit": 6}
    workers = role("worker", 1, 2, **(usual | fields))
    chief, evaluator = (role(name, pods=pods(name, [0])) for name in ("chief", "evaluator"))
    return training(chief, workers, evaluator, mode="collective")


def with_ps(since: float, **fields: Any) -> TrainingJob:  # noqa: ANN401 - of the chief
    """Its only parameter server has completed so many seconds ago."""
    over = EndCondition(NOW - seconds(since))
    ps = role("ps", ending=JobEnd.COMPLETE, end_condition=over)
    return training(role("chief", pods=pods("chief", [0]), **fields), ps, role("worker", 1, 2))


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
        (
            {"earlier_restarts": 2},
            "BackoffLimitExceeded: containers of worker were restarted 6 times",
        ),
        (
            {"failed_indexes": frozenset({1})},
            "FailedIndexes: worker 1 has failed for good, and the others need it",
        ),
    ],
    ids=["retries are left", "the Job controller counts", "no retries are left", "a failed rank"],
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
    job = collective(failed_indexes=frozenset({1}))
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


@pytest.mark.parametrize(("low", "fails"), [(1, False), (2, False), (3, True)])
def test_torchrun_needs_its_minimum_alone(low: int, fails: bool) -> None:  # noqa: FBT001
    """It grows to its max for a rank that has failed for good."""
    ranks = pods("worker", range(2))
    workers = role("worker", low, 3, size=3, pods=ranks, failed_indexes=frozenset({2}))
    job = training(workers.changed(is_leader=True), framework="pytorch")
    assert bool(failure(upkeep(job, (), NOW))) == fails


def test_other_ranks_continue_without_one() -> None:
    workers = role("worker", 2, 3, size=3, failed_indexes=frozenset({2}))
    job = training(role("launcher"), workers, framework="horovod")
    assert not failure(upkeep(job, (), NOW))
    lone = role("evaluator", failed_indexes=frozenset({0}), pods=pods("evaluator", [0]))
    others = collective().roles[:2]
    assert not failure(upkeep(training(*others, lone, mode="collective"), (), NOW))


def test_a_job_fails_five_minutes_after_a_parameter_server_has_completed() -> None:
    """A server may end with the training, just before the chief does."""
    assert failure(upkeep(with_ps(299), (), NOW)) == ""
    assert upkeep(with_ps(299), (), NOW).recheck_after == seconds(1)
    assert failure(upkeep(with_ps(300), (), NOW)) == (
        "mnist has failed: ServiceEnded: ps has ended, and the training needs it"
    )


@pytest.mark.parametrize(("since", "fails"), [(299, False), (300, True)])
def test_one_server_of_several_is_missed_as_well(since: float, fails: bool) -> None:  # noqa: FBT001
    """Its index is not created again, and the Job controller says when it last counted."""
    ps = role("ps", 2, pods=pods("ps", [0]), finished_indexes=frozenset({1}))
    ps = replace(ps, reported_at=NOW - seconds(since))
    job = training(role("chief", pods=pods("chief", [0])), ps, role("worker", 1, 2))
    assert bool(failure(upkeep(job, (), NOW))) == fails
    unknown = replace(job, roles=(job.roles[0], replace(ps, reported_at=None), job.roles[2]))
    assert not failure(upkeep(unknown, (), NOW))


def test_a_job_that_waits_or_has_ended_does_not_fail_for_its_parameter_server() -> None:
    assert not failure(upkeep(with_ps(900, suspended=True), (), NOW))
    assert failure(upkeep(with_ps(900, ending=JobEnd.COMPLETE), (), NOW)) == "mnist is done"
