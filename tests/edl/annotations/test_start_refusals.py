"""Refused starts: how they are kept, and when a start is tried again."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from edl.annotations import start_refusals
from edl.model import StartRefusal
from tests.edl.trainings import NOW, role, seconds, training

QUOTA = 'services "mnist" is forbidden: exceeded quota: team'


def refusals() -> st.SearchStrategy[StartRefusal]:
    moments = st.integers(0, 10**9).map(lambda past: NOW - timedelta(seconds=past))
    return st.builds(StartRefusal, moments, st.integers(1, 99), st.text(), st.booleans())


@given(refusals())
def test_a_refusal_is_read_as_it_was_written(refusal: StartRefusal) -> None:
    assert start_refusals.read(start_refusals.text(refusal)) == refusal


def test_what_is_no_refusal_is_none() -> None:
    naive = '{"at":"2026-01-01T12:00:00","attempts":1,"message":""}'
    many = start_refusals.text(StartRefusal(NOW, 2**63, ""))
    deep = '{"x":' + "[" * 100_000
    texts = ("", "{}", "x", "[1]", naive, many, deep)
    assert [start_refusals.read(text) for text in texts] == [None] * 7


def test_each_refusal_doubles_the_wait_up_to_a_minute() -> None:
    refusal, waits = None, []
    for _ in range(9):
        refusal = start_refusals.refused(refusal, QUOTA, NOW)
        left = start_refusals.time_left(refusal, NOW)
        waits.append(left.total_seconds() if left else 0)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_start_is_due_when_its_wait_is_over_or_began_in_the_future() -> None:
    third = StartRefusal(NOW, 3, QUOTA)
    assert start_refusals.time_left(third, NOW + seconds(3)) == seconds(1)
    assert start_refusals.time_left(third, NOW + seconds(4)) is None
    assert start_refusals.time_left(third, NOW - seconds(60)) is None


def test_a_message_is_kept_on_one_line_and_not_at_any_length() -> None:
    found = start_refusals.refused(None, "denied:\n  one\n" + "x" * 9999, NOW)
    assert found.message.startswith("denied: one xxx")
    assert len(found.message) == 1024


def test_the_latest_refusal_counts_and_none_of_a_job_that_runs() -> None:
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
    again = start_refusals.refused(ahead, QUOTA, NOW)
    found = start_refusals.with_refusal(waiting, again).refusal
    assert found == again
    assert start_refusals.time_left(again, NOW) == seconds(16)
