from collections.abc import Iterable
from typing import Any, cast

import pytest
from msgspec.structs import replace

from edl import contract, reasons
from edl.annotations.json_text import json_text
from edl.model import (
    ClusterState,
    Code,
    ConflictingJob,
    JobEnd,
    JobKey,
    PodPhase,
    Reason,
    TrainingJob,
)
from edl.model.causes.reason_subjects import Other
from edl.model.causes.scarcity import Lack, ResourceNeed, Scarce, Shortage
from edl.planner.plan import Admission, Drain, Plan, Resize, StayingPods, Suspension, WaitingJob
from edl.quantities import Resources
from edl.steps.host_lists import LEAVE
from edl.steps.plan_steps import MAX_EXPLAINED_JOBS, steps
from edl.writes import DEPENDENTS, Action, Create, Delete, Patch
from tests.edl.trainings import (
    KEY,
    LONG_AGO,
    NOW,
    hostfile,
    job_patches,
    patches,
    pod,
    pods,
    role,
    seconds,
    surrounded,
    training,
    written,
)
from tests.reasons import because, invalid


def state(*jobs: TrainingJob) -> ClusterState:
    return ClusterState(NOW, (), jobs)


def named(name: str, job: TrainingJob) -> TrainingJob:
    return surrounded(replace(job, key=JobKey("lab", name)))


def running(name: str = "mnist") -> TrainingJob:
    found = training(role("worker", 2, 4, is_leader=True, pods=pods("worker", [0, 1])))
    return named(name, found)


def queued(name: str = "mnist", message: str = "", **fields: object) -> TrainingJob:
    said = {"reason": Code.INSUFFICIENT_CAPACITY, "message": message} if message else {}
    found = role("worker", 2, 4, suspended=True, is_leader=True, **said, **fields)
    return named(name, training(found))


NO_ROOM = because("no room", Code.INSUFFICIENT_CAPACITY)


def held(names: Iterable[str], reason: Reason = NO_ROOM) -> tuple[WaitingJob, ...]:
    return tuple(WaitingJob(JobKey("lab", name), reason, 1) for name in names)


def test_nothing_to_do_is_nothing_to_write() -> None:
    found = steps(Plan(), state(running(), queued("other")))
    assert found.steps == ()
    assert found.recheck_after is None


def test_stops_and_shrinks_come_before_starts() -> None:
    plan = Plan(
        admissions=(Admission(JobKey("lab", "new"), (("worker", 2),), because("room")),),
        resizes=(Resize(JobKey("lab", "big"), "worker", 2, 3, because("room")),),
        suspensions=(Suspension(JobKey("lab", "old"), reasons.PAUSED),),
    )
    found = steps(plan, state(queued("new"), running("big"), running("old")))
    assert [step.job.name for step in found.steps] == ["old", "big", "new"]


def test_a_resize_is_one_tandem_patch_with_its_reason() -> None:
    plan = Plan(resizes=(Resize(KEY, "worker", 2, 4, because("idle capacity")),))
    (step,) = steps(plan, state(running())).steps
    assert job_patches(step) == {"mnist-worker": {"parallelism": 4, "completions": 4}}
    (patch,) = patches(step)
    assert written(patch) == {
        contract.RESIZED_AT: "2026-01-01T12:00:00Z",
        contract.REASON: "IdleCapacity",
        contract.MESSAGE: "idle capacity",
        contract.LAST_CHANGE: json_text(because("idle capacity")),
        contract.HISTORY: "2026-01-01T12:00:00.000Z ScaledUp 2 4 IdleCapacity idle capacity",
    }
    assert patch.version == "v-worker"
    (event,) = step.events
    assert (event.action, event.reason, event.message) == (
        "ScaledUp",
        "IdleCapacity",
        "worker 2 → 4: idle capacity",
    )
    assert (event.uid, event.warning) == ("uid-worker", False)


def test_a_suspended_job_is_neither_resized_nor_finished() -> None:
    plan = Plan(
        resizes=(Resize(KEY, "worker", 2, 4, because("idle capacity")),),
        suspensions=(Suspension(KEY, reasons.PAUSED),),
    )
    (step,) = steps(plan, state(running())).steps
    assert job_patches(step) == {"mnist-worker": {"suspend": True}}


def test_a_job_with_a_problem_is_not_touched() -> None:
    job = replace(running(), problem=invalid("its Jobs disagree"), existing_dependents={})
    assert steps(Plan(), state(job)).steps == ()


CHIEF = role("chief", ending=JobEnd.COMPLETE)
WORKER = role("worker", 2, 4, pods=pods("worker", [0, 1]))
NOTHING_LEFT = {"parallelism": 0, "completions": 0}


