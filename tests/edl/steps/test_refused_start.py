"""A refused start: it is said on the Job, and the API server is asked again by a dry run."""

from msgspec.structs import replace

from edl import contract, reasons
from edl.annotations import failed_attempts
from edl.annotations.json_text import json_text
from edl.model import ClusterState, JobEnd, StartRefusal, TrainingJob
from edl.planner.plan import Admission, Held, Plan
from edl.steps import Steps, steps
from edl.steps.start import start
from tests.edl.trainings import KEY, NOW, created, patches, role, seconds, training, written
from tests.reasons import because

QUOTA = 'services "mnist" is forbidden: exceeded quota: team'
FIRST = StartRefusal(NOW, 1, QUOTA)


def refused(
    refusal: StartRefusal, written: StartRefusal | None = None, **fields: object
) -> TrainingJob:
    """A queued job whose start was refused; its first Job says `written`."""
    chief = role("chief", suspended=True, refusal=written, **fields)
    job = training(chief, role("worker", 2, 4, size=3, suspended=True), existing_dependents={})
    return replace(job, refusal=refusal)


def steps_of(job: TrainingJob, after: float = 0) -> Steps:
    plan = Plan(held=(Held(KEY, job.blocker),))
    return steps(plan, ClusterState(NOW + seconds(after), (), (job,)))


def test_the_refusal_and_its_reason_are_written_on_the_first_job() -> None:
    found = steps_of(refused(FIRST))
    (patch,) = [patch for step in found.steps for patch in patches(step)]
    assert patch.target.name == "mnist-chief"
    assert written(patch) == {
        contract.START_REFUSED: json_text(FIRST),
        contract.REASON: "StartRefused",
        contract.MESSAGE: f"the API server refuses its start: {QUOTA}",
    }
    assert found.recheck_after == seconds(1)


def test_what_the_planner_reads_again_is_kept() -> None:
    found = steps_of(refused(FIRST, last=reasons.restart(reasons.MANUAL)))
    (patch,) = [patch for step in found.steps for patch in patches(step)]
    assert contract.LAST_CHANGE not in written(patch)


def test_nothing_is_tried_before_the_wait_is_over() -> None:
    found = steps_of(refused(FIRST, FIRST), after=0.4)
    assert found.steps == ()
    assert found.recheck_after == seconds(0.6)


def test_then_its_dependents_are_made_and_its_start_is_a_dry_run() -> None:
    (step,) = steps_of(refused(FIRST, FIRST), after=1).steps
    assert step.starts
    assert [target.kind for target in created(step)].count("Service") == 1
    *asked, lifted = patches(step)
    assert [(one.target.name, one.dry_run) for one in asked] == [
        ("mnist-chief", True),
        ("mnist-worker", True),
    ]
    assert [one.body["spec"]["suspend"] for one in asked] == [False, False]
    assert [one.body["spec"]["parallelism"] for one in asked] == [1, 2]
    assert not lifted.dry_run
    found = failed_attempts.read_refusal(written(lifted)[contract.START_REFUSED])
    assert found == replace(FIRST, lifted=True)


def test_a_start_that_was_accepted_takes_the_refusal_off() -> None:
    lifted = replace(FIRST, lifted=True)
    job = refused(lifted, lifted)
    begun = start(job, Admission(KEY, (("chief", 1), ("worker", 2)), because("room")), NOW)
    first, second = patches(begun)
    assert written(first)[contract.START_REFUSED] is None
    assert contract.START_REFUSED not in written(second)


def test_the_writes_of_a_queued_job_are_part_of_its_start_and_those_of_a_running_one_are_not() -> (
    None
):
    queued = training(role("worker", 2, 4, suspended=True), existing_dependents={})
    running = training(role("worker", 2, 4), existing_dependents={})
    for job in (queued, running):
        (step,) = steps(Plan(), ClusterState(NOW, (), (job,))).steps
        assert step.starts is (job is queued)


def test_a_job_that_ends_while_its_start_is_refused_ends_whole() -> None:
    chief = role("chief", ending=JobEnd.COMPLETE, size=1)
    job = training(chief, role("worker", 2, 4, suspended=True), refusal=FIRST)
    (step,) = steps_of(job).steps
    assert [patch.body["spec"] for patch in patches(step)] == [{"parallelism": 0, "completions": 0}]
