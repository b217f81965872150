"""Who was asked and had nothing to do is not asked again, and that changes nothing."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from msgspec.structs import replace

from edl.job_state.lost_pods import CALM
from edl.model import ClusterState, JobEnd, Pod, PodPhase, Role, ScaleDeadline, TrainingJob
from edl.planner.plan import Drain, Plan, Resize
from edl.steps.dependents import PATIENCE
from edl.steps.plan_steps import steps
from edl.steps.unchanged_jobs import UnchangedJobs
from tests.edl.trainings import KEY, LONG_AGO, NOW, hostfile, pod, pods, role, seconds, training
from tests.reasons import because, invalid
from tests.roles import changed_pod

ROLE_LISTS = (
    ("tensorflow", "", ("chief", "ps", "worker")),
    ("horovod", "kubexec", ("launcher", "worker")),
    ("horovod", "ssh", ("launcher", "worker")),
    ("mxnet", "fork", ("launcher", "worker")),
    ("pytorch", "elastic", ("worker",)),
    ("none", "items", ("worker",)),
)
AGES = some.sampled_from([0, 3, 20, 70, 4000]).map(lambda age: NOW - seconds(age))


@some.composite
def any_pod(draw: some.DrawFn, name: str, index: int) -> Pod:
    ready = draw(some.booleans() | some.just(value=True))
    phases = [PodPhase.RUNNING] * 3 + [PodPhase.PENDING, PodPhase.SUCCEEDED, PodPhase.FAILED]
    found = pod(
        name,
        index,
        ready=ready,
        phase=PodPhase.RUNNING if ready else draw(some.sampled_from(phases)),
        terminating=draw(some.sampled_from([False] * 5 + [True])),
        created_at=draw(AGES),
        ready_since=draw(AGES) if ready else None,
        restarts=draw(some.sampled_from([0, 0, 5])),
    )
    if name != "launcher":
        return found
    listed = hostfile(range(draw(some.integers(0, 3))))
    told = draw(some.none() | AGES)
    confirmed = draw(some.sampled_from([None, told]))
    return changed_pod(found, hosts=listed, published_at=told, confirmed_at=confirmed)


@some.composite
def any_role(draw: some.DrawFn, name: str) -> Role:
    most = 4 if name == "worker" else 1
    size = draw(some.integers(1, most))
    started = [draw(any_pod(name, index)) for index in range(draw(some.integers(0, size)))]
    suspended = draw(some.sampled_from([False] * 4 + [True]))
    return role(
        name,
        1,
        most,
        size=size,
        suspended=suspended,
        pods=() if suspended and draw(some.booleans()) else tuple(started),
        retries=draw(some.sampled_from([0, 6])),
        backoff_limit=draw(some.sampled_from([6, 8])),
        failures=draw(some.sampled_from([0, 2, 9])),
        restarts_in_place=draw(some.booleans()),
        ending=draw(some.sampled_from([None] * 6 + list(JobEnd))),
        scaling=draw(some.sampled_from([None] * 4 + [ScaleDeadline(seconds(9), None, NOW, 1)])),
        removing=frozenset(draw(some.sampled_from([(), (), ("mnist-worker-0-abcde",)]))),
        replicas=draw(some.sampled_from([None, None, 3])),
        resized_at=draw(AGES),
    )


@some.composite
def any_job(draw: some.DrawFn) -> TrainingJob:
    framework, mode, all_roles = draw(some.sampled_from(ROLE_LISTS))
    roles = [draw(any_role(name)) for name in all_roles]
    fields: dict[str, Any] = {"existing_dependents": {}} if draw(some.booleans()) else {}
    found = training(*roles, framework=framework, mode=mode, started_at=LONG_AGO, **fields)
    return replace(
        found, problem=draw(some.sampled_from([None, None, None, invalid("its Jobs disagree")]))
    )


@pytest.mark.laws
@settings(max_examples=200, deadline=None)
@given(any_job(), any_job(), some.lists(some.sampled_from([1, 5, 40, 700]), max_size=4))
def test_asking_only_those_that_may_need_something_changes_nothing(
    first: TrainingJob, second: TrainingJob, pauses: list[int]
) -> None:
    quiet, now = UnchangedJobs(), NOW
    for job in (first, first, second, first):
        state = ClusterState(now, (), (job,))
        assert steps(Plan(), state, quiet) == steps(Plan(), state)
        for pause in pauses:
            now += timedelta(seconds=pause)
            state = replace(state, observed_at=now)
            assert steps(Plan(), state, quiet) == steps(Plan(), state)


def running() -> TrainingJob:
    return training(role("worker", 1, 4, size=2, is_leader=True, pods=pods("worker", [0, 1])))


def test_a_job_that_runs_is_asked_once() -> None:
    job, quiet = running(), UnchangedJobs()
    steps(Plan(), ClusterState(NOW, (), (job,)), quiet)
    assert job in quiet
    assert replace(job) not in quiet
    steps(Plan(), ClusterState(NOW, (), ()), quiet)
    assert job not in quiet


def test_a_plan_that_moves_a_quiet_job_is_followed() -> None:
    job, quiet = running(), UnchangedJobs()
    state = ClusterState(NOW, (), (job,))
    steps(Plan(), state, quiet)
    resized = Plan(resizes=(Resize(KEY, "worker", 2, 3, because("room")),))
    moved = Plan(
        drains=(Drain(KEY, "worker", (job.roles[0].status.pods[0].name,), because("goes")),)
    )
    for plan in (resized, moved):
        assert steps(plan, state, quiet) == steps(plan, state)
        assert steps(plan, state, quiet).steps


def test_failures_of_long_ago_are_forgiven_when_nothing_but_time_has_changed() -> None:
    ready = pods("worker", [0, 1], ready_since=NOW)
    job = training(role("worker", 2, pods=ready, failures=2, retries=6, backoff_limit=6))
    assert later(job, CALM)


def test_restarts_of_long_ago_are_forgiven_when_nothing_but_time_has_changed() -> None:
    ready = pods("worker", [0, 1], ready_since=NOW, restarts=1)
    limits = {"retries": 6, "backoff_limit": 6, "restarts_in_place": True}
    assert later(training(role("worker", 2, pods=ready, **limits)), CALM)


def test_keys_that_pods_wait_for_are_asked_for_when_nothing_but_time_has_changed() -> None:
    told = {"hosts": hostfile([0]), "published_at": LONG_AGO, "confirmed_at": LONG_AGO}
    waits = pod("launcher", 0, ready=False, phase=PodPhase.PENDING, created_at=NOW, **told)
    all_roles = (role("launcher", pods=(waits,)), role("worker", pods=pods("worker", [0])))
    job = training(*all_roles, framework="horovod", mode="ssh")
    assert later(job, PATIENCE + seconds(1))


def later(job: TrainingJob, after: timedelta) -> bool:
    """Whether something is written only then, also by who found nothing to write before."""
    state, quiet = ClusterState(NOW, (), (job,)), UnchangedJobs()
    assert not steps(Plan(), state, quiet).steps
    state = replace(state, observed_at=NOW + after)
    assert steps(Plan(), state, quiet) == steps(Plan(), state)
    return bool(steps(Plan(), state).steps)
