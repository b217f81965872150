from itertools import pairwise

import pytest

from benchmarks.experiments.experiments import EXPERIMENTS, T1, Arrival, Experiment, trace


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))
def test_the_same_seed_is_the_same_trace(experiment: Experiment) -> None:
    assert trace(experiment, 3) == trace(experiment, 3)


def test_another_seed_is_another_trace() -> None:
    assert trace(T1, 1) != trace(T1, 2)


def test_the_trace_is_the_one_that_was_run() -> None:
    first, second, *_ = trace(T1, 1)
    assert first == Arrival("job-00", 0.0, 9405.2)
    assert second == Arrival("job-01", 10.85, 9377.8)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))
def test_jobs_come_one_after_the_other(experiment: Experiment) -> None:
    arrivals = trace(experiment, 1)
    assert len(arrivals) == experiment.jobs
    gaps = [after.at - before.at for before, after in pairwise(arrivals)]
    assert all(0.79 <= gap / experiment.spacing <= 1.21 for gap in gaps)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))
def test_works_stay_within_their_bounds(experiment: Experiment) -> None:
    least, most = experiment.works
    assert all(least <= found.work <= most for found in trace(experiment, 1))