@pytest.mark.parametrize("problem", [None, invalid("its Jobs disagree")])
def test_a_job_with_a_problem_still_ends_as_a_whole(problem: Reason | None) -> None:
    job = replace(training(CHIEF, WORKER), problem=problem)
    (step,) = steps(Plan(), state(job)).steps
    assert job_patches(step) == {"mnist-worker": NOTHING_LEFT}


def test_times_to_live_of_a_job_with_a_problem_begin_when_all_of_it_has_ended() -> None:
    chief = CHIEF.changed(held_ttl=60)
    job = replace(training(chief), problem=invalid("its Jobs disagree"))
    (step,) = steps(Plan(), state(job)).steps
    assert job_patches(step) == {"mnist-chief": {"ttlSecondsAfterFinished": 60}}


def test_jobs_that_wait_beside_one_of_an_earlier_run_are_not_ended() -> None:
    job = replace(
        training(CHIEF, WORKER.changed(suspended=True, pods=())), problem=invalid("delete it")
    )
    assert steps(Plan(), state(job)).steps == ()


def test_the_first_reason_after_a_pause_comes_with_its_time() -> None:
    resumed = named("mnist", training(queued().roles[0].changed(reason=Code.PAUSED)))
    (step,) = steps(Plan(waiting=held(["mnist"])), state(resumed)).steps
    (patch,) = patches(step)
    assert written(patch)[contract.RESUMED_AT] == "2026-01-01T12:00:00Z"
    (step,) = steps(Plan(waiting=held(["mnist"])), state(queued())).steps
    (patch,) = patches(step)
    assert contract.RESUMED_AT not in written(patch)


def test_why_a_job_waits_stands_on_its_first_job() -> None:
    (step,) = steps(Plan(waiting=held(["mnist"])), state(queued())).steps
    (patch,) = patches(step)
    assert patch.target.name == "mnist-worker"
    said = {contract.REASON: "InsufficientCapacity", contract.MESSAGE: "no room"}
    assert patch.body == {"metadata": {"annotations": said}}
    (event,) = step.events
    assert (event.action, event.reason, event.message) == (
        "Waiting",
        "InsufficientCapacity",
        "no room",
    )


def test_the_same_reason_is_not_written_again() -> None:
    assert steps(Plan(waiting=held(["mnist"])), state(queued(message="no room"))).steps == ()


def test_the_stored_reason_of_a_queued_job_stays_when_another_job_is_the_first_of_the_queue() -> (
    None
):
    """There is another one after each start."""
    texts = set()
    for ahead in ("first", "second"):
        why = reasons.goes_first(JobKey("lab", ahead))
        (step,) = steps(Plan(waiting=held(["mnist"], why)), state(queued())).steps
        texts |= {event.message for event in step.events}
    assert texts == {"jobs ahead of it in the queue start first"}


def test_a_running_job_keeps_the_reason_of_its_size() -> None:
    assert steps(Plan(waiting=held(["mnist"], reasons.COOLDOWN)), state(running())).steps == ()


def test_a_long_queue_is_explained_in_portions() -> None:
    names = [f"job-{number:03}" for number in range(MAX_EXPLAINED_JOBS + 20)]
    jobs = [queued(name) for name in names]
    first = steps(Plan(waiting=held(names)), state(*jobs)).steps
    assert [step.job.name for step in first] == names[:MAX_EXPLAINED_JOBS]
    told = [queued(name, "no room") for name in names[:MAX_EXPLAINED_JOBS]]
    second = steps(Plan(waiting=held(names)), state(*told, *jobs[MAX_EXPLAINED_JOBS:])).steps
    assert [step.job.name for step in second] == names[MAX_EXPLAINED_JOBS:]


def test_of_a_long_queue_jobs_that_never_start_are_explained_first() -> None:
    names = [f"job-{number:03}" for number in range(MAX_EXPLAINED_JOBS + 20)]
    never = WaitingJob(JobKey("lab", "large"), because("no room"), never=True)
    given = state(*(queued(name) for name in (*names, "large")))
    found = steps(Plan(waiting=(*held(names), never)), given).steps
    assert [step.job.name for step in found] == ["large", *names[: MAX_EXPLAINED_JOBS - 1]]


def test_refused_reasons_of_some_jobs_keep_no_reason_from_other_jobs() -> None:
    names = [f"job-{number:03}" for number in range(MAX_EXPLAINED_JOBS + 20)]
    given = state(*(queued(name) for name in names))
    refused = {JobKey("lab", name) for name in names[:MAX_EXPLAINED_JOBS]}
    found = steps(Plan(waiting=held(names)), given, backs_off=refused.__contains__).steps
    assert [step.job.name for step in found] == names[MAX_EXPLAINED_JOBS:]


