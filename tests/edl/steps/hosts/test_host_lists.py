"""Host lists: published after growing and before shrinking, never empty, never twice."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import contract
from edl.annotations.time_text import timestamp
from edl.model import Pod, PodPhase, TrainingJob
from edl.planner.plan import Resize
from edl.steps.host_lists import CONFIRM, FORGET, JOIN, LEAVE, SETTLE, publish
from edl.steps.running_jobs import upkeep
from edl.writes import Step
from tests.edl.trainings import (
    KEY,
    LONG_AGO,
    NOW,
    host,
    hostfile,
    job_patches,
    patches,
    pod,
    pods,
    published,
    role,
    seconds,
    training,
    written,
)
from tests.reasons import because
from tests.roles import changed_pod

GATES = ("example.com/quota", contract.HOSTS_GATE)


def launcher(listed: Iterable[int] | None = None, **fields: Any) -> Pod:  # noqa: ANN401
    """A launcher's pod: gated before its first list, else with what it was told long ago."""
    if listed is None:
        waits: dict[str, Any] = {"ready": False, "gates": GATES, "phase": PodPhase.PENDING}
        return pod("launcher", 0, **waits | fields)
    told: dict[str, Any] = {"hosts": hostfile(listed), "published_at": LONG_AGO} | fields
    return pod("launcher", 0, **{"confirmed_at": told["published_at"]} | told)


def horovod(
    found: Pod | None,
    workers: Iterable[Pod],
    size: int = 3,
    **fields: Any,  # noqa: ANN401
) -> TrainingJob:
    """Workers 2..8, of which `size` are wanted."""
    return training(
        role("launcher", pods=(found,) if found else ()),
        role("worker", 2, 8, size=size, pods=tuple(workers), **fields),
        framework="horovod",
    )


def joining(*indexes: int, age: timedelta = timedelta()) -> tuple[Pod, ...]:
    """Workers that are not ready yet."""
    return pods("worker", indexes, ready=False, created_at=NOW - age)


def shrink(job: TrainingJob, after: int) -> tuple[Step, timedelta | None]:
    (worker,) = [one for one in job.roles if one.name == "worker"]
    resize = Resize(KEY, "worker", worker.status.size, after, because("room for nginx"))
    (step,), recheck = upkeep(job, [resize], NOW)
    return step, recheck


def first_list(job: TrainingJob) -> str | None:
    return published(publish(job, (), NOW).writes)


def test_a_launcher_starts_with_its_first_list() -> None:
    job = horovod(launcher(), pods("worker", range(3)))
    (patch,) = publish(job, (), NOW).writes
    assert patch.body["spec"] == {"schedulingGates": [{"name": "example.com/quota"}]}
    assert written(patch) == {
        contract.HOSTFILE: hostfile(range(3)),
        contract.MPI_HOSTFILE: "".join(f"{host(index)} slots=1\n" for index in range(3)),
        contract.PUBLISHED_AT: "2026-01-01T12:00:00Z",
    }


def test_the_host_list_waits_while_a_worker_may_join() -> None:
    job = horovod(launcher(), (*pods("worker", [0, 1]), *joining(2, age=seconds(10))))
    found = publish(job, (), NOW)
    assert found.writes == ()
    assert found.recheck == JOIN - seconds(10)


def test_it_waits_for_pods_that_are_not_made_yet() -> None:
    job = horovod(launcher(), pods("worker", [0, 1]), resized_at=NOW)
    assert first_list(job) is None
    assert publish(job, (), NOW).recheck == JOIN


def test_pods_that_are_never_made_do_not_keep_it_waiting() -> None:
    job = horovod(launcher(), pods("worker", [0, 1]), resized_at=NOW - JOIN)
    assert first_list(job) == hostfile([0, 1])


def test_a_worker_not_ready_in_time_is_left_off_the_first_host_list() -> None:
    job = horovod(launcher(), (*pods("worker", [0, 2]), *joining(1, age=JOIN)))
    assert first_list(job) == hostfile([0, 2])


def test_it_never_starts_below_the_minimum() -> None:
    job = horovod(launcher(), (*pods("worker", [0]), *joining(1, 2, age=JOIN)))
    assert publish(job, (), NOW).writes == ()


def test_slots_are_the_workers() -> None:
    job = horovod(launcher(), pods("worker", range(3)), slots=4)
    assert first_list(job) == hostfile(range(3), slots=4)


def test_growth_is_published_when_the_new_pods_are_ready() -> None:
    workers = (*pods("worker", range(3)), *joining(3))
    assert first_list(horovod(launcher(range(3)), workers, size=4)) is None
    assert first_list(horovod(launcher(range(3)), pods("worker", range(4)), size=4)) == hostfile(
        range(4)
    )


