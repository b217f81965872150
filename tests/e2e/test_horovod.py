"""Elastic Horovod: the launcher starts workers by exec, and follows the live host list.

A change of the list costs no step: workers meet at their next commit. A death costs those since the
last commit, which are made again.
"""

from __future__ import annotations

import subprocess
import time
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.e2e.support import ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tests.e2e.support.ledger import Step
    from tests.e2e.support.stalls import Stalls
    from tests.e2e.support.training import Training

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

LAUNCHER, WORKER = "hvd-digits-launcher", "hvd-digits-worker"
DATA = "horovod-data"
STEPS_A_COMMIT = 5
SLEEP = "sleep 3601"
TRAINER = "^python3 /app/train.py"
"""The command line of a worker's process, not of the shells around it."""
PROCESSES = """
for p in /proc/[0-9]*; do
    tr '\\0' ' ' < $p/cmdline | grep -q "$1" && cut -d ' ' -f 1,22 $p/stat
done 2>/dev/null
true
"""


def steps_of(training: Training) -> list[Step]:
    return ledger.read(training.files(DATA, "ledger/*"))


def until_trained(training: Training, world: int, count: int = 20) -> None:
    """Until so many further steps are made, the last of them by so many workers."""
    begin = time.time()

    def trained() -> bool:
        new = [step for step in steps_of(training) if step.time > begin]
        return len(new) >= count and new[-1].world == world

    training.until(trained, f"{count} more steps, the last by {world} workers")


def until_complete(training: Training) -> None:
    jobs = (LAUNCHER, WORKER)
    training.until(lambda: all(map(training.is_complete, jobs)), "both Jobs are complete")


def trainers(training: Training, index: int) -> set[str]:
    """The processes of a worker that train."""
    return processes(training, index, TRAINER)


def processes(training: Training, index: int, pattern: str) -> set[str]:
    """Id and start of each process of a worker whose command line is like `pattern`."""
    command = ("sh", "-c", PROCESSES, "sh", pattern)
    return set(training.exec(training.pod_name(WORKER, index), *command).splitlines())


def hosts(indexes: Iterable[int], namespace: str) -> list[str]:
    return [f"{WORKER}-{index}.hvd-digits.{namespace}.svc:1" for index in indexes]


def until_listed(training: Training, count: int) -> None:
    """Until the launcher's files name so many hosts, and its script says the same."""
    launcher, wanted = training.pod_name(LAUNCHER), hosts(range(count), training.namespace)

    def listed() -> bool:
        return training.exec(launcher, "cat", "/etc/edl/hostfile").split() == wanted

    training.until(listed, f"the launcher's hostfile names {count} hosts")
    assert training.exec(launcher, "/etc/edl/discover_hosts.sh").split() == wanted
    mpi = training.exec(launcher, "cat", "/etc/mpi/hostfile").splitlines()
    assert mpi == [host.replace(":1", " slots=1") for host in wanted]


def check_setbacks(steps: Sequence[Step]) -> None:
    """No committed step is made twice: who goes back goes back to the last commit."""
    for before, after in pairwise(steps):
        if after.step != before.step + 1:
            assert (after.step - 1) % STEPS_A_COMMIT == 0
            assert 0 <= before.step - (after.step - 1) <= STEPS_A_COMMIT


def test_workers_come_and_go_while_it_trains(training: Training, stalls: Stalls) -> None:
    training.example("horovod", steps=700, held={WORKER: 2})
    until_trained(training, world=2)
    pods, process = lasting(training), trainers(training, 0)
    assert len(process) == 1
    moments = []
    for size in (3, 1, 2):
        moments.append(time.time())
        training.edl("scale", WORKER, str(size))
        until_listed(training, size)
        until_trained(training, world=size)
    assert lasting(training) == pods
    assert {*training.restarts(LAUNCHER).values(), *training.restarts(WORKER).values()} == {0}
    assert trainers(training, 0) == process
    until_complete(training)
    steps = steps_of(training)
    assert not ledger.absent(steps, last=700)
    check_setbacks(steps)
    assert ledger.worlds(steps) == [2, 3, 1, 2]
    begin, end = ledger.mean_losses(steps)
    assert end < begin / 2
    # A removed worker's process aborts. That is no failure of anything.
    assert [training.job(job)["status"].get("failed", 0) for job in (LAUNCHER, WORKER)] == [0, 0]
    sizes = ("2 → 3", "3 → 1", "1 → 2")
    for change, seconds in zip(sizes, ledger.stalls(steps, moments), strict=True):
        stalls.add("horovod", change, seconds)
    training.until(lambda: not training.running(WORKER), "the workers are ended")
    training.kubectl("delete", "jobs", "--all")
    training.until(lambda: not training.leftovers(), "nothing of ours is left")


