import pytest

from benchmarks.experiments.cluster import MASTER, NGINX, PSERVER, TRAINER
from benchmarks.experiments.course import Course, Track, begin
from benchmarks.experiments.experiments import T1, Arrival
from benchmarks.experiments.observe import PENDING, RUNNING, Group

JOB = "job-00"


def created(work: float = 1_000.0) -> tuple[Course, Track]:
    course = begin(T1, (Arrival(JOB, 0.0, work),))
    track = course.tracks[JOB]
    track.created = 0.0
    return course, track


def running(trainers: int, pservers: int = 10, master: int = 1) -> dict[Group, int]:
    counts = {TRAINER: trainers, PSERVER: pservers, MASTER: master}
    return {Group(JOB, kind.name, RUNNING): count for kind, count in counts.items()}


def test_a_job_has_its_minimum_when_every_role_has() -> None:
    course, track = created()
    course.look(1.0, running(5, pservers=9))
    assert track.minimum is None
    course.look(2.0, running(2))
    assert track.minimum == 2.0
    assert track.whole is None


def test_a_job_trains_only_with_all_of_its_pservers() -> None:
    course, track = created(work=10.0)
    course.look(1.0, running(1, pservers=9))
    course.look(100.0, running(1))
    assert track.work.left == pytest.approx(10.0)
    assert course.look(110.0, running(1)) == [track]
    assert (track.finished, track.trainers) == (110.0, 0)


def test_what_a_job_lacks_counts_from_when_it_had_its_minimum() -> None:
    course, track = created()
    course.look(10.0, running(0))
    course.look(20.0, running(2))
    course.look(30.0, running(1))
    course.look(34.0, running(2))
    assert track.lacking == pytest.approx(4.0)


def test_a_job_that_is_not_created_yet_is_not_below_its_minimum() -> None:
    course, track = created()
    track.created = None
    course.look(1.0, {})
    course.sample(1.0, {})
    assert course.samples[0].below == 0


def test_a_sample_sums_what_runs_and_nothing_else() -> None:
    course, _ = created()
    counts = running(3) | {Group("", NGINX.name, RUNNING): 7, Group("", NGINX.name, PENDING): 9}
    course.look(1.0, counts)
    course.sample(1.0, counts)
    (sample,) = course.samples
    expected = 3 * TRAINER.cpu + 10 * PSERVER.cpu + MASTER.cpu + 7 * NGINX.cpu
    assert (sample.cpu, sample.nginx, sample.trainers) == (expected, 7, (3,))


def test_a_job_that_waits_is_below_its_minimum() -> None:
    course, _ = created()
    course.look(1.0, {})
    course.sample(1.0, {})
    assert course.samples[0].below == 1
