"""et-operator's life on a real node: workers leave by name, a script is told, ssh not exec."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from edl import contract
from tests.e2e.support import ledger
from tests.e2e.test_horovod import (
    LAUNCHER,
    WORKER,
    check_setbacks,
    hosts,
    lasting,
    steps_of,
    trainers,
    until_complete,
    until_listed,
    until_trained,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.support.training import Training

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(900)]

SCRIPT = 'echo "$LEVEL $*" >> /var/told\n'


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
    assert ("removed", "ScaleSucceeded") in phases(training)
    assert phases(training)[-1] == ("ended", "Succeeded")


def test_workers_that_are_reached_by_ssh_come_and_go(training: Training) -> None:
    """No right to exec is given, nor needed: the namespace does not allow it."""
    label = f"{contract.KUBEXEC}-"
    training.cluster.kubectl("label", "namespace", training.namespace, label)
    training.example("aiacc", steps=500, held={WORKER: 2})
    until_trained(training, world=2)
    assert training.exec(training.pod_name(LAUNCHER), "ls", "/root/.ssh").split() == [
        "authorized_keys",
        "config",
        "id_rsa",
        "id_rsa.pub",
    ]
    for size in (3, 1):
        edl(training, "scale", "hvd-digits", str(size), "--wait", "--timeout", "120s")
        until_trained(training, world=size)
    until_complete(training)
    assert not ledger.absent(steps_of(training), last=500)
    assert not {"rolebinding", "serviceaccount"} & {
        name.partition("/")[0].partition(".")[0] for name in training.leftovers()
    }