def lasting(training: Training) -> tuple[str, str]:
    """The pods that no resize may touch."""
    return training.uids(LAUNCHER)["0"], training.uids(WORKER)["0"]


def test_whoever_is_killed_comes_back_and_it_goes_on_from_a_commit(
    training: Training, stalls: Stalls
) -> None:
    training.example("horovod", steps=700)
    until_trained(training, world=3)
    kills: dict[str, Callable[[], None]] = {
        "worker killed": lambda: training.kill_process(WORKER, 1, TRAINER),
        "launcher's pod deleted": lambda: lose_the_launcher(training),
        "all pods deleted": lambda: lose_all_pods(training),
    }
    moments = []
    for kill in kills.values():
        moments.append(time.time())
        kill()
        until_trained(training, world=3)
    # Nobody trains but who should.
    assert [len(trainers(training, index)) for index in range(3)] == [1, 1, 1]
    moments.append(time.time())
    lose_a_pod(training)
    # The Job controller takes its time to make it again: it has counted four failures now.
    until_trained(training, world=2)
    until_complete(training)
    steps = steps_of(training)
    assert steps[-1].step == 700
    check_setbacks(steps)
    events = [*kills, "worker's pod deleted"]
    for event, seconds in zip(events, ledger.stalls(steps, moments), strict=True):
        stalls.add("horovod", event, seconds)


def lose_a_pod(training: Training) -> None:
    """A worker's pod ends: so does every command that was started in it."""
    (host,) = hosts([2], training.namespace)
    with started(training, "/etc/mpi/kubexec.sh", host.partition(":")[0], SLEEP) as command:
        training.until(lambda: runs_in(training, 2, f"^{SLEEP}"), "the command runs")
        training.delete_pod(WORKER, 2)
        assert command.wait(timeout=60) != 0


def lose_the_launcher(training: Training) -> None:
    """Its workers' processes end with it, though their pods stay."""
    launcher, pods = training.uids(LAUNCHER), training.uids(WORKER)
    before = [trainers(training, index) for index in range(3)]
    training.delete_pod(LAUNCHER, 0)
    for index, old in enumerate(before):
        until_ended(training, index, old)
    training.until(lambda: training.uids(LAUNCHER) not in (launcher, {}), "its Job starts it again")
    assert training.uids(WORKER) == pods


def lose_all_pods(training: Training) -> None:
    before = pod_uids(training)
    training.delete_all_pods()
    training.until(
        lambda: not before & pod_uids(training) and training.running(LAUNCHER),
        "all pods are new, and the launcher runs",
    )


def pod_uids(training: Training) -> set[str]:
    return {uid for job in (LAUNCHER, WORKER) for uid in training.uids(job).values()}


def until_ended(training: Training, index: int, old: set[str]) -> None:
    training.until(lambda: not trainers(training, index) & old, f"worker {index}'s process ended")


def runs_in(training: Training, index: int, pattern: str) -> bool:
    return bool(processes(training, index, pattern))


@contextmanager
def started(training: Training, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command that runs in the launcher."""
    argv = ["-n", training.namespace, "exec", training.pod_name(LAUNCHER), "--", *command]
    environ = training.cluster.kubectl_environment()
    process = subprocess.Popen([training.cluster.kubectl_path, *argv], env=environ)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