def test_reasons_of_one_namespace_delay_no_reason_of_another() -> None:
    """Its writes may get no answer, and then it needs them in each round."""
    names = [f"job-{number:03}" for number in range(MAX_EXPLAINED_JOBS + 20)]
    others = [replace(queued(name), key=JobKey("web", name)) for name in names]
    told = [replace(queued(name, "no room"), key=JobKey("web", name)) for name in names[:-1]]
    waiting = held(names) + tuple(WaitingJob(job.key, NO_ROOM, 1) for job in others)
    found = steps(Plan(waiting=waiting), state(*map(queued, names), *told, others[-1])).steps
    explained = [step.job for step in found if not step.part]
    assert len(explained) == MAX_EXPLAINED_JOBS
    assert explained[1] == others[-1].key


def test_the_next_round_is_the_earliest_that_a_job_needs() -> None:
    launcher = pod("launcher", 0, hosts=hostfile(range(3)), published_at=LONG_AGO)
    job = training(
        role("launcher", pods=(launcher,)),
        role("worker", 2, 8, size=3, pods=pods("worker", range(3))),
        framework="horovod",
    )
    shrink = (Resize(KEY, "worker", 3, 2, because("room for nginx")),)
    for planned, expected in ((seconds(60), LEAVE), (seconds(1), seconds(1)), (None, LEAVE)):
        plan = Plan(resizes=shrink, recheck_after=planned)
        assert steps(plan, state(job)).recheck_after == expected


def test_every_patch_of_every_step_has_its_precondition() -> None:
    ended = replace(running("done"), roles=(role("chief", ending=JobEnd.COMPLETE), role("ps", 2)))
    plan = Plan(
        admissions=(Admission(JobKey("lab", "new"), (("worker", 2),), because("room")),),
        resizes=(Resize(JobKey("lab", "big"), "worker", 2, 3, because("room")),),
        suspensions=(Suspension(JobKey("lab", "old"), reasons.PAUSED),),
        waiting=held(["waits"]),
    )
    jobs = (queued("new"), running("big"), running("old"), queued("waits"), ended)
    writes = [write for step in steps(plan, state(*jobs)).steps for write in step.writes]
    found = [write for write in writes if isinstance(write, Patch)]
    assert len(found) == 5
    assert all(patch.version for patch in found)


def test_a_job_with_a_problem_can_still_be_paused() -> None:
    job = replace(running(), problem=invalid("its Jobs disagree"), paused=True)
    (step,) = steps(Plan(suspensions=(Suspension(KEY, reasons.PAUSED),)), state(job)).steps
    assert job_patches(step) == {"mnist-worker": {"suspend": True}}


def test_a_failed_start_is_not_forgotten_for_a_newer_reason() -> None:
    """`decide` reads it again: it keeps the gang from starting at once, in vain."""
    job = queued(last=reasons.GANG_UNSCHEDULABLE)
    (step,) = steps(Plan(waiting=held(["mnist"], reasons.BACK_OFF_GANG)), state(job)).steps
    assert written(patches(step)[0]).keys() == {contract.REASON, contract.MESSAGE}


def test_a_job_with_an_unknown_framework_stops_no_other_job() -> None:
    odd = replace(running("odd"), framework="caffe")
    plan = Plan(resizes=(Resize(KEY, "worker", 2, 4, because("idle capacity")),))
    found = steps(plan, state(odd, running()))
    assert [step.job.name for step in found.steps] == ["mnist"]
    assert [(broken.job.name, type(broken.error)) for broken in found.errors] == [("odd", KeyError)]


def test_a_left_out_job_without_a_readable_cause_stops_no_other_job() -> None:
    cause, unreadable = because("a copy", Code.JOB_CONFLICT), cast("Any", None)
    keys = [JobKey("lab", f"mnist/{name}") for name in ("odd", "copy")]
    copies = (
        ConflictingJob(key, key.name, key.name, why, role("worker", 1, 4))
        for key, why in zip(keys, (unreadable, cause), strict=True)
    )
    found = steps(Plan(), state(replace(running(), conflicting=tuple(copies))))
    assert [step.job for step in found.steps] == keys[1:]
    assert [broken.job for broken in found.errors] == keys[:1]


def test_a_job_with_a_missing_role_still_gives_what_was_promised() -> None:
    job = replace(running(), missing=("chief",))
    plan = Plan(resizes=(Resize(KEY, "worker", 2, 1, because("to make room for web")),))
    (step,) = steps(plan, state(job)).steps
    assert job_patches(step) == {"mnist-worker": {"parallelism": 1, "completions": 1}}


def test_what_is_missing_around_a_job_does_not_hold_back_its_shrink() -> None:
    plan = Plan(resizes=(Resize(KEY, "worker", 2, 1, because("to make room for web")),))
    job = replace(running(), existing_dependents={})
    shrink, around = steps(plan, state(job)).steps
    assert job_patches(shrink) == {"mnist-worker": {"parallelism": 1, "completions": 1}}
    assert shrink.part == ""
    assert {type(write) for write in around.writes} == {Create}
    assert around.part == DEPENDENTS


