import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import contract, reasons
from edl.annotations.json_text import json_text
from edl.job_state.lost_pods import lost_pods
from edl.model import Reason, ResizePolicy, Role, ScaleDeadline, TrainingJob
from edl.model.pods import PodContainers, TrainingRuns
from edl.patches.patched_values import patched_role
from edl.planner.plan import Admission, Suspension
from edl.steps.sizes.start import start, stop
from edl.writes import Create, Patch, Step
from tests.edl.trainings import (
    KEY,
    NOW,
    job_patches,
    patches,
    pods,
    role,
    seconds,
    training,
    written,
)
from tests.reasons import because

CHIEF = role("chief", suspended=True)
WORKER = role("worker", 2, 4, suspended=True)
EVALUATOR = role("evaluator", suspended=True)


def started(*sizes: tuple[str, int], mode: str = "", **fields: Any) -> Step:  # noqa: ANN401 - the builder's fields
    roles = (CHIEF, WORKER.changed(resizing=ResizePolicy.RESTART), EVALUATOR)
    job = training(*roles, mode=mode, **fields)
    return start(job, Admission(KEY, sizes, because("room for all")), NOW)


ALL = (("chief", 1), ("worker", 3), ("evaluator", 1))


def test_a_start_is_one_patch_a_job() -> None:
    step = started(*ALL)
    assert [patch.target.name for patch in patches(step)] == [
        "mnist-worker",
        "mnist-chief",
        "mnist-evaluator",
    ]


def test_size_and_start_go_together() -> None:
    job = training(CHIEF, role("ps", 2, suspended=True), WORKER)
    sizes = (("chief", 1), ("ps", 2), ("worker", 3))
    step = start(job, Admission(KEY, sizes, because("room")), NOW)
    assert job_patches(step) == {
        "mnist-chief": {"parallelism": 1, "completions": 1, "suspend": False},
        "mnist-ps": {"parallelism": 2, "completions": 2, "suspend": False},
        "mnist-worker": {"parallelism": 3, "completions": 3, "suspend": False},
    }


def test_work_items_keep_their_completions() -> None:
    items = role("worker", 1, 4, indexed=False, resizing=ResizePolicy.ITEMS, suspended=True)
    step = start(
        training(items, framework="none"), Admission(KEY, (("worker", 2),), because("room")), NOW
    )
    assert job_patches(step) == {"mnist-worker": {"parallelism": 2, "suspend": False}}


def test_a_start_says_when_and_why() -> None:
    for patch in patches(started(*ALL)):
        size = patch.body["spec"]["parallelism"]
        assert written(patch) == {
            contract.STARTED_AT: "2026-01-01T12:00:00Z",
            contract.RESIZED_AT: "2026-01-01T12:00:00Z",
            contract.FAILURES_AT_START: "0",
            contract.REASON: "IdleCapacity",
            contract.MESSAGE: "room for all",
            contract.LAST_CHANGE: json_text(because("room for all")),
            contract.HISTORY: f"2026-01-01T12:00:00.000Z Started {size} {size} IdleCapacity "
            "room for all",
        }


def test_a_role_of_fixed_size_is_not_said_to_have_grown() -> None:
    job = training(CHIEF.changed(resizing=ResizePolicy.FIXED), WORKER)
    sizes, fits = (("chief", 1), ("worker", 3)), reasons.grown(3, 4)
    step = start(job, Admission(KEY, sizes, because("room"), (fits,)), NOW)
    said = {patch.target.name: written(patch)[contract.MESSAGE] for patch in patches(step)}
    assert said == {"mnist-chief": "room", "mnist-worker": "room; idle capacity: 3 of 4 fit"}


def test_every_patch_has_its_precondition() -> None:
    for patch in patches(started(*ALL)):
        assert patch.version == patch.target.name.replace("mnist", "v")


def test_a_collective_start_writes_its_cluster_in_the_same_patch() -> None:
    for patch in patches(started(*ALL, mode="collective")):
        text = patch.body["spec"]["template"]["metadata"]["annotations"][contract.CLUSTER]
        assert patch.body["spec"]["suspend"] is False
        assert json.loads(text) == {
            "chief": ["mnist-chief-0.mnist.lab.svc:2222"],
            "worker": [f"mnist-worker-{index}.mnist.lab.svc:2222" for index in range(3)],
        }


def test_with_parameter_servers_the_template_stays() -> None:
    job = training(CHIEF, role("ps", suspended=True), WORKER, mode="ps")
    sizes = (("chief", 1), ("ps", 1), ("worker", 2))
    step = start(job, Admission(KEY, sizes, because("room")), NOW)
    assert all("template" not in patch.body["spec"] for patch in patches(step))


def test_what_stands_around_comes_first() -> None:
    step = started(*ALL, existing_dependents={})
    kinds = [type(write) for write in step.writes]
    assert kinds == sorted(kinds, key=lambda kind: kind is Patch)
    assert kinds.count(Create) == 4


def test_only_the_admitted_roles_start() -> None:
    assert set(job_patches(started(("worker", 2)))) == {"mnist-worker"}


def test_a_start_is_told_for_each_job() -> None:
    found = [(event.target.name, event.action, event.message) for event in started(*ALL).events]
    assert found[0] == ("mnist-worker", "Started", "worker × 3: room for all")


