"""Pods of a minimum that the Job controller has yet to make again."""

from datetime import timedelta

import pytest

from edl.job_state.lost_pods import (
    longest_wait,
    lost_pods,
    pods_delayed_until,
    recorded_delay,
    recreated_within,
    why_any_missing,
    why_missing,
)
from edl.messages import message
from edl.model import PodPhase
from tests.edl.planner.states import at, job, pod, role, worker


def test_lost_pods_of_the_minimum_are_missing_until_they_are_made_again() -> None:
    there = (pod(0, "a"), pod(2), pod(5, "a"))
    lacking = role("worker", 3, 9, suspended=False, size=6, pods=there, failures=3)
    assert lost_pods(lacking) == 1
    assert lost_pods(lacking.changed(pods=(*there, pod(1)))) == 0


@pytest.mark.parametrize("left", [{"terminating": True}, {"phase": PodPhase.FAILED}])
def test_failed_and_terminating_pods_are_lost(left: dict[str, object]) -> None:
    pods = (pod(0, "a"), pod(1, "a", **left))
    assert lost_pods(role("worker", 2, 2, suspended=False, pods=pods, failures=1)) == 1


@pytest.mark.parametrize("suspended", [False, True])
def test_no_back_off_lasts_longer_than_the_longest_of_the_job_controller(
    suspended: bool,  # noqa: FBT001
) -> None:
    """The API server that wrote it may have had a wrong clock."""
    for seconds, until in ((600, at(600)), (601, None)):
        waits = role("worker", 2, 2, suspended=suspended, delayed_until=at(seconds))
        waits = waits.changed(resized_at=at(-9), pods=(pod(0, "a"), pod(1, "a")))
        assert recorded_delay(waits, at(0)) == until
        assert pods_delayed_until(job("mnist", waits), at(0)) == (until if suspended else None)


def test_a_completed_work_item_does_not_replace_a_lost_pod() -> None:
    there = (pod(0, "a", phase=PodPhase.SUCCEEDED), pod(1, "a"))
    usual = {"indexed": False, "remaining": 5, "suspended": False, "failures": 1}
    assert lost_pods(role("worker", 2, 2, pods=there, **usual)) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"failures": 0},
        {"failures": 7, "failures_at_start": 7},
        {"finished_indexes": frozenset({1})},
        {"suspended": True},
        {"indexed": False, "remaining": 1},
    ],
    ids=["being started", "lost before its start", "done", "suspended", "no work left"],
)
def test_other_pods_that_are_not_there_are_not_lost(fields: dict[str, object]) -> None:
    usual = {"suspended": False, "size": 2, "pods": (pod(0, "a"),), "failures": 1}
    assert lost_pods(role("worker", 2, 2, **(usual | fields))) == 0


@pytest.mark.parametrize(("failures", "seconds"), [(1, 10), (4, 80), (5, 160), (7, 600), (99, 600)])
def test_the_job_controller_waits_twice_as_long_after_each_failure(
    failures: int, seconds: int
) -> None:
    """Those before its start count too: the Job controller forgets none when a Job is suspended."""
    found = role("worker", 2, 2, failures=failures, failures_at_start=1)
    assert recreated_within(found) == timedelta(seconds=seconds)


def test_a_job_says_how_many_pods_of_its_minimum_are_missing() -> None:
    pods = tuple(pod(index, "a") for index in range(46))
    lacking = worker("low", 60, 72, suspended=False, size=60, pods=pods, failures=14)
    assert longest_wait(lacking) == timedelta(minutes=10)
    said = why_missing(lacking)
    assert said is not None
    assert message(said) == (
        "14 of 60 pods of its minimum are missing: the Job controller creates them again after "
        "its back-off, up to 600 s"
    )
    lacking = worker("low", 47, 72, suspended=False, size=47, pods=pods, failures=1)
    assert (said := why_missing(lacking)) is not None
    assert message(said) == (
        "1 of 47 pods of its minimum is missing: the Job controller creates it again after "
        "its back-off, up to 10 s"
    )
    assert why_missing(worker("low", 1, 2, on=["a"])) is None


def test_a_job_says_how_many_extras_are_missing_beside_a_whole_minimum() -> None:
    lacking = worker("low", 4, 60, suspended=False, size=20, failures=12,
                     pods=tuple(pod(index, "a") for index in range(8)))  # fmt: skip
    assert why_missing(lacking) is None
    said = why_any_missing(lacking)
    assert said is not None
    assert message(said) == (
        "12 of 20 pods are missing: the Job controller creates them again after its back-off, "
        "up to 600 s"
    )
    assert longest_wait(lacking, extras=True) == timedelta(minutes=10)
    assert why_any_missing(worker("low", 1, 2, on=["a"])) is None


def test_others_may_stand_in_for_a_lost_pod_of_the_minimum() -> None:
    """Its Job creates the same index again, but the minimum is not short of a pod meanwhile."""
    others = tuple(pod(index, "a") for index in (2, 3, 4))
    lacking = worker("low", 2, 5, suspended=False, size=5, pods=others, failures=2)
    assert why_missing(lacking) is None
    said = why_any_missing(lacking)
    assert said is not None
    assert message(said).startswith("2 of 5 pods are missing: ")
