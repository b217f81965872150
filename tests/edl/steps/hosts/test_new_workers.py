"""MXNet's elastic fork: workers are told first whether their training began without them."""

from msgspec.structs import replace

from edl import contract
from edl.model import Pod, TrainingJob
from edl.planner.plan import Admission
from edl.steps.host_lists import new_worker_patches
from edl.steps.running_jobs import upkeep
from edl.steps.sizes.start import start
from tests.edl.trainings import KEY, NOW, host, patches, pod, pods, role, training, written
from tests.reasons import because

GATES = (contract.HOSTS_GATE, "example.com/quota")


def fork(*workers: Pod, scheduler: Pod | None = None, mode: str = "fork") -> TrainingJob:
    """One scheduler, one server, and workers that may be 1..4."""
    scheduler = scheduler or pod("scheduler", 0, gates=GATES[:1], ready=False)
    return training(
        role("scheduler", pods=(scheduler,), is_leader=True),
        role("server", pods=pods("server", [0]), is_service=True),
        role("worker", 1, 4, size=len(workers), pods=workers),
        framework="mxnet",
        mode=mode,
        started_at=NOW,
    )


def waiting(*indexes: int) -> tuple[Pod, ...]:
    return pods("worker", indexes, gates=GATES, ready=False)


def test_a_worker_present_from_the_start_is_not_new() -> None:
    found = new_worker_patches(fork(*waiting(0, 1)))
    assert [patch.target.name for patch in found] == [
        "mnist-worker-0-abcde",
        "mnist-worker-1-abcde",
    ]
    assert [written(patch)[contract.NEW_WORKER] for patch in found] == ["0", "0"]


def test_a_worker_created_after_the_schedulers_list_is_new() -> None:
    scheduler = pod("scheduler", 0, hosts=f"{host(0)}:1\n", published_at=NOW)
    (patch,) = new_worker_patches(fork(pod("worker", 0), *waiting(1), scheduler=scheduler))
    assert written(patch) == {contract.NEW_WORKER: "1", contract.WORKERS: "2"}


def test_only_our_gate_is_taken_away() -> None:
    (patch,) = new_worker_patches(fork(*waiting(0)))
    assert patch.body["spec"] == {"schedulingGates": [{"name": "example.com/quota"}]}
    assert patch.version == waiting(0)[0].version


def test_a_worker_gets_the_cluster_once_and_not_while_terminating() -> None:
    leaving = replace(waiting(1)[0], terminating=True)
    assert new_worker_patches(fork(pod("worker", 0), leaving)) == ()


def test_other_modes_annotate_no_worker() -> None:
    assert new_worker_patches(fork(*waiting(0), mode="dist")) == ()


def test_workers_start_first_and_the_scheduler_reads_those_who_are_ready() -> None:
    (first,) = patches(upkeep(fork(*waiting(0)), [], NOW).steps[0])
    assert first.target.name == "mnist-worker-0-abcde"
    (second,) = patches(upkeep(fork(pod("worker", 0), pod("worker", 1)), [], NOW).steps[0])
    assert second.target.name == "mnist-scheduler-0-abcde"
    assert written(second)[contract.WORKER_HOSTS] == f"{host(0)}\n{host(1)}\n"
    assert second.body["spec"] == {"schedulingGates": []}


def test_a_start_tells_how_many_there_are() -> None:
    roles = [found.changed(suspended=True, pods=()) for found in fork(pod("worker", 0)).roles]
    job = training(*roles, framework="mxnet", mode="fork")
    sizes = (("scheduler", 1), ("server", 1), ("worker", 3))
    for patch in patches(start(job, Admission(KEY, sizes, because("room")), NOW)):
        notes = patch.body["spec"]["template"]["metadata"]["annotations"]
        assert notes[contract.WORKERS] == "3"
