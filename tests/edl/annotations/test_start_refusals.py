"""Refused starts: which one counts, and when a start is tried again."""

from edl.annotations import failed_attempts, start_refusals
from edl.model import StartRefusal
from tests.edl.trainings import NOW, role, seconds, training

QUOTA = 'services "mnist" is forbidden: exceeded quota: team'


def test_each_refusal_doubles_the_wait_up_to_a_minute() -> None:
    refusal, waits = None, []
    for _ in range(9):
        refusal = failed_attempts.failed(StartRefusal, refusal, QUOTA, NOW)
        left = start_refusals.time_left(refusal, NOW)
        waits.append(left.total_seconds() if left else 0)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_start_is_due_when_its_wait_is_over_or_began_in_the_future() -> None:
    third = StartRefusal(NOW, 3, QUOTA)
    assert start_refusals.time_left(third, NOW + seconds(3)) == seconds(1)
    assert start_refusals.time_left(third, NOW + seconds(4)) is None
    assert start_refusals.time_left(third, NOW - seconds(60)) is None


def test_the_latest_refusal_counts_until_the_job_runs() -> None:
    written, known = StartRefusal(NOW, 1, "first"), StartRefusal(NOW + seconds(1), 2, "second")
    waiting = training(role("worker", 2, 4, suspended=True, refusal=written))
    assert start_refusals.with_refusal(waiting).refusal == written
    assert start_refusals.with_refusal(waiting, known).refusal == known
    running = training(role("worker", 2, 4, refusal=written))
    assert start_refusals.with_refusal(running, known).refusal is None


def test_a_refusal_of_a_clock_that_is_ahead_does_not_hide_the_next_one() -> None:
    """Else the start would be tried without a pause until that time has come."""
    ahead = StartRefusal(NOW + seconds(3600), 4, QUOTA)
    waiting = training(role("worker", 2, 4, suspended=True, refusal=ahead))
    again = failed_attempts.failed(StartRefusal, ahead, QUOTA, NOW)
    found = start_refusals.with_refusal(waiting, again).refusal
    assert found == again
    assert start_refusals.time_left(again, NOW) == seconds(16)
