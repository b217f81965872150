import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.experiments.work import Work, speed

TRAINERS = st.integers(1, 500)


def test_no_trainer_has_speed_zero_and_one_trainer_speed_one() -> None:
    assert (speed(0), speed(1)) == (0, 1)


@given(TRAINERS)
def test_one_trainer_more_is_faster_but_less_than_the_one_before(trainers: int) -> None:
    before, now, after = (speed(count) for count in (trainers - 1, trainers, trainers + 1))
    assert 0 < after - now < now - before + 1e-12


@given(st.integers(2, 500))
def test_it_is_below_linear(trainers: int) -> None:
    assert speed(trainers) < trainers


def test_work_is_what_the_trainers_of_the_time_between_have_done() -> None:
    work = Work(left=100.0)
    assert not work.go_on(10.0, 1)  # nobody has trained until now
    assert not work.go_on(20.0, 0)
    assert work.left == pytest.approx(90.0)
    assert not work.go_on(1_000.0, 1)
    assert work.go_on(1_090.0, 1)
