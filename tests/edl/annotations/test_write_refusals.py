"""Refused writes: which refusals count, and when each write is tried again."""

from msgspec.structs import replace

from edl.annotations import write_refusals
from edl.annotations.failed_attempts import MAX_ATTEMPTS
from edl.model import RefusedSize, RequestedSize, ResizePolicy, TrainingJob, WriteRefusal
from tests.edl.trainings import NOW, role, seconds, training

QUOTA = 'services "mnist" is forbidden: exceeded quota: team'
ASKED = RequestedSize(1, 9)
GROWN = RefusedSize("worker", 8, grows=True, request=ASKED)


def started(*refusals: WriteRefusal, size: int = 3, most: int = 9, **fields: object) -> TrainingJob:
    """A running job whose worker's Job records `refusals`."""
    workers = role("worker", 1, most, size=size, refusals=refusals, **fields)
    return write_refusals.with_refusals(training(role("chief"), workers))


def again(job: TrainingJob, *sizes: tuple[str, int], starts: bool = False) -> TrainingJob:
    """The job after one more refusal."""
    found = write_refusals.refused(job, sizes, QUOTA, NOW, starts=starts)
    return write_refusals.with_refusals(job, (*job.refusals, *found))


def test_each_refusal_doubles_the_wait_up_to_a_minute() -> None:
    job, waits = training(role("worker", 2, 4, suspended=True)), []
    for _ in range(9):
        job = again(job, starts=True)
        (refusal,) = job.refusals
        left = write_refusals.time_left(refusal, NOW)
        waits.append(left.total_seconds() if left else 0)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_the_count_of_a_hostile_annotation_stays_one_that_is_read_back() -> None:
    most = WriteRefusal(NOW, MAX_ATTEMPTS, QUOTA)
    waiting = training(role("worker", 2, 4, suspended=True, refusals=(most,)), refusals=(most,))
    assert [one.attempts for one in again(waiting, starts=True).refusals] == [MAX_ATTEMPTS]


def test_a_start_is_due_when_its_wait_is_over_or_began_in_the_future() -> None:
    third = WriteRefusal(NOW, 3, QUOTA)
    assert write_refusals.time_left(third, NOW + seconds(3)) == seconds(1)
    assert write_refusals.time_left(third, NOW + seconds(4)) is None
    assert write_refusals.time_left(third, NOW - seconds(60)) is None


def test_the_latest_refusal_of_a_start_counts_until_the_job_runs() -> None:
    written = WriteRefusal(NOW, 1, "first")
    known = WriteRefusal(NOW + seconds(1), 2, "second")
    waiting = training(role("worker", 2, 4, suspended=True, refusals=(written,)))
    assert write_refusals.with_refusals(waiting).refusals == (written,)
    assert write_refusals.with_refusals(waiting, (known,)).refusals == (known,)
    running = training(role("worker", 2, 4, refusals=(written,)))
    assert write_refusals.with_refusals(running, (known,)).refusals == ()


def test_a_refusal_of_a_clock_that_is_ahead_does_not_hide_the_next_one() -> None:
    """Else the start would be tried without a pause until that time has come."""
    ahead = WriteRefusal(NOW + seconds(3600), 4, QUOTA)
    waiting = training(role("worker", 2, 4, suspended=True, refusals=(ahead,)), refusals=(ahead,))
    (found,) = again(waiting, starts=True).refusals
    assert found == WriteRefusal(NOW, 5, QUOTA)
    assert write_refusals.time_left(found, NOW) == seconds(16)


def test_a_refused_size_counts_until_the_role_has_it_or_stops() -> None:
    refusal = WriteRefusal(NOW, 1, QUOTA, GROWN)
    assert started(refusal).refusals == (refusal,)
    assert started(refusal, size=2).refusals == (refusal,)
    assert started(refusal, size=8).refusals == ()
    stopped = training(role("worker", 1, 9, size=3, suspended=True, refusals=(refusal,)))
    assert write_refusals.with_refusals(stopped).refusals == ()


