"""Steps are collected job by job, and an error of one job stops no other."""

from datetime import timedelta

from edl.model import JobKey, ObjectRef
from edl.steps.step_collector import DueSteps, StepCollector
from edl.writes import Delete, Step

FIRST, WAITING, LAST = (JobKey("lab", name) for name in ("first", "waiting", "last"))
SOON = timedelta(seconds=3)


def step(job: JobKey) -> Step:
    return Step(job, (Delete(ObjectRef("Pod", job.namespace, job.name)),))


def collector() -> StepCollector:
    return StepCollector(lambda job: job == WAITING)


def test_an_error_of_one_job_stops_no_other() -> None:
    collected = collector()
    collected.add(FIRST, lambda steps: DueSteps((steps[len(steps)],)), (step(FIRST),))
    collected.add(LAST, DueSteps, (step(LAST),), SOON)
    assert [one.job for one in collected.errors] == [FIRST]
    assert (collected.steps, collected.rechecks) == ([step(LAST)], [SOON])


def test_a_job_that_backs_off_computes_nothing() -> None:
    collected = collector()
    for job in (FIRST, WAITING):
        collected.add(job, DueSteps, (step(job),), SOON)
    assert (collected.steps, collected.rechecks) == ([step(FIRST)], [SOON])


def test_steps_that_write_nothing_are_left_out_but_their_recheck_is_kept() -> None:
    collected = collector()
    collected.add(FIRST, DueSteps, (Step(FIRST, ()), step(FIRST)), SOON)
    assert (collected.steps, collected.rechecks) == ([step(FIRST)], [SOON])


def test_steps_of_several_jobs_are_collected_but_for_jobs_that_wait() -> None:
    collected = collector()
    collected.extend([step(WAITING), step(FIRST), step(LAST)])
    assert collected.steps == [step(FIRST), step(LAST)]
