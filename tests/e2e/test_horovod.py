"""Elastic Horovod: the launcher starts workers by exec, and follows the live host list.

A change of the list costs no step: workers meet at their next commit. A death costs those since the
last commit, which are made again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import yaml

from edl import contract
from tests.e2e.support import ledger
from tests.e2e.support.horovod import (
    LAUNCHER,
    TRAINER,
    WORKER,
    check_setbacks,
    hosts,
    lasting,
    processes,
    steps_of,
    trainers,
    until_complete,
    until_listed,
    until_trained,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.support.stalls import Stalls
    from tests.e2e.support.training import Training

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

SLEEP = "sleep 3601"
SCRIPT = 'echo "$LEVEL $*" >> /var/told\n'


def test_workers_come_and_go_while_it_trains(training: Training, stalls: Stalls) -> None:
    training.example("horovod", steps=350, held={WORKER: 2})
    until_trained(training, world=2)
    pods, process = lasting(training), trainers(training, 0)
    begun = training.restarts(LAUNCHER)
    assert len(process) == 1
    moments = []
    for size in (3, 1, 2):
        moments.append(time.time())
        training.edl("scale", WORKER, str(size))
        until_listed(training, size)
        until_trained(training, world=size)
    assert lasting(training) == pods
    assert training.restarts(LAUNCHER) == begun
    assert set(training.restarts(WORKER).values()) == {0}
    assert trainers(training, 0) == process
    until_complete(training)
    steps = steps_of(training)
    assert not ledger.absent(steps, last=350)
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


@pytest.mark.variant
def test_a_killed_pod_comes_back_and_training_resumes_from_a_commit(
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


def edl(training: Training, *args: str, code: int = 0) -> str:
    """`kubectl edl ARGS`, also where its exit code is the answer."""
    command = [sys.executable, "-m", "kubectl_edl", *args, "-n", training.namespace]
    environ = dict(training.cluster.kubectl_environment())
    folder = str(training.cluster.kubectl_path.parent)
    environ["PATH"] = os.pathsep.join((folder, environ.get("PATH") or os.environ["PATH"]))
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def phases(training: Training) -> list[tuple[str, str]]:
    found = yaml.safe_load(edl(training, "history", "hvd-digits", "-o", "yaml"))
    return [(one["operation"], one["phase"]) for one in found["operations"]]


@pytest.mark.variant
def test_a_worker_comes_and_one_leaves_by_name_and_a_script_in_the_launcher_is_told(
    training: Training, tmp_path: Path
) -> None:
    (tmp_path / "told.sh").write_text(SCRIPT)
    told = ("--script", f"@{tmp_path / 'told.sh'} --quiet", "--env", "LEVEL=a 'b' $HOME")
    training.example("horovod", steps=700, held={WORKER: 2})
    until_trained(training, world=2)
    launcher, before, process = lasting(training), training.uids(WORKER), trainers(training, 0)
    edl(training, "scale", "hvd-digits", "3", *told)
    until_trained(training, world=3)
    leaves = ("scale", "hvd-digits", "--remove", "worker-1", *told)
    edl(training, *leaves, "--wait", "--timeout", "120s")
    until_listed(training, 2)
    until_trained(training, world=2)
    assert training.exec(training.pod_name(LAUNCHER), "cat", "/var/told").splitlines() == [
        f"a 'b' $HOME --quiet {','.join(hosts(indexes, training.namespace))}"
        for indexes in ([2], [1, 2])
    ]
    fails = ("--script", "/app/no-such-script.sh")
    edl(training, "scale", "hvd-digits", "1", *fails, code=1)
    after = training.uids(WORKER)
    assert after.keys() == {"0", "1"}
    assert after["1"] != before["1"]
    assert lasting(training) == launcher
    assert trainers(training, 0) == process, "who stays is not even restarted"
    until_complete(training)
    steps = steps_of(training)
    assert not ledger.absent(steps, last=700)
    check_setbacks(steps)
    assert ("PodsRemoved", "ScaleSucceeded") in phases(training)
    assert phases(training)[-1] == ("Ended", "Succeeded")


@pytest.mark.variant
def test_workers_that_are_reached_by_ssh_come_and_go(training: Training) -> None:
    """No right to exec is given, nor needed: the namespace does not allow it."""
    label = f"{contract.KUBEXEC}-"
    training.cluster.kubectl("label", "namespace", training.namespace, label)
    launcher, worker, data = "aiacc-digits-launcher", "aiacc-digits-worker", "aiacc-data"
    training.example("aiacc", steps=500, held={worker: 2})
    until_trained(training, world=2, data=data)
    assert training.exec(training.pod_name(launcher), "ls", "/root/.ssh").split() == [
        "authorized_keys",
        "config",
        "id_rsa",
        "id_rsa.pub",
    ]
    for size in (3, 1):
        edl(training, "scale", "aiacc-digits", str(size), "--wait", "--timeout", "120s")
        until_trained(training, world=size, data=data)
    until_complete(training, launcher, worker)
    assert not ledger.absent(steps_of(training, data), last=500)
    assert not {"rolebinding", "serviceaccount"} & {
        name.partition("/")[0].partition(".")[0] for name in training.leftovers()
    }
