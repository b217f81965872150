from typing import Any

import pytest
from msgspec.structs import replace

from edl import contract
from edl.job_state.lost_pods import CALM
from edl.model import Pod, Role
from edl.model.pods import PodContainers
from edl.steps.running_jobs import upkeep
from edl.writes import Json
from tests.edl.trainings import (
    LONG_AGO,
    NOW,
    job_patches,
    patches,
    pods,
    role,
    seconds,
    training,
    written,
)

SINCE = NOW - CALM


def chief(**fields: object) -> Role:
    """It has failed four times of six, and runs for ten minutes again."""
    usual: dict[str, Any] = {"failures": 4, "backoff_limit": 6, "retries": 6}
    usual["pods"] = pods("chief", [0], ready_since=SINCE)
    return role("chief").changed(**(usual | fields))


def limits(found: Role) -> dict[str, Json]:
    (step,), _ = upkeep(training(found), (), NOW)
    return dict(job_patches(step))


def test_what_failed_long_ago_leaves_all_retries_again() -> None:
    assert limits(chief()) == {"mnist-chief": {"backoffLimit": 10}}


@pytest.mark.parametrize(
    "fields",
    [
        {"retries": 0},
        {"failures": 0},
        {"backoff_limit": 10},
        {"pods": pods("chief", [0], ready_since=SINCE + seconds(1))},
        {"pods": pods("chief", [0], ready=False, ready_since=None)},
        {"pods": pods("chief", [0], ready_since=LONG_AGO, terminating=True)},
        {"pods": ()},
    ],
    ids=["the user's limit", "no failure", "done", "soon", "not ready", "leaving", "no pod"],
)
def test_it_counts_otherwise(fields: dict[str, object]) -> None:
    assert limits(chief(**fields)) == {}


def test_a_role_that_fails_at_every_start_keeps_its_failure_count() -> None:
    some = pods("worker", [0], ready_since=SINCE)
    worker = role("worker", 2, 3).changed(failures=4, backoff_limit=18, retries=18, pods=some)
    assert limits(worker) == {}


def restarted(*counts: int) -> tuple[Pod, ...]:
    containers = [PodContainers(restarts=count) for count in counts]
    found = pods("chief", range(len(counts)), ready_since=SINCE)
    return tuple(replace(pod, containers=each) for pod, each in zip(found, containers, strict=True))


def test_restarts_of_long_ago_leave_all_retries_again() -> None:
    """The Job controller fails the Job once the restarts of its pods together reach the limit."""
    found = chief(pods=restarted(5), restarts_in_place=True)
    assert limits(found) == {"mnist-chief": {"backoffLimit": 11}}
    several = role("chief", 2).changed(failures=9, backoff_limit=12, retries=12)
    several = several.changed(pods=restarted(4, 7), restarts_in_place=True)
    assert limits(several) == {"mnist-chief": {"backoffLimit": 23}}


def test_restarts_that_no_limit_counts_raise_none() -> None:
    assert limits(chief(pods=restarted(5))) == {"mnist-chief": {"backoffLimit": 10}}


def test_a_rank_that_has_succeeded_keeps_no_failure() -> None:
    """It is never ready again."""
    some = pods("worker", [0, 2], ready_since=SINCE)
    worker = role("worker", 3).changed(failures=4, backoff_limit=18, retries=18, pods=some)
    assert limits(worker) == {}
    ended = worker.changed(finished_indexes=frozenset({1}))
    assert limits(ended) == {"mnist-worker": {"backoffLimit": 22}}
    assert limits(ended.changed(finished_indexes=frozenset(range(3)), pods=())) == {}


def test_a_raised_limit_is_noted() -> None:
    """It can then be told from one that a user has set, also when its pods are gone."""
    (step,), _ = upkeep(training(chief()), (), NOW)
    (patch,) = patches(step)
    assert written(patch) == {contract.RAISED_LIMIT: "10"}
