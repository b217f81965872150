"""Refused writes are recorded on the Job, and the API server is asked again by a dry run."""

from msgspec.structs import replace

from edl import contract, reasons
from edl.annotations import failed_attempts
from edl.annotations.json_text import json_text
from edl.model import (
    ClusterState,
    JobEnd,
    RefusedSize,
    ResizePolicy,
    TrainingJob,
    WriteRefusal,
)
from edl.planner.plan import Admission, Held, Plan, Resize, Suspension
from edl.steps import Steps, steps
from edl.steps.start import start
from edl.writes import Step
from tests.edl.trainings import KEY, NOW, created, patches, pods, role, seconds, training, written
from tests.reasons import because

QUOTA = 'services "mnist" is forbidden: exceeded quota: team'
NOTHING = Plan()
FIRST = WriteRefusal(NOW, 1, QUOTA, starts=True)


def refused(
    refusal: WriteRefusal, written: WriteRefusal | None = None, **fields: object
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
        contract.WRITE_REFUSED: json_text(FIRST),
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
    found = failed_attempts.read_refusal(written(lifted)[contract.WRITE_REFUSED])
    assert found == replace(FIRST, lifted=True)


def test_a_start_that_was_accepted_takes_the_refusal_off() -> None:
    lifted = replace(FIRST, lifted=True)
    job = refused(lifted, lifted)
    begun = start(job, Admission(KEY, (("chief", 1), ("worker", 2)), because("room")), NOW)
    first, second = patches(begun)
    assert written(first)[contract.WRITE_REFUSED] is None
    assert contract.WRITE_REFUSED not in written(second)


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


# New sizes.

POLICY = "not at this hour"
GROWN = RefusedSize("worker", 6, grows=True)
SHRUNK = RefusedSize("worker", 1, grows=False)


def resized(
    *sizes: RefusedSize, written: WriteRefusal | None = None, **fields: object
) -> TrainingJob:
    """A running job; its worker has 3 replicas, and the API server refused `sizes`."""
    fields = {"size": 3, "pods": pods("worker", range(3)), "refusal": written} | fields
    chief = role("chief", pods=pods("chief", [0]))
    job = training(chief, role("worker", 1, 9, **fields))
    return replace(job, refusal=WriteRefusal(NOW, 2, POLICY, sizes))


def resize(after: int) -> Plan:
    return Plan(resizes=(Resize(KEY, "worker", 3, after, because("room")),))


def steps_at(job: TrainingJob, after: float = 0, plan: Plan = NOTHING) -> Steps:
    return steps(plan, ClusterState(NOW + seconds(after), (), (job,)))


def test_a_step_names_the_sizes_that_it_gives_running_roles() -> None:
    job = replace(resized(), refusal=None)
    (step,) = steps_at(job, plan=resize(6)).steps
    assert step.sizes == (("worker", 6),)
    stop = Plan(suspensions=(Suspension(KEY, reasons.PAUSED),))
    (step,) = steps_at(job, plan=stop).steps
    assert step.sizes == (("chief", 0), ("worker", 0))
    again = replace(resize(6).resizes[0], restart=True)
    (step,) = steps_at(job, plan=Plan(resizes=(again,))).steps
    assert step.sizes == (("worker", 6),)


def test_a_refused_size_is_recorded_on_the_job_of_its_role_beside_the_reason_of_its_size() -> None:
    found = steps_at(resized(GROWN))
    (patch,) = [patch for step in found.steps for patch in patches(step)]
    assert patch.target.name == "mnist-worker"
    assert written(patch) == {contract.WRITE_REFUSED: json_text(resized(GROWN).refusal)}
    assert found.recheck_after == seconds(2)


def test_refused_sizes_are_tried_by_a_dry_run_once_the_back_off_is_over() -> None:
    job = resized(GROWN)
    recorded = resized(GROWN, written=job.refusal)
    assert steps_at(recorded, after=1).steps == ()
    assert steps_at(recorded, after=1).recheck_after == seconds(1)
    (step,) = steps_at(recorded, after=2).steps
    assert (step.sizes, step.starts) == ((("worker", 6),), False)
    asked, lifted = patches(step)
    assert (asked.body["spec"]["parallelism"], asked.dry_run) == (6, True)
    assert (lifted.target.name, lifted.dry_run) == ("mnist-worker", False)
    found = failed_attempts.read_refusal(written(lifted)[contract.WRITE_REFUSED])
    assert job.refusal is not None
    assert found == replace(job.refusal, sizes=(replace(GROWN, lifted=True),))


def attempt(refusal: WriteRefusal, **fields: object) -> Step:
    """The attempt that follows this refusal, which is recorded on the worker's Job."""
    job = replace(resized(written=refusal, **fields), refusal=refusal)
    (step,) = steps_at(job, after=60).steps
    return step


def test_a_lasting_refusal_of_one_size_leaves_others_their_turn() -> None:
    """A suspension that failed once would else be refused as long as a policy on sizes lasts."""
    stop = RefusedSize("worker", 0, grows=False)
    refusal, turns = WriteRefusal(NOW, 2, POLICY, (SHRUNK, stop)), []
    for attempts in range(2, 6):
        step = attempt(replace(refusal, attempts=attempts))
        turns += step.sizes
        assert len(step.writes) == 2
    assert turns == [("worker", 1), ("worker", 0)] * 2
    patch = patches(attempt(replace(refusal, attempts=3)))[-1]
    found = failed_attempts.read_refusal(written(patch)[contract.WRITE_REFUSED])
    assert found is not None
    assert found.refused_sizes == (SHRUNK,)
    assert attempt(found).sizes == (("worker", 1),)


def test_a_refused_start_and_a_refused_size_take_turns() -> None:
    chief = role("chief", pods=pods("chief", [0]))
    grown = RefusedSize("chief", 2, grows=True)
    refusal = WriteRefusal(NOW, 2, POLICY, (grown,), starts=True)
    for attempts, starts in ((2, False), (3, True)):
        found = replace(refusal, attempts=attempts)
        job = training(
            chief.changed(refusal=found), role("worker", 2, 4, suspended=True), refusal=found
        )
        (step,) = steps_of(job, after=60).steps
        assert (step.starts, bool(step.sizes)) == (starts, not starts)


def test_a_refused_suspension_and_a_refused_restart_are_tried_as_such() -> None:
    stop = RefusedSize("worker", 0, grows=False)
    for job, spec in (
        (resized(stop), {"suspend": True}),
        (
            resized(GROWN, resizing=ResizePolicy.RESTART),
            {"suspend": True, "parallelism": 6, "completions": 6},
        ),
    ):
        recorded = replace(job, roles=(job.roles[0].changed(refusal=job.refusal), job.roles[1]))
        (step,) = steps_at(recorded, after=2).steps
        assert patches(step)[0].body["spec"] == spec


def test_no_step_writes_a_size_in_a_direction_that_is_refused() -> None:
    recorded = resized(GROWN, written=resized(GROWN).refusal)
    assert steps_at(recorded, plan=resize(4)).steps == ()
    (step,) = steps_at(recorded, plan=resize(2)).steps
    assert step.sizes == (("worker", 2),)
    stop = resized(RefusedSize("chief", 0, grows=False))
    plan = Plan(suspensions=(Suspension(KEY, reasons.PAUSED),))
    assert steps_at(stop, plan=plan).steps == ()


def test_a_new_size_that_was_written_takes_the_refusal_off() -> None:
    lifted = WriteRefusal(NOW, 2, POLICY, (replace(GROWN, lifted=True),))
    job = replace(resized(written=lifted), refusal=lifted)
    (step,) = steps_at(job, plan=resize(6)).steps
    (patch,) = patches(step)
    assert written(patch)[contract.WRITE_REFUSED] is None