def test_those_who_are_ready_do_not_wait_longer_than_joining_takes() -> None:
    workers = (*pods("worker", range(4)), *joining(4, age=JOIN))
    assert first_list(horovod(launcher(range(3)), workers, size=5)) == hostfile(range(4))


def test_a_growth_in_this_plan_is_not_published_yet() -> None:
    job = horovod(launcher(range(3)), pods("worker", range(3)))
    (step,), recheck = upkeep(job, [Resize(KEY, "worker", 3, 5, because("idle capacity"))], NOW)
    assert published(step.writes) is None
    assert job_patches(step) == {"mnist-worker": {"parallelism": 5, "completions": 5}}
    assert recheck is None


def test_a_deleted_worker_leaves_the_host_list_at_once_while_others_join() -> None:
    workers = (*pods("worker", [0, 2]), *joining(1))
    assert first_list(horovod(launcher(range(3)), workers)) == hostfile([0, 2])


@pytest.mark.parametrize(
    "gone", [{"terminating": True}, {"phase": PodPhase.FAILED}, {"ready": False}], ids=str
)
def test_a_pod_that_cannot_work_is_not_listed(gone: dict[str, Any]) -> None:
    workers = (*pods("worker", [0, 1]), pod("worker", 2, **gone))
    job = horovod(launcher(range(3)), workers)
    assert first_list(job) == hostfile([0, 1])


def test_a_list_is_never_empty() -> None:
    job = horovod(launcher(range(3)), joining(0, 1, 2, age=JOIN))
    assert publish(job, (), NOW).writes == ()


def test_nothing_is_published_twice() -> None:
    job = horovod(launcher(range(3)), pods("worker", range(3)))
    found = publish(job, (), NOW)
    assert (found.writes, found.wait, found.recheck) == ((), None, None)


def test_a_shrink_is_published_first_and_waits() -> None:
    job = horovod(launcher(range(3)), pods("worker", range(3)))
    step, recheck = shrink(job, 2)
    assert published(step.writes) == hostfile([0, 1])
    assert job_patches(step) == {}
    assert step.events == ()
    assert recheck == LEAVE


def test_it_waits_until_they_had_their_time_to_leave() -> None:
    told = launcher([0, 1], published_at=NOW - seconds(1))
    step, recheck = shrink(horovod(told, pods("worker", range(3))), 2)
    assert step.writes == ()
    assert recheck == LEAVE - seconds(1)


def test_then_the_pods_go() -> None:
    told = launcher([0, 1], published_at=NOW - LEAVE)
    step, recheck = shrink(horovod(told, pods("worker", range(3))), 2)
    assert job_patches(step) == {"mnist-worker": {"parallelism": 2, "completions": 2}}
    assert published(step.writes) is None
    assert recheck is None
    assert [event.message for event in step.events] == ["worker 3 → 2: room for nginx"]


def test_a_publication_time_in_the_future_delays_no_shrink() -> None:
    """Whoever wrote it had a wrong clock."""
    told = launcher([0, 1], published_at=NOW + seconds(3600))
    step, _ = shrink(horovod(told, pods("worker", range(3))), 2)
    assert job_patches(step) == {"mnist-worker": {"parallelism": 2, "completions": 2}}


def test_a_publication_that_is_still_to_come_is_confirmed_at_once() -> None:
    told = launcher(range(3), published_at=NOW + seconds(3600), confirmed_at=None)
    (reminder,) = publish(horovod(told, pods("worker", range(3))), (), NOW).writes
    assert contract.CONFIRMED_AT in written(reminder)


def test_a_restart_in_the_middle_continues_where_it_was() -> None:
    """Every moment of a shrink is seen by a process that knows nothing but the cluster."""
    job = horovod(launcher(range(4)), pods("worker", range(4)), size=4)
    step, _ = shrink(job, 2)
    (patch,) = patches(step)
    told = launcher((), hosts=written(patch)[contract.HOSTFILE], published_at=NOW)
    again, wait = shrink(horovod(told, pods("worker", range(4)), size=4), 2)
    assert (again.writes, wait) == ((), LEAVE)
    later = changed_pod(told, published_at=NOW - LEAVE, confirmed_at=NOW - LEAVE)
    done, _ = shrink(horovod(later, pods("worker", range(4)), size=4), 2)
    assert job_patches(done) == {"mnist-worker": {"parallelism": 2, "completions": 2}}
    after = horovod(later, pods("worker", [0, 1]), size=2)
    assert publish(after, (), NOW).writes == ()


