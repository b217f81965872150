"""Refused writes are recorded on the Job, and the API server is asked again by a dry run."""

from typing import Any

from msgspec.structs import replace

from edl import contract, reasons
from edl.annotations import failed_attempts
from edl.annotations.json_text import json_text
from edl.job_state import phases
from edl.kube.writer.conditional_patch import still_fits
from edl.messages import message
from edl.model import (
    ClusterState,
    Code,
    JobEnd,
    Quota,
    RefusedSize,
    ResizePolicy,
    TrainingJob,
    WriteRefusal,
)
from edl.model.causes.reason_subjects import Usage
from edl.model.quotas import Excess
from edl.planner.plan import Admission, Plan, Resize, Suspension, WaitingJob
from edl.steps.plan_steps import Steps, steps
from edl.steps.sizes import resize_patch
from edl.steps.sizes.start import start
from edl.writes import Patch
from tests.edl.trainings import KEY, NOW, created, patches, pods, role, seconds, training, written
from tests.reasons import because

QUOTA = 'services "mnist" is forbidden: exceeded quota: team'
NOTHING = Plan()
FIRST = WriteRefusal(NOW, 1, QUOTA)


def refused(refusal: WriteRefusal, *written: WriteRefusal, **fields: Any) -> TrainingJob:  # noqa: ANN401 - the builder's fields
    """A queued job whose start was refused; its first Job says `written`."""
    chief = role("chief", suspended=True, refusals=written or None, **fields)
    job = training(chief, role("worker", 2, 4, size=3, suspended=True), existing_dependents={})
    return replace(job, refusals=(refusal,))


def steps_of(job: TrainingJob, after: float = 0) -> Steps:
    plan = Plan(waiting=(WaitingJob(KEY, because("no room")),))
    return steps(plan, ClusterState(NOW + seconds(after), (), (job,)))


def recorded(patch: Patch) -> tuple[WriteRefusal, ...]:
    return failed_attempts.read_refusals(written(patch)[contract.WRITE_REFUSED] or "") or ()


def test_the_refusal_and_its_reason_are_written_on_the_first_job() -> None:
    found = steps_of(refused(FIRST))
    (patch,) = [patch for step in found.steps for patch in patches(step)]
    assert patch.target.name == "mnist-chief"
    assert written(patch) == {
        contract.WRITE_REFUSED: json_text([FIRST]),
        contract.REASON: "StartRefused",
        contract.MESSAGE: f"the API server refuses its start: {QUOTA}",
    }
    assert found.recheck_after == seconds(1)


def test_the_reason_of_a_start_that_a_quota_refused_is_the_quota_with_its_figures() -> None:
    budget = Quota(KEY.namespace, 'ResourceQuota "team"', "services", 2)
    refusal = replace(FIRST, usage=Usage(budget, 1, 2))
    job = refused(refusal)
    found = steps_of(job)
    (patch,) = [patch for step in found.steps for patch in patches(step)]
    assert recorded(patch) == (refusal,)
    quota = 'exceeded ResourceQuota "team" of namespace lab'
    what = f"{quota}, requested: services=1, limited: services=2; used: services=2"
    text = f"the API server refuses its start: {what}"
    assert written(patch)[contract.MESSAGE] == text
    why = phases.blocked(job)
    assert why is not None
    assert (why.code, why.about) == (Code.START_REFUSED, Usage(budget, 1, 2))
    assert message(why) == text


def test_a_start_that_a_quota_refuses_in_several_resources_names_them_all() -> None:
    services, claims = (
        Quota(KEY.namespace, 'ResourceQuota "team"', *of)
        for of in (("services", 2), ("persistentvolumeclaims", 3))
    )
    refusal = replace(FIRST, usage=Usage(services, 1, 2, (Excess(claims, 4, 1),)))
    (patch,) = [one for step in steps_of(refused(refusal)).steps for one in patches(step)]
    assert recorded(patch) == (refusal,)
    assert written(patch)[contract.MESSAGE] == (
        'the API server refuses its start: exceeded ResourceQuota "team" of namespace lab, '
        "requested: services=1,persistentvolumeclaims=4, limited: services=2,"
        "persistentvolumeclaims=3, never allowed: persistentvolumeclaims=4; "
        "used: services=2,persistentvolumeclaims=1"
    )


def test_a_quota_of_another_namespace_is_not_the_reason_of_a_refused_start() -> None:
    usage = Usage(Quota("other", 'ResourceQuota "team"', "services", 2), 1, 2)
    why = phases.blocked(refused(replace(FIRST, usage=usage)))
    assert why == reasons.quoted(Code.START_REFUSED, str(FIRST))


