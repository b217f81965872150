"""What is left of a job: its own history says more than its user, and nobody guesses."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from edl.forecast.remaining_work import RemainingWork, left
from edl.model import JobEnd, ResizePolicy, TrainingJob
from edl.simulator import CONSTANT, Work
from tests.edl.planner.states import NOON, at, job, pod, role, worker

HOUR = 3600.0


def running(**fields: object) -> TrainingJob:
    """2 workers since half an hour ago."""
    return worker("mnist", 1, 4, **{"on": ["a", "a"], "started_at": at(-HOUR / 2), **fields})


def test_without_any_word_nothing_is_known() -> None:
    assert left(running(), NOON) == left(worker("waits", 1, 4), NOON)
    assert left(running(), NOON) == RemainingWork(None)
    assert left(running(), NOON).work is None


def test_a_declared_length_counts_from_the_start() -> None:
    found = left(running(duration=timedelta(hours=2)), NOON)
    assert found.work == Work(1.5 * HOUR, CONSTANT)
    waits = left(worker("waits", 1, 4, duration=timedelta(hours=2)), NOON)
    assert waits.work == Work(2 * HOUR, CONSTANT)


def test_a_job_past_its_declared_duration_has_no_known_end() -> None:
    found = left(running(duration=timedelta(minutes=20)), NOON)
    assert found == RemainingWork(None, overdue=True)


def test_progress_says_more_than_the_user() -> None:
    found = left(running(progress=0.25, duration=timedelta(hours=99)), NOON)
    # A quarter took 2 workers half an hour: three quarters take 3 hours of one worker.
    assert found.work is not None
    assert found.work.seconds == pytest.approx(3 * HOUR)


def test_a_role_that_has_ended_does_no_more_work() -> None:
    chief = role("chief", on=["a"], progress=0.5)
    ended = role("worker", 1, 4, on=[], ending=JobEnd.COMPLETE)
    found = left(job("mnist", chief, ended, started_at=at(-HOUR / 2)), NOON)
    assert found.work is not None
    assert found.work.seconds == pytest.approx(HOUR / 2)


def test_the_first_percent_says_nothing() -> None:
    assert left(running(progress=0.01), NOON).work is None


def test_pauses_and_other_sizes_are_in_the_history() -> None:
    history = (
        "2026-01-01T09:00:00Z Started 4 4 \n"
        "2026-01-01T10:00:00Z Suspended 4 4 paused\n"
        "2026-01-01T11:00:00Z Resumed 2 2 "
    )
    found = left(running(progress=0.5, history=history), NOON)
    assert found.work is not None
    # 4 for an hour and 2 for an hour.
    assert found.work.seconds == pytest.approx(6 * HOUR)


@pytest.mark.parametrize("on", [None, ["a"] * 4])
def test_the_last_work_items_take_no_longer_than_declared(on: list[str] | None) -> None:
    """They are fewer than the minimum, and than the size."""
    items = {"resizing": ResizePolicy.ITEMS, "indexed": False, "remaining": 2}
    declared = {"duration": timedelta(hours=1), "started_at": NOON if on else None}
    found = left(worker("sweep", 4, 8, on=on, **declared, **items), NOON)
    assert found.work is not None
    assert found.work.seconds == HOUR


def test_work_items_are_counted() -> None:
    pods = tuple(pod(index, "a", created_at=NOON) for index in (10, 11))
    items = {"resizing": ResizePolicy.ITEMS, "indexed": False, "pods": pods}
    found = left(running(remaining=30, progress=0.25, **items), NOON)
    # 10 of 40 took 2 workers half an hour: 6 minutes each.
    assert found.work is not None
    assert found.work.seconds == pytest.approx(360)


def test_the_time_of_running_items_does_not_count_for_completed_ones() -> None:
    """Of 54 items, 18 have run for 25 s, and the first two are complete."""
    pods = tuple(pod(index, "a", created_at=at(-25)) for index in range(16))
    items = {"resizing": ResizePolicy.ITEMS, "indexed": False, "remaining": 52, "progress": 1 / 27}
    sweep = worker("sweep", 1, 18, size=18, suspended=False, pods=pods, started_at=at(-25), **items)
    found = left(sweep, NOON)
    assert found.work is not None
    # 36 items of 25 s are still to begin.
    assert found.work.seconds * 52 == pytest.approx(36 * 25)


def test_an_item_takes_no_less_than_those_that_run() -> None:
    """The first to end are short ones."""
    pods = tuple(pod(index, "a", created_at=at(-HOUR / 2)) for index in range(2))
    items = {"resizing": ResizePolicy.ITEMS, "indexed": False, "remaining": 4, "progress": 0.2}
    found = left(running(pods=pods, **items), NOON)
    assert found.work is not None
    assert found.work.seconds * 4 == pytest.approx(2 * HOUR / 2)


def test_a_declared_length_of_work_items_is_spread_over_them() -> None:
    items = worker(
        "many",
        2,
        8,
        resizing=ResizePolicy.ITEMS,
        indexed=False,
        remaining=10,
        duration=timedelta(hours=1),
    )
    found = left(items, NOON)
    assert found.work is not None
    assert found.work.seconds == pytest.approx(2 * HOUR / 10)


def test_a_duration_of_a_hundred_years_is_accepted() -> None:
    job = running(duration=timedelta(days=9_999_999))
    assert left(replace(job), NOON).work


def test_what_is_older_than_the_history_that_is_kept_counts_from_the_start() -> None:
    """Ten hours for a half; only the last one of them is told."""
    known = "2026-01-01T11:00:00Z ScaledUp 4 5 idle capacity: 5 of 8 fit"
    job = worker("a", 4, 8, on=["a"] * 5, progress=0.5, history=known, started_at=at(-36_000))
    found = left(job, NOON)
    assert found.work is not None
    assert found.work.seconds == 9 * 3600 * 4 + 3600 * 5
    declared = worker("a", 4, 4, on=["a"] * 4, history=known, duration=timedelta(hours=9))
    assert left(replace(declared, started_at=at(-36_000)), NOON).overdue