def test_the_kubelet_is_reminded_of_each_publication_once() -> None:
    for age, reminded, recheck in (
        (seconds(1), [], CONFIRM - seconds(1)),
        (CONFIRM, [NOW - CONFIRM], None),
        (FORGET, [], None),
    ):
        told = launcher(range(3), published_at=NOW - age, confirmed_at=LONG_AGO)
        found = publish(horovod(told, pods("worker", range(3))), (), NOW)
        assert [written(patch) for patch in found.writes] == [
            {contract.CONFIRMED_AT: timestamp(moment)} for moment in reminded
        ]
        assert found.recheck == recheck
        again = changed_pod(told, confirmed_at=told.published.published_at)
        assert publish(horovod(again, pods("worker", range(3))), (), NOW).writes == ()


@pytest.mark.parametrize("late", [seconds(2.5), LEAVE, seconds(60)])
def test_workers_leave_only_after_a_reminder_that_came_late(late: timedelta) -> None:
    told = launcher(range(2), published_at=NOW - late, confirmed_at=LONG_AGO)
    step, wait = shrink(horovod(told, pods("worker", range(3))), 2)
    assert [written(patch) for patch in patches(step)] == [
        {contract.PUBLISHED_AT: timestamp(NOW), contract.CONFIRMED_AT: timestamp(NOW)}
    ]
    assert wait == LEAVE
    reminded = changed_pod(told, published_at=NOW - LEAVE, confirmed_at=NOW - LEAVE)
    done, _ = shrink(horovod(reminded, pods("worker", range(3))), 2)
    assert job_patches(done) == {"mnist-worker": {"parallelism": 2, "completions": 2}}


def test_a_launcher_gets_joining_workers_when_its_first_worker_listens() -> None:
    starting = launcher(range(2), ready_since=NOW - seconds(5))
    job = horovod(starting, pods("worker", range(3)))
    found = publish(job, (), NOW)
    assert (found.writes, found.recheck) == ((), SETTLE - seconds(5))
    later = launcher(range(2), ready_since=NOW - SETTLE)
    assert first_list(horovod(later, pods("worker", range(3)))) == hostfile(range(3))


def test_a_starting_launcher_gets_the_departed_workers() -> None:
    starting = launcher(range(3), ready_since=NOW)
    assert first_list(horovod(starting, pods("worker", [0, 1]))) == hostfile([0, 1])


@pytest.mark.parametrize("found", [None, launcher(), launcher(range(3), terminating=True)])
def test_a_shrink_without_a_reading_launcher_does_not_wait(found: Pod | None) -> None:
    step, _ = shrink(horovod(found, pods("worker", range(3))), 2)
    assert job_patches(step) == {"mnist-worker": {"parallelism": 2, "completions": 2}}


def test_a_launcher_that_comes_again_gets_a_list_of_its_own() -> None:
    old = launcher(range(3), terminating=True)
    job = horovod(None, pods("worker", range(3)))
    both = replace(job, roles=(job.roles[0].changed(pods=(old, launcher())), job.roles[1]))
    (patch,) = publish(both, (), NOW).writes
    assert "spec" in patch.body


def test_lists_have_their_precondition() -> None:
    job = horovod(launcher([0]), pods("worker", range(3)))
    (patch,) = publish(job, (), NOW).writes
    assert patch.version == launcher([0]).version
    assert "spec" not in patch.body


def test_queued_jobs_are_not_looked_at_again_and_again() -> None:
    job = horovod(None, (), resized_at=None)
    assert publish(job, (), NOW).recheck is None


def test_frameworks_without_launchers_publish_nothing() -> None:
    job = training(role("chief", pods=pods("chief", [0])), role("worker", 1, 3))
    found = publish(job, [Resize(KEY, "worker", 3, 1, because("room"))], NOW)
    assert (found.writes, found.wait, found.recheck) == ((), None, None)


def test_a_list_that_is_not_ours_is_replaced() -> None:
    for found in ("garbage\n", "mnist-worker-x.mnist.lab.svc:1\n", f"{'9' * 5000}\n"):
        launcher = pod("launcher", 0, hosts=found, published_at=LONG_AGO)
        job = training(
            role("launcher", pods=(launcher,)),
            role("worker", 2, 8, pods=pods("worker", range(2))),
            framework="horovod",
        )
        assert published(publish(job, (), NOW).writes) == hostfile(range(2))


def test_a_worker_that_a_quota_forbids_is_not_waited_for_for_ever() -> None:
    gated = pod("launcher", 0, gates=(contract.HOSTS_GATE,), ready=False, node="")
    job = training(
        role("launcher", pods=(gated,)),
        role("worker", 2, 8, size=3, pods=pods("worker", range(2)), resized_at=None),
        framework="horovod",
        started_at=LONG_AGO,
    )
    for started in (LONG_AGO, None):
        found = publish(replace(job, started_at=started), (), NOW)
        assert published(found.writes) == hostfile(range(2))
