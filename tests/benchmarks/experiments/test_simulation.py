import pytest

from benchmarks.experiments import metrics
from benchmarks.experiments.experiments import T1, T2
from benchmarks.experiments.figures import Figures, figures, read, write
from benchmarks.experiments.simulation import simulate


@pytest.fixture(scope="module")
def t1() -> Figures:
    return figures(simulate(T1, "with", 3))


@pytest.fixture(scope="module")
def t2() -> Figures:
    return figures(simulate(T2, "with", 7))


def test_twenty_jobs_share_a_full_cluster_equally(t1: Figures) -> None:
    assert t1.jain >= 0.95
    assert t1.wait < 10
    assert (t1.below, t1.lacking, t1.done) == (0, 0, T1.jobs)


def test_nobody_else_leaves_room_for_one_more_trainer(t1: Figures) -> None:
    (step,) = t1.steps
    assert step.utilisation / step.around >= 0.99


def test_the_service_gets_its_room_and_no_job_is_stopped(t2: Figures) -> None:
    assert t2.back
    assert all(seconds is not None and seconds <= 15 for seconds in metrics.growths(t2.steps))
    assert t2.stops["whole jobs"] == 0


def test_without_us_jobs_wait_for_each_other(t1: Figures) -> None:
    assert figures(simulate(T1, "without", 3)).wait > 10 * t1.wait


def test_figures_are_read_as_they_were_written(
    t1: Figures, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write([t1], tmp_path_factory.mktemp("figures") / "t1.json")
    (again,) = read(path)
    assert again.circumstances == t1.circumstances
    assert again.jain == pytest.approx(t1.jain, abs=1e-4)
