"""The lead of an API server's clock, from the dates of its answers."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from edl.kube.api.server_clock import ServerClock

EPOCH = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


class Machine:
    """A machine whose clock is behind its server's by `lead` seconds."""

    def __init__(self, lead: float = 0.0) -> None:
        self.seconds = 0.25
        self.lead = lead
        self.clock = ServerClock(lambda: EPOCH + self.seconds - self.lead, self.elapsed)

    def elapsed(self) -> float:
        return 5000.0 + self.seconds

    def answer(self, count: int = 1, *, wrong: float = 0.0, takes: float = 0.1) -> None:
        """Answers that begin half-way; `wrong`: by how much their dates are ahead."""
        for _ in range(count):
            sent = self.elapsed()
            self.seconds += takes / 2
            moment = datetime.fromtimestamp(EPOCH + self.seconds + wrong, UTC)
            self.seconds += takes / 2
            self.clock.answered(format_datetime(moment, usegmt=True), sent)
            self.seconds += 1.3

    def ahead(self) -> float:
        return self.clock.ahead().total_seconds()


def test_clocks_that_agree_stay_equal() -> None:
    machine = Machine()
    machine.answer(30)
    assert machine.ahead() == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("lead", [-3600, -60, -3, 3, 60, 3600])
def test_one_answer_tells_the_lead_within_a_second(lead: float) -> None:
    machine = Machine(lead)
    assert machine.clock.ahead() == timedelta()
    machine.answer()
    assert machine.ahead() == pytest.approx(lead, abs=1.2)


def test_further_answers_make_it_more_exact() -> None:
    machine = Machine(60)
    machine.answer(20)
    assert machine.ahead() == pytest.approx(60, abs=0.6)


@pytest.mark.parametrize("wrong", [-300, -2, 2, 300])
def test_dates_that_are_wrong_less_often_than_right_move_no_time(wrong: float) -> None:
    machine = Machine()
    machine.answer(9)
    for _ in range(20):
        machine.answer(4, wrong=wrong)
        assert machine.ahead() == pytest.approx(0, abs=1e-3)
        machine.answer(5)
        assert machine.ahead() == pytest.approx(0, abs=1e-3)


def test_as_many_wrong_dates_as_right_ones_move_no_time() -> None:
    machine = Machine()
    machine.answer()
    machine.answer(wrong=300)
    assert machine.ahead() == pytest.approx(0, abs=1e-3)


def test_a_lasting_difference_is_followed() -> None:
    """Another API server answers from now on, whose clock differs."""
    machine = Machine()
    machine.answer(9)
    machine.answer(5, wrong=60)
    assert machine.ahead() == pytest.approx(60, abs=1.2)


def test_a_slow_answer_says_little() -> None:
    machine = Machine()
    machine.answer(9, takes=40)
    assert machine.ahead() == pytest.approx(0, abs=1e-3)


def test_a_step_of_the_machines_clock_changes_the_lead_at_once() -> None:
    machine = Machine(60)
    machine.answer(9)
    before = machine.ahead()
    machine.lead = 0
    assert machine.ahead() == pytest.approx(before - 60)


@pytest.mark.parametrize("date", ["", "soon", "Thu, 01 Jan 2026 01:00:00"])
def test_an_answer_without_a_date_counts_for_nothing(date: str) -> None:
    machine = Machine()
    machine.clock.answered(date, machine.elapsed())
    assert machine.clock.ahead() == timedelta()


def test_a_date_that_is_days_away_counts_for_nothing() -> None:
    machine = Machine()
    machine.answer(wrong=90_000)
    assert machine.clock.ahead() == timedelta()