def test_stopping_suspends_what_runs_and_keeps_the_sizes() -> None:
    job = training(role("chief"), WORKER, role("ps", 2))
    step = stop(job, Suspension(KEY, reasons.PAUSED), NOW)
    assert job_patches(step) == {"mnist-chief": {"suspend": True}, "mnist-ps": {"suspend": True}}
    assert [written(patch) for patch in patches(step)] == [
        {
            contract.REASON: "Paused",
            contract.MESSAGE: "paused",
            contract.LAST_CHANGE: json_text(reasons.PAUSED),
            contract.HISTORY: f"2026-01-01T12:00:00.000Z Suspended {size} {size} Paused paused",
        }
        for size in (1, 2)
    ]
    assert all(patch.version for patch in patches(step))
    assert [event.action for event in step.events] == ["Suspended", "Suspended"]


def test_the_clock_of_a_growth_stops_with_its_job() -> None:
    """It begins anew with the next start: off its nodes nothing could come in time."""
    waiting = WORKER.changed(suspended=False, scaling=ScaleDeadline(seconds(60), None, NOW, 2))
    step = stop(training(role("chief"), waiting), Suspension(KEY, reasons.PAUSED), NOW)
    chief, worker = map(written, patches(step))
    assert contract.SCALING not in chief
    assert worker[contract.SCALING] is None


@pytest.mark.parametrize(
    ("fields", "why", "count"),
    [
        ({}, reasons.CONTAINER_RESTARTED, 7),
        ({}, reasons.POD_LOST, None),
        ({}, reasons.PAUSED, None),
        ({"restarts_in_place": False}, reasons.CONTAINER_RESTARTED, None),
        ({"retries": 6}, reasons.CONTAINER_RESTARTED, None),
    ],
    ids=["a user's limit", "a lost pod", "a pause", "no limit counts them", "our limit"],
)
def test_restarts_of_containers_count_on_after_a_restart_of_the_whole_job(
    fields: dict[str, Any], why: Reason, count: int | None
) -> None:
    """Their pods are deleted. Only those that caused the stop count, and no sidecar."""
    stopped = with_failures(seconds(651), **({"restarts_in_place": True} | fields))
    patch, other = patches(stop(stopped, Suspension(KEY, why), NOW))
    assert written(patch).get(contract.EARLIER_RESTARTS) == (count and str(count))
    assert contract.EARLIER_RESTARTS not in written(other)
    assert patched_role(stopped.roles[0], patch).record.earlier_restarts == (count or 3)


def test_restarts_of_containers_that_failed_early_count_for_the_present_start_alone() -> None:
    """The next start may provoke the next failure."""
    early = with_failures(seconds(650), restarts_in_place=True)
    patch, _ = patches(stop(early, Suspension(KEY, reasons.CONTAINER_RESTARTED), NOW))
    assert contract.EARLIER_RESTARTS not in written(patch)


def with_failures(last: timedelta, **fields: Any) -> TrainingJob:  # noqa: ANN401 - of the workers
    """Workers of which one has failed twice, the last time so long after the others began."""
    twice = TrainingRuns(NOW, NOW - seconds(9), NOW - seconds(60), restarts=2)
    began = TrainingRuns(NOW - seconds(9) - last)
    found = (PodContainers(began), PodContainers(twice, restarts=7), PodContainers(twice))
    ranks = tuple(
        replace(one, containers=containers)
        for one, containers in zip(pods("worker", range(3)), found, strict=True)
    )
    running = WORKER.changed(suspended=False, pods=ranks, earlier_restarts=3, **fields)
    return training(running, role("evaluator", pods=ranks[:1]), mode="collective")


def test_addresses_wait_until_the_job_controller_has_seen_the_stop() -> None:
    """A restart writes the addresses of this start into each template."""
    admission = Admission(KEY, (("chief", 1), ("worker", 2)), because("room"))
    for settled in (True, False):
        stopped = WORKER.changed(settled=settled)
        assert bool(start(training(CHIEF, stopped), admission, NOW).writes) is settled


def resumed(paused: Role, at: datetime) -> Role:
    step = start(training(paused), Admission(KEY, (("worker", 3),), because("room")), at)
    return patched_role(paused, patches(step)[0])


def stopped(running: Role, at: datetime) -> Role:
    step = stop(training(running), Suspension(KEY, reasons.PAUSED), at)
    return patched_role(running, patches(step)[0]).changed(pods=())


@pytest.mark.parametrize(("seconds_paused", "lost"), [(39, 3), (40, 0)])
def test_lost_pods_are_lost_after_a_pause_until_the_back_off_is_over(
    seconds_paused: int, lost: int
) -> None:
    """The Job controller forgets no failure when a Job is suspended (docs/kubernetes.md 16)."""
    lacking = role("worker", 3, failures=3, pods=pods("worker", [0, 1]))
    again = resumed(stopped(lacking, NOW), NOW + seconds(seconds_paused))
    assert lost_pods(again) == lost


def test_a_second_pause_within_the_back_off_does_not_hide_lost_pods() -> None:
    lacking = role("worker", 3, failures=3, pods=pods("worker", [0, 1]))
    again = resumed(stopped(lacking, NOW), NOW + seconds(1))
    assert lost_pods(resumed(stopped(again, NOW + seconds(2)), NOW + seconds(3))) == 3


def test_after_a_pause_of_a_whole_job_no_pod_is_lost() -> None:
    whole = role("worker", 3, failures=3, pods=pods("worker", range(3)))
    assert lost_pods(resumed(stopped(whole, NOW), NOW + seconds(1))) == 0
