from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.experiments import metrics, record
from benchmarks.experiments.ceiling import IDLE
from benchmarks.experiments.cluster import TOTAL_CPU
from benchmarks.experiments.course import Sample
from benchmarks.experiments.experiments import T2
from benchmarks.experiments.record import Circumstances, JobRecord, Record, Step


def job(
    created: float = 0.0, minimum: float | None = None, finished: float | None = None
) -> JobRecord:
    return JobRecord(created, minimum, None, finished, 0.0, 1.0)


def run(*jobs: JobRecord, steps: tuple[Step, ...] = (), nginx: int = 400) -> Record:
    half = TOTAL_CPU // 2
    samples = [Sample(float(at), half, nginx, (1, 3), at // 100) for at in range(0, 655, 5)]
    told = Circumstances("T2", "replay", "with", 1, load=(1.0, 2.0, 3.0))
    return Record(told, jobs, steps, {"trainer": 2}, tuple(samples))


@given(st.integers(1, 60), st.integers(1, 20))
def test_equal_sizes_are_perfectly_fair(size: int, jobs: int) -> None:
    assert metrics.jain([size] * jobs) == pytest.approx(1.0)


def test_jains_index_is_lowest_when_one_job_has_everything() -> None:
    assert metrics.jain([60, 0, 0, 0]) == pytest.approx(0.25)


@given(st.lists(st.integers(0, 60), min_size=1))
def test_fairness_is_between_none_and_all(sizes: list[int]) -> None:
    assert 0 <= metrics.jain(sizes) <= 1 + 1e-9


def test_a_wait_is_from_being_created_until_the_minimum() -> None:
    found = metrics.waits(run(job(minimum=4.0), job(created=10.0, minimum=12.0)))
    assert (found.mean, found.longest, found.unmet) == (3.0, 4.0, 0)


def test_the_wait_of_a_job_that_never_started_lasts_until_the_end() -> None:
    found = metrics.waits(run(job(created=50.0)))
    assert (found.mean, found.unmet) == (600.0, 1)


def test_shares_are_also_judged_over_time() -> None:
    assert metrics.mean_jain(run(job(), job()), (200, 500)) == pytest.approx(0.8)
    assert metrics.mean_jain(run(job(), job(finished=350.0)), (300, 395)) == pytest.approx(0.9)


def test_only_jobs_that_are_there_and_not_done_share() -> None:
    there = run(job(), job(finished=99.0))
    assert metrics.sizes_at(there, 90.0) == [1, 3]
    assert metrics.sizes_at(there, 100.0) == [1]


def test_utilisation_is_what_runs_of_all_there_is() -> None:
    assert metrics.utilisation(run(job()), (0, 655)) == pytest.approx(0.5)


def test_the_last_sample_until_a_moment_counts() -> None:
    assert metrics.sample_at(run(job()), 102.0).at == 100.0


def asked(*, reached: bool = True) -> tuple[Step, ...]:
    return tuple(Step(at, count, at + 6 if reached else None, IDLE, IDLE) for at, count in T2.nginx)


def test_every_step_of_the_service_has_its_own_ceiling() -> None:
    figures = metrics.steps(run(job(), steps=asked()))
    assert [found.replicas for found in figures] == [replicas for _, replicas in T2.nginx]
    assert figures[0].ceiling == figures[-1].ceiling > figures[3].ceiling
    assert figures[1].seconds == pytest.approx(6.0)


def test_only_growths_of_the_service_are_waits() -> None:
    figures = metrics.steps(run(job(), steps=asked(reached=False)))
    assert metrics.growths(figures) == [None, None, None]


@pytest.mark.parametrize(("nginx", "back"), [(400, True), (399, False)])
def test_the_service_is_back_when_all_of_it_is(nginx: int, back: bool) -> None:  # noqa: FBT001
    assert metrics.is_back(run(job(), nginx=nginx)) is back


def test_the_makespan_needs_every_job_to_be_done() -> None:
    assert metrics.makespan(run(job(finished=5.0), job(finished=9.0))) == 9.0
    assert metrics.makespan(run(job(finished=5.0), job())) is None


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = run(job(minimum=4.0), steps=(Step(115.0, 300, None, IDLE, IDLE),))
    assert record.load(record.save(written, tmp_path)) == written