def test_what_the_planner_reads_again_is_kept() -> None:
    found = steps_of(refused(FIRST, last=reasons.restart(reasons.MANUAL_SIZE)))
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
    assert recorded(lifted) == (replace(FIRST, lifted=True),)


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
    job = training(chief, role("worker", 2, 4, suspended=True), refusals=(FIRST,))
    (step,) = steps_of(job).steps
    assert [patch.body["spec"] for patch in patches(step)] == [{"parallelism": 0, "completions": 0}]


# New sizes.

POLICY = "not at this hour"
GROWN = RefusedSize("worker", 6, grows=True)
SHRUNK = RefusedSize("worker", 1, grows=False)


def refusals(*sizes: RefusedSize) -> tuple[WriteRefusal, ...]:
    return tuple(WriteRefusal(NOW, 2, POLICY, size) for size in sizes)


def resized(
    *sizes: RefusedSize, written: tuple[WriteRefusal, ...] | None = None, **fields: object
) -> TrainingJob:
    """A running job; its worker has 3 replicas, and the API server refused `sizes`."""
    fields = {"size": 3, "pods": pods("worker", range(3)), "refusals": written} | fields
    chief = role("chief", pods=pods("chief", [0]))
    return training(chief, role("worker", 1, 9, **fields), refusals=refusals(*sizes))


def resize(after: int) -> Plan:
    return Plan(resizes=(Resize(KEY, "worker", 3, after, because("room")),))


def steps_at(job: TrainingJob, after: float = 0, plan: Plan = NOTHING) -> Steps:
    return steps(plan, ClusterState(NOW + seconds(after), (), (job,)))


def test_a_step_names_the_sizes_that_it_gives_running_roles() -> None:
    job = resized()
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
    assert written(patch) == {contract.WRITE_REFUSED: json_text(refusals(GROWN))}
    assert found.recheck_after == seconds(2)


def test_refused_sizes_are_tried_by_a_dry_run_once_the_back_off_is_over() -> None:
    job = resized(GROWN, written=refusals(GROWN))
    assert steps_at(job, after=1).steps == ()
    assert steps_at(job, after=1).recheck_after == seconds(1)
    (step,) = steps_at(job, after=2).steps
    assert (step.sizes, step.starts) == ((("worker", 6),), False)
    asked, lifted = patches(step)
    assert (asked.body["spec"]["parallelism"], asked.dry_run) == (6, True)
    assert (lifted.target.name, lifted.dry_run) == ("mnist-worker", False)
    assert recorded(lifted) == (replace(refusals(GROWN)[0], lifted=True),)


def at_most(after: float, *found: WriteRefusal) -> TrainingJob:
    """A running job whose refusals are recorded, each `after` times its index later than before."""
    later = tuple(replace(one, at=NOW + seconds(after * i)) for i, one in enumerate(found))
    return replace(resized(written=later), refusals=later)


def test_a_lasting_refusal_of_one_size_leaves_others_their_turn() -> None:
    """A suspension that failed once would else be refused as long as a policy on sizes lasts."""
    shrunk, stopped = refusals(SHRUNK, RefusedSize("worker", 0, grows=False))
    turns: list[tuple[str, int]] = []
    for found in ((shrunk, stopped), (stopped, shrunk)):
        (step,) = steps_at(at_most(1, *found), after=60).steps
        turns += step.sizes
        assert len(step.writes) == 2
    assert turns == [("worker", 1), ("worker", 0)]
    (step,) = steps_at(at_most(1, stopped, shrunk), after=60).steps
    lifted = {one.kind: one.lifted for one in recorded(patches(step)[-1])}
    assert lifted == {stopped.kind: True, shrunk.kind: False}


def test_the_back_off_of_one_refused_size_does_not_delay_another() -> None:
    shrunk, stopped = refusals(SHRUNK, RefusedSize("worker", 0, grows=False))
    job = at_most(0, replace(shrunk, attempts=6), stopped)
    found = steps_at(job, after=2)
    assert [step.sizes for step in found.steps] == [(("worker", 0),)]
    assert found.recheck_after == seconds(30)


