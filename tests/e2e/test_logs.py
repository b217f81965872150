"""`kubectl edl logs` of pods that really run, from a kubelet."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from sandbox import Sandbox
from tests.e2e.support.busybox import IMAGE, load

if TYPE_CHECKING:
    from tests.e2e.support.training import Training

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

SMALL = ("--image", IMAGE, "--cpu", "20m", "--memory", "16Mi")
ITEM = "echo item $JOB_COMPLETION_INDEX; sleep 2; printf 'done, without an end of line'"
CHIEF = "for step in 1 2 3 4 5 6; do echo step $step; sleep 1; done"
SERVES = "trap 'echo told to leave; exit 0' TERM; echo serving; while :; do sleep 1 & wait $!; done"
ROLE = f'case "$TF_CONFIG" in *\'"type":"chief"\'*) {CHIEF};; *) {SERVES};; esac'


def edl(training: Training, *args: str, command: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """`kubectl edl ARGS -- COMMAND` in the test's namespace."""
    words = [sys.executable, "-m", "kubectl_edl", *args, "-n", training.namespace]
    return subprocess.Popen(
        [*words, "--", *command] if command else words,
        env=training.cluster.kubectl_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def done(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    return out, err


def create(training: Training, *args: str, script: str) -> None:
    load(training.cluster)
    done(edl(training, "create", *args, *SMALL, command=("sh", "-c", script)))


def test_work_items_are_followed_from_the_first_to_the_last(training: Training) -> None:
    create(training, "none", "sweep", "--workers", "1..2", "--completions", "4", script=ITEM)
    out, err = done(edl(training, "logs", "sweep", "-f"))
    lines = out.splitlines()
    assert sorted(lines) == sorted(
        line
        for index in range(4)
        for line in (
            f"[worker-{index}] item {index}",
            f"[worker-{index}] done, without an end of line",
        )
    )
    assert err.splitlines()[-1] == "sweep is done"
    again, _ = done(edl(training, "logs", "sweep", "--index", "2", "--tail", "1", "--timestamps"))
    label, time, *text = again.split()
    assert (label, text) == ("[worker-2]", ["done,", "without", "an", "end", "of", "line"])
    assert time.endswith("Z") or "+" in time


def test_a_list_of_roles_is_followed_until_its_chief_is_done(training: Training) -> None:
    all_roles = ("--chief", "--ps", "1", "--workers", "1..2")
    create(training, "tensorflow", "mnist", *all_roles, script=ROLE)
    out, err = done(edl(training, "logs", "mnist", "--follow"))
    lines = out.splitlines()
    chief = [line for line in lines if line.startswith("[chief-0]")]
    assert chief == [f"[chief-0] step {step}" for step in range(1, 7)]
    for label in ("[ps-0]", "[worker-0]"):
        assert f"{label} serving" in lines
        assert f"{label} told to leave" in lines
    assert err.splitlines()[-1] == "mnist is done"


def test_a_log_is_taken_up_again_where_its_kubelet_broke_it_off(training: Training) -> None:
    sandbox = training.cluster
    if not isinstance(sandbox, Sandbox):
        pytest.skip("needs to kill a kubelet; this is not our cluster")
    counts = "n=0; while [ $n -lt 150 ]; do n=$((n + 1)); echo $n; sleep 0.1; done"
    create(training, "none", "count", "--completions", "1", script=counts)
    training.until_runs("count", 1)
    with edl(training, "logs", "count", "-f", "--no-prefix") as follow:
        assert follow.stdout is not None
        assert [int(follow.stdout.readline()) for _ in range(20)] == list(range(1, 21))
        sandbox.kill("kubelet")
        time.sleep(1)
        sandbox.start("kubelet")
        assert [int(line) for line in follow.stdout] == list(range(21, 151))
        assert follow.stderr is not None
        assert follow.stderr.read().splitlines()[-1] == "count is done"
    assert follow.returncode == 0