def test_figures_of_the_moment_are_not_written_down() -> None:
    gist = "Insufficient cpu: needs 4 x 1 CPU (worker)"
    needs = (ResourceNeed("worker", 4, Resources.of({"cpu": 1000})),)
    short = Lack(Scarce.RESOURCE, "cpu")
    new = steps(
        Plan(waiting=held(["mnist"], reasons.gang(Shortage(needs, 1, short)))), state(queued())
    )
    assert patches(new.steps[0])[0].body["metadata"]["annotations"][contract.MESSAGE] == gist
    same = Plan(waiting=held(["mnist"], reasons.gang(Shortage(needs, 2, short))))
    assert steps(same, state(queued(message=gist))).steps == ()


def test_extras_that_found_no_node_were_a_growth_that_failed() -> None:
    plan = Plan(resizes=(Resize(KEY, "worker", 2, 1, reasons.UNSCHEDULABLE),))
    (step,) = steps(plan, state(running())).steps
    (patch,) = patches(step)
    assert (
        " ScaleFailed 2 1 Unschedulable pods above its minimum" in written(patch)[contract.HISTORY]
    )
    assert [event.action for event in step.events] == ["ScaledDown"]


@pytest.mark.parametrize(
    ("phase", "before", "failures", "operation"),
    [
        (PodPhase.PENDING, 2, 0, "ScaleFailed"),
        (PodPhase.RUNNING, 2, 0, "ScaledDown"),
        (PodPhase.PENDING, 1, 0, "ScaledDown"),
        (None, 2, 0, "ScaleFailed"),
        (None, 2, 1, "ScaledDown"),
    ],
)
def test_a_scale_up_that_is_undone_before_its_pods_ran_has_failed(
    phase: PodPhase | None, before: int, failures: int, operation: str
) -> None:
    """`phase` None: its pod is not created yet, or was lost and counted as a failure."""
    line = f"2026-01-01T11:59:58.000Z ScaledUp {before} 3 IdleCapacity idle capacity"
    fields = {"history": line, "resized_at": NOW - seconds(2), "failures": failures}
    new = [pod("worker", 2, phase=phase, created_at=NOW - seconds(2), ready=False)] if phase else []
    grown = role("worker", 1, 4, size=3, pods=(*pods("worker", [0, 1]), *new), **fields)
    shrink = Resize(KEY, "worker", 3, 2, because("to make room", Code.RECLAIMED))
    (step,) = steps(Plan(resizes=(shrink,)), state(training(grown, framework="none"))).steps
    last = written(patches(step)[-1])[contract.HISTORY].splitlines()[-1]
    # A part of a scale-up from 1 to 3 stays.
    assert last.split(" ")[1:5] == [operation, "3", "2", "Reclaimed"]


@pytest.mark.parametrize("indexed", [True, False])
def test_replicas_that_leave_by_name_for_a_resize_have_one_event(*, indexed: bool) -> None:
    names = [0, 1, 2, 3]
    found = role("worker", 1, 4, size=4, pods=pods("worker", names), indexed=indexed)
    job = named("mnist", training(found))
    why = Reason(Code.FAIR_SHARING, Other(JobKey("lab", "other")))
    leaves = (job.roles[0].status.pods[3].name,)
    plan = Plan(
        resizes=(Resize(job.key, "worker", 4, 3, why),),
        drains=(Drain(job.key, "worker", leaves, why),),
    )
    (step,) = steps(plan, state(job)).steps
    assert [one.action for one in step.events] == [Action.SCALED_DOWN]


def budgets(found: TrainingJob, *staying: StayingPods) -> list[type]:
    """The writes of a PodDisruptionBudget in a round in which these pods stay."""
    made = steps(Plan(staying=staying), state(found)).steps
    writes = [write for step in made for write in step.writes]
    return [type(one) for one in writes if one.target.kind == "PodDisruptionBudget"]


@pytest.mark.parametrize("unprotected", [True, False])
def test_a_role_of_pods_that_stay_for_too_long_has_no_budget(*, unprotected: bool) -> None:
    found = running()
    pods = (("worker-0", "a"),)
    stay = StayingPods(found.key, "worker", pods, int(unprotected), unprotected=unprotected)
    without = {
        target: uid
        for target, uid in found.existing_dependents.items()
        if target.kind != "PodDisruptionBudget"
    }
    bare = replace(found, existing_dependents=without)
    assert budgets(found, stay) == ([Delete] if unprotected else [])
    assert budgets(bare, stay) == ([] if unprotected else [Create])
    assert budgets(bare) == [Create]