def test_a_refused_start_and_a_refused_size_are_recorded_and_tried_each_by_itself() -> None:
    start, grown = FIRST, *refusals(RefusedSize("worker", 6, grows=True))
    workers = role("worker", 1, 9, size=3, pods=pods("worker", range(3)))
    job = training(role("chief", suspended=True), workers, refusals=(start, grown))
    (step,) = steps_of(job).steps
    assert {patch.target.name: recorded(patch) for patch in patches(step)} == {
        "mnist-chief": (start,),
        "mnist-worker": (grown,),
    }
    chief = job.roles[0].changed(refusals=(start,))
    known = replace(job, roles=(chief, workers.changed(refusals=(grown,))))
    (step,) = steps_of(known, after=1).steps
    assert (step.starts, step.sizes) == (True, ())
    (step,) = steps_of(replace(known, refusals=(grown,)), after=2).steps
    assert (step.starts, step.sizes) == (False, (("worker", 6),))


def test_a_start_that_cannot_be_tried_yet_does_not_keep_a_size_from_it() -> None:
    """Its Job still has pods, so that the API server accepts no other template."""
    grown, *_ = refusals(RefusedSize("worker", 6, grows=True))
    workers = role("worker", 1, 9, size=3, pods=pods("worker", range(3)), refusals=(grown,))
    chief = role("chief", suspended=True, settled=False, refusals=(FIRST,), consumed="request")
    job = training(chief, workers, refusals=(FIRST, grown))
    (step,) = steps_of(job, after=60).steps
    assert step.sizes == (("worker", 6),)


def test_a_job_that_was_created_again_is_not_told_what_was_refused_before() -> None:
    (step,) = steps_of(refused(FIRST)).steps
    (patch,) = patches(step)
    known = {"metadata": {"uid": refused(FIRST).roles[0].uid}}
    assert still_fits(patch, known)
    assert not still_fits(patch, {"metadata": {"uid": "another"}})


def test_a_refused_suspension_and_a_refused_restart_are_tried_as_such() -> None:
    stop = RefusedSize("worker", 0, grows=False)
    for job, spec in (
        (resized(stop), {"suspend": True}),
        (
            resized(GROWN, resizing=ResizePolicy.RESTART),
            {"suspend": True, "parallelism": 6, "completions": 6},
        ),
    ):
        known = job.roles[1].changed(refusals=job.refusals)
        (step,) = steps_at(replace(job, roles=(job.roles[0], known)), after=2).steps
        assert patches(step)[0].body["spec"] == spec


def test_no_step_writes_a_size_in_a_direction_that_is_refused() -> None:
    job = resized(GROWN, written=refusals(GROWN))
    assert steps_at(job, plan=resize(4)).steps == ()
    (step,) = steps_at(job, plan=resize(2)).steps
    assert step.sizes == (("worker", 2),)
    stop = resized(RefusedSize("chief", 0, grows=False))
    plan = Plan(suspensions=(Suspension(KEY, reasons.PAUSED),))
    assert steps_at(stop, plan=plan).steps == ()


def test_a_new_size_that_was_written_takes_the_refusal_off() -> None:
    lifted = WriteRefusal(NOW, 2, POLICY, GROWN, lifted=True)
    job = replace(resized(written=(lifted,)), refusals=(lifted,))
    (step,) = steps_at(job, plan=resize(6)).steps
    (patch,) = patches(step)
    assert written(patch)[contract.WRITE_REFUSED] is None


def test_a_new_size_keeps_the_refusals_of_other_kinds_with_their_back_offs() -> None:
    stop = RefusedSize("worker", 0, grows=False)
    grown, shrunk, stopped = found = refusals(GROWN, SHRUNK, stop)
    chief = replace(grown, size=RefusedSize("chief", 2, grows=True))
    job = replace(resized(written=found), refusals=(chief, *found))
    for after, left in ((5, (shrunk, stopped)), (2, (grown, stopped))):
        change = resize_patch.role_change(job, job.roles[1], resize(after).resizes[0], NOW)
        (patch,) = (write for write in change.writes if isinstance(write, Patch))
        assert recorded(patch) == left


def test_a_record_of_refusals_that_is_not_read_goes_with_the_next_write() -> None:
    """Its format may be that of another release; it would stay for ever."""
    unread = failed_attempts.read_refusals('{"start": "exceeded quota"}')
    (step,) = steps_at(resized(written=unread), plan=resize(6)).steps
    (patch,) = patches(step)
    assert written(patch)[contract.WRITE_REFUSED] is None
    queued = training(role("worker", 2, 4, suspended=True, refusals=unread))
    (patch,) = patches(start(queued, Admission(KEY, (("worker", 2),), because("room")), NOW))
    assert written(patch)[contract.WRITE_REFUSED] is None