def test_a_role_remembers_the_last_refused_size_of_each_kind() -> None:
    job = started()
    for size in (6, 8, 2, 1, 0):
        job = again(job, ("worker", size))
    stop, smaller = (RefusedSize("worker", size, grows=False, request=ASKED) for size in (0, 1))
    assert set(job.refusals) == {
        WriteRefusal(NOW, 2, QUOTA, GROWN),
        WriteRefusal(NOW, 2, QUOTA, smaller),
        WriteRefusal(NOW, 1, QUOTA, stop),
    }


def test_a_second_refusal_neither_hides_the_first_nor_lengthens_its_back_off() -> None:
    chief = role("chief")
    job = training(chief, role("worker", 2, 9, suspended=True))
    for _ in range(5):
        job = again(job, starts=True)
    (grown,) = write_refusals.refused(job, (("chief", 2),), "denied by a policy", NOW)
    job = write_refusals.with_refusals(job, (*job.refusals, grown))
    assert [(one.attempts, str(one)) for one in job.refusals] == [
        (5, f"the API server refuses its start: {QUOTA}"),
        (1, "the API server refuses its new size: denied by a policy"),
    ]


def test_sizes_that_a_dry_run_accepted_are_refused_no_more_but_count_as_attempts() -> None:
    lifted = WriteRefusal(NOW, 3, QUOTA, GROWN, lifted=True)
    job = started(lifted)
    assert job.refused_writes == ()
    smaller = RefusedSize("worker", 2, grows=False, request=ASKED)
    assert again(job, ("worker", 2)).refused_writes == (WriteRefusal(NOW, 1, QUOTA, smaller),)
    assert again(job, ("worker", 8)).refused_writes == (WriteRefusal(NOW, 4, QUOTA, GROWN),)


def test_another_request_of_the_users_is_not_refused_yet() -> None:
    """Else only the size of the earlier request would be tried, and a correction never."""
    asked = replace(GROWN, request=RequestedSize(1, 9, 8))
    first = WriteRefusal(NOW, 3, QUOTA, asked)
    assert started(first, replicas=8).refusals == (first,)
    assert started(first, replicas=8, most=6).refusals == ()
    for size in (6, 9, 3, None):
        assert started(first, replicas=size).refusals == ()
        assert write_refusals.with_refusals(started(replicas=size), (first,)).refusals == ()
    paused = replace(started(first, replicas=8), paused=True)
    assert write_refusals.with_refusals(paused).refusals == ()


def test_what_was_accepted_replaces_the_same_refusal_in_memory() -> None:
    known = WriteRefusal(NOW, 3, QUOTA, GROWN)
    lifted = replace(known, lifted=True)
    job = write_refusals.with_refusals(started(lifted), (known,))
    assert job.refusals == (lifted,)
    assert not job.refuses(job.roles[1], 8)


def test_a_size_is_refused_for_its_role_with_all_of_its_kind() -> None:
    job = started(WriteRefusal(NOW, 1, QUOTA, GROWN))
    chief, workers = job.roles
    assert [job.refuses(workers, size) for size in (0, 2, 3, 4, 9)] == [False] * 3 + [True] * 2
    assert not job.refuses(chief, 2)
    smaller = RefusedSize("worker", 2, grows=False)
    job = replace(job, refusals=(WriteRefusal(NOW, 1, QUOTA, smaller),))
    assert [job.refuses(workers, size) for size in (0, 1, 2, 3, 4)] == [False, True, True] + [
        False
    ] * 2
    assert not job.keeps_running


def test_a_job_that_the_api_server_refuses_to_stop_cannot_restart_for_a_new_size() -> None:
    stop = RefusedSize("chief", 0, grows=False)
    job = replace(started(), refusals=(WriteRefusal(NOW, 1, QUOTA, stop),))
    assert job.keeps_running
    workers = job.roles[1]
    assert not job.refuses(workers, 4)
    assert job.refuses(workers.changed(resizing=ResizePolicy.RESTART), 4)
