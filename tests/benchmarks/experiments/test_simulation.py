import pytest

from benchmarks.experiments import metrics
from benchmarks.experiments.experiments import EDL, T1, T2, WITH, WITHOUT
from benchmarks.experiments.figures import Figures, figures, read, write
from benchmarks.experiments.simulation import simulate


@pytest.fixture(scope="module")
def t1() -> Figures:
    return figures(simulate(T1, WITH, 3))


@pytest.fixture(scope="module")
def t2() -> Figures:
    return figures(simulate(T2, WITH, 7))


def test_twenty_jobs_share_a_full_cluster_equally(t1: Figures) -> None:
    assert t1.jain >= 0.95
    assert t1.wait < 10
    assert (t1.below, t1.lacking, t1.done) == (0, 0, T1.jobs)


def test_the_first_replay_leaves_less_than_one_percent_unused(t1: Figures) -> None:
    (step,) = t1.steps
    assert step.utilisation / step.around >= 0.99


def test_the_service_gets_its_room_and_no_job_is_stopped(t2: Figures) -> None:
    assert t2.back
    assert all(seconds is not None and seconds <= 15 for seconds in metrics.growths(t2.steps))
    assert t2.stops["whole jobs"] == 0


def test_without_us_jobs_wait_for_each_other(t1: Figures) -> None:
    assert figures(simulate(T1, WITHOUT, 3)).wait > 10 * t1.wait


def test_by_edls_algorithm_a_job_waits_until_others_have_made_room(t1: Figures) -> None:
    edl = figures(simulate(T1, EDL, 3))
    assert figures(simulate(T1, WITHOUT, 3)).wait > edl.wait > t1.wait
    assert (edl.done, edl.lacking) == (T1.jobs, 0)
    assert 0 < edl.stops["trainer"] < t1.stops["trainer"]


def test_by_edls_algorithm_training_steps_aside_for_the_service() -> None:
    edl = figures(simulate(T2, EDL, 7))
    assert edl.back
    assert edl.stops["trainer"] > 0


def test_figures_are_read_as_they_were_written(
    t1: Figures, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write([t1], tmp_path_factory.mktemp("figures") / "t1.json")
    (again,) = read(path)
    assert again.circumstances == t1.circumstances
    assert again.jain == pytest.approx(t1.jain, abs=1e-4)
