"""Times that were written by a wrong clock make nobody wait."""

from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from edl.job_state.lost_pods import LONGEST_BACKOFF
from edl.kube.cluster import Delta, ObjectKey
from edl.kube.state.clock_skew import AHEAD, OwnTimes
from edl.model import ClusterState, JobKey, Node, ScaleDeadline, TrainingJob
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from tests.edl.trainings import LONG_AGO, NOW, pod, pods, role, training

TOMORROW = NOW + timedelta(days=1)


def resized(at: datetime, started: datetime = LONG_AGO) -> TrainingJob:
    worker = role("worker", 1, 4, size=1, resized_at=at, pods=pods("worker", range(1)))
    return training(worker, started_at=started)


def corrected(jobs: tuple[TrainingJob, ...], now: datetime) -> tuple[TrainingJob, ...]:
    times = OwnTimes()
    for job in jobs:
        times.apply_job(Delta(ObjectKey(*job.key), None, job))
    return times.corrected(jobs, now)


def grows(job: TrainingJob) -> bool:
    room = Resources.of({"cpu": 8000, "memory": 1 << 34, "pods": 110})
    state = ClusterState(NOW, (Node("n1", room, Resources(), Resources()),), (job,))
    return bool(decide(state, POLICIES["fair"], Limits()).resizes)


def test_a_resize_time_in_the_future_is_clamped_so_that_growth_goes_on() -> None:
    assert not grows(resized(TOMORROW))
    (job,) = corrected((resized(TOMORROW),), NOW)
    assert grows(job)


@pytest.mark.parametrize("job", [resized(TOMORROW), resized(LONG_AGO, started=TOMORROW)])
def test_what_is_still_to_come_counts_as_long_ago(job: TrainingJob) -> None:
    (right,) = corrected((job,), NOW)
    times = [right.started_at, *(one.record.resized_at for one in right.roles)]
    assert all(time and time <= LONG_AGO for time in times)


def test_clocks_of_two_leaders_may_differ_a_little() -> None:
    jobs = (resized(NOW + AHEAD),)
    assert corrected(jobs, NOW) is jobs


def test_the_others_stay_the_very_same() -> None:
    right = resized(LONG_AGO)
    wrong = replace(resized(TOMORROW), key=JobKey("lab", "other"))
    assert corrected((right, wrong), NOW)[0] is right


def test_so_does_the_clock_of_a_manual_size() -> None:
    limit = ScaleDeadline(timedelta(minutes=1), since=TOMORROW, before=1)
    (right,) = corrected((training(role("worker", 1, 4, scaling=limit)),), NOW)
    scaling = right.roles[0].request.scaling
    assert scaling is not None
    assert scaling.since is not None
    assert scaling.since <= LONG_AGO


def test_so_does_a_back_off_that_ends_later_than_any_can() -> None:
    longest = NOW + AHEAD + LONGEST_BACKOFF
    kept = training(role("worker", 1, 4, delayed_until=longest))
    assert corrected((kept,), NOW)[0] is kept
    (right,) = corrected((training(role("worker", 1, 4, delayed_until=TOMORROW)),), NOW)
    until = right.roles[0].record.delayed_until
    assert until is not None
    assert until <= LONG_AGO


def test_a_pause_that_ends_in_the_future_has_ended_long_ago() -> None:
    """Each failed start would be tried again without a back-off until then."""
    (right,) = corrected((training(role("worker", 1, 4, resumed_at=TOMORROW)),), NOW)
    resumed = right.roles[0].record.resumed_at
    assert resumed
    assert resumed < NOW


def test_a_pod_that_was_placed_in_the_future_waits_since_long_ago() -> None:
    """It would count as late only hours after its node was lost."""

    def gated(placed_at: datetime) -> TrainingJob:
        waiting = pod("worker", 0, node="", placed_at=placed_at)
        return training(role("worker", 1, 4, gated=True, pods=(waiting, pod("worker", 1))))

    kept = gated(NOW + AHEAD)
    assert corrected((kept,), NOW)[0] is kept
    (right,) = corrected((gated(TOMORROW),), NOW)
    first, second = (one.planned.placed_at for one in right.roles[0].status.pods)
    assert first
    assert first <= LONG_AGO
    assert second is None
