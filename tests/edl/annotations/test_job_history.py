"""A training job's past, kept on its Jobs: small, in order, and never the reason to fail."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from edl import contract
from edl.annotations.job_history import (
    LONGEST,
    MAX_LINES,
    HistoryEntry,
    Operation,
    annotation,
    entries,
)
from edl.model import Code
from tests.edl.trainings import NOW, role, seconds

GROWN = HistoryEntry(
    NOW, Operation.SCALED_UP, 2, 4, Code.IDLE_CAPACITY, "idle capacity: 4 of 6 fit"
)

_ENTRIES = some.builds(
    HistoryEntry,
    some.integers(0, 10**8).map(lambda age: NOW - seconds(age)),
    some.sampled_from(Operation),
    some.integers(0, 10**5),
    some.integers(0, 10**5),
    some.sampled_from(Code),
    some.text(some.characters(codec="utf-8", categories=["L", "N", "P"]), max_size=150),
)


def kept(*told: HistoryEntry, history: str = "") -> str:
    return annotation(role("worker", history=history), told).get(contract.HISTORY) or history


@pytest.mark.slow
@given(some.lists(_ENTRIES, max_size=12))
def test_what_is_written_is_read_again(told: list[HistoryEntry]) -> None:
    assert entries(kept(*told)) == tuple(told)


def test_an_entry_is_a_line_that_people_can_read() -> None:
    assert (
        kept(GROWN)
        == "2026-01-01T12:00:00.000Z ScaledUp 2 4 IdleCapacity idle capacity: 4 of 6 fit"
    )


def test_nothing_new_writes_nothing() -> None:
    assert annotation(role("worker", history=kept(GROWN)), []) == {}


@pytest.mark.slow
@given(some.lists(_ENTRIES, min_size=1, max_size=3 * MAX_LINES))
def test_the_newest_are_kept_within_a_few_kilobytes(told: list[HistoryEntry]) -> None:
    history = ""
    for entry in told:
        history = kept(entry, history=history)
    found = entries(history)
    assert found == tuple(told[-len(found) :])
    assert 1 <= len(found) <= MAX_LINES
    assert len(history) <= LONGEST


def test_as_many_short_ones_are_kept_as_are_promised() -> None:
    code = Code.IDLE_CAPACITY
    told = [
        HistoryEntry(NOW + timedelta(seconds=age), Operation.SCALED_UP, 1, 2, code, "room")
        for age in range(60)
    ]
    assert entries(kept(*told)) == tuple(told[-MAX_LINES:])


def test_a_message_is_one_line_and_not_a_novel() -> None:
    (found,) = entries(
        kept(HistoryEntry(NOW, Operation.SCALED_DOWN, 4, 2, Code.RECLAIMED, "a\nb " + "x" * 500))
    )
    assert found.message.startswith("a b xxx")
    assert found.message.endswith("x…")
    assert len(found.message) == 200


def test_foreign_lines_are_left_out() -> None:
    strange = "\n".join(
        [
            "",
            "yesterday ScaledUp 1 2 x",
            "0001-01-01T00:00:00+23:59 ScaledUp 1 2 a moment that no calendar has",
            "2026-01-01T12:00:00 ScaledUp 1 2 of no time zone",
            "2026-01-01T12:00:00Z Grown 1 2 x",
            kept(GROWN),
            "grown",
            "2026-01-01T12:00:00Z",
        ]
    )
    assert entries(strange) == (GROWN,)


def test_a_line_with_overlong_sizes_is_left_out() -> None:
    ours = kept(GROWN)
    assert entries(f"2026-01-01T12:00:00Z ScaledUp 2 {'9' * 4_000} x\n{ours}") == (GROWN,)


def test_a_line_without_a_code_keeps_its_words() -> None:
    (found,) = entries("2026-01-01T12:00:00Z ScaledUp 2 4 idle capacity: 4 of 6 fit")
    assert (found.code, found.message) == (None, "idle capacity: 4 of 6 fit")
