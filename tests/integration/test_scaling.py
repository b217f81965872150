"""et-operator's whole life: workers leave by name, growths come in time or go back, all is told.

The cluster has 4 nodes of 8 CPU.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from edl import contract
from tests.integration.support.plugin import printed
from tests.integration.support.stage import elastic, horovod, role_jobs, tensorflow

if TYPE_CHECKING:
    from edl.writes import Json
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration

APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "labelSelector": {"matchLabels": {contract.ROLE: "worker"}},
                "topologyKey": "kubernetes.io/hostname",
            }
        ]
    }
}
"""One worker a node: kube-scheduler holds to it, and the plan's arithmetic does not see it."""


def edl(stage: Stage, *args: str, code: int = 0) -> str:
    """`kubectl edl …` as users run it; what it said."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        [str(stage.cluster.kubectl_path), "edl", *args, "-n", stage.namespace],
        env={**os.environ, **stage.cluster.kubectl_environment(), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def notes(stage: Stage, job: str) -> dict[str, str]:
    found: dict[str, str] = stage.job(job)["metadata"]["annotations"]
    return found


def names(stage: Stage, job: str) -> set[str]:
    return {pod["metadata"]["name"] for pod in stage.pods(job)}


def running(stage: Stage, job: str) -> set[str]:
    return {
        pod["metadata"]["name"]
        for pod in stage.pods(job)
        if pod["status"].get("phase") == "Running"
    }


def operations(stage: Stage, job: str) -> list[tuple[str, str]]:
    """(operation, phase), the oldest first."""
    found = json.loads(printed(stage.cluster, "history", job, "-o", "json", "-n", stage.namespace))
    return [(one["operation"], one["phase"]) for one in found["operations"]]


def phase(stage: Stage, job: str) -> str:
    found = printed(stage.cluster, "status", job, "-o", "json", "-n", stage.namespace)
    return str(json.loads(found)["phase"])


def test_the_named_worker_leaves_and_its_index_comes_back(installed: Stage) -> None:
    installed.apply(*horovod("ring", "1..4"))
    installed.until(lambda: len(installed.hosts("ring-launcher")) == 4, "all workers are listed")
    before, launcher = installed.uids("ring-worker"), installed.uids("ring-launcher")
    edl(installed, "scale", "ring", "--remove", "worker-1")
    installed.until(
        lambda: installed.hosts("ring-launcher") == ["ring-worker-0", "ring-worker-2"],
        "the list without it, and without the highest, is published",
    )
    assert installed.uids("ring-worker") == before, "they have time to leave"
    installed.until(lambda: len(installed.hosts("ring-launcher")) == 3, "its index came back")
    after = installed.uids("ring-worker")
    assert {index for index in before if after.get(index) == before[index]} == {"0", "2"}
    assert after.keys() == {"0", "1", "2"}
    installed.until(lambda: phase(installed, "ring") == "Running", "it is over")
    assert installed.uids("ring-launcher") == launcher
    assert contract.REMOVE not in notes(installed, "ring-worker")
    assert notes(installed, "ring-worker")[contract.REPLICAS] == "3", "it stays away"
    assert installed.job("ring-worker")["status"].get("failed", 0) == 0, "it costs no retry"


def test_one_is_not_ten(installed: Stage) -> None:
    installed.apply(*tensorflow("mnist", "1..12"))
    installed.until_runs("mnist-worker", 12)
    before = installed.uids("mnist-worker")
    edl(installed, "scale", "mnist", "--remove", "worker-1", "--wait")
    after = installed.uids("mnist-worker")
    assert {index for index in before if after.get(index) != before[index]} == {"1", "11"}


def test_the_last_worker_but_one_is_never_lost(installed: Stage) -> None:
    """Of two workers the first is named: the second works until the first is back."""
    installed.apply(*horovod("ring", "1..2"))
    installed.until(lambda: len(installed.hosts("ring-launcher")) == 2, "both are listed")
    seen: set[int] = set()

    def one_is_left() -> bool:
        seen.add(len(installed.hosts("ring-launcher")))
        return installed.size("ring-worker") == 1 and installed.running("ring-worker") == 1

    edl(installed, "scale", "ring", "--remove", "worker-0")
    installed.until(one_is_left, "one worker is left")
    assert 0 not in seen
    assert installed.hosts("ring-launcher") == ["ring-worker-0"]


def test_a_growth_that_never_gets_ready_is_taken_back(installed: Stage) -> None:
    all_roles = role_jobs("tensorflow", "mnist", "ps=1,worker=1..8")
    all_roles[1]["spec"]["template"]["spec"]["affinity"] = APART
    all_roles[1]["metadata"]["annotations"][contract.REPLICAS] = "3"
    installed.apply(*all_roles)
    installed.until_runs("mnist-worker", 3)
    before = installed.uids("mnist-worker")
    said = edl(installed, "scale", "mnist", "6", "--timeout", "8s", "--wait", code=4)
    assert "reverted to 3: 6 not ready within 8 s (Insufficient nodes that satisfy its pod" in said
    installed.until_runs("mnist-worker", 3)
    assert installed.uids("mnist-worker") == before, "who trained was not touched"
    kept = notes(installed, "mnist-worker")
    assert kept[contract.REPLICAS] == "3", "the hold before is back"
    assert not {contract.SCALE_TIMEOUT, contract.SCALE_FALLBACK, contract.SCALING} & kept.keys()
    events = [event["reason"] for event in installed.all("Event")]
    installed.until(lambda: "ScaleFailed" in events or _events(installed, events), "it is told")
    assert operations(installed, "mnist")[-2:] == [
        ("ScaledUp", "ScaleFailed"),
        ("ScaleFailed", "ScaleFailed"),
    ]
    assert "ScaleFailed" in edl(installed, "status", "mnist")


def _events(stage: Stage, into: list[str]) -> bool:
    into[:] = [event["reason"] for event in stage.all("Event")]
    return "ScaleFailed" in into


def test_a_growth_for_which_there_is_no_room_goes_back_to_no_hold(installed: Stage) -> None:
    installed.apply(*tensorflow("mnist", "1..40", cpu="2"))
    installed.until(lambda: installed.running("mnist-worker") >= 12, "it has all the room")
    full = installed.size("mnist-worker")
    edl(installed, "scale", "mnist", "40", "--timeout", "3s", "--wait", code=4)
    assert contract.REPLICAS not in notes(installed, "mnist-worker")
    assert installed.size("mnist-worker") == full


def test_a_growth_that_comes_in_time_stays(installed: Stage) -> None:
    all_roles = tensorflow("mnist", "1..6")
    all_roles[2]["metadata"]["annotations"][contract.REPLICAS] = "2"
    installed.apply(*all_roles)
    installed.until_runs("mnist-worker", 2)
    said = edl(installed, "scale", "mnist", "5", "--timeout", "60s", "--wait")
    assert "worker has 5, all of them ready" in said
    assert installed.running("mnist-worker") == 5
    assert contract.SCALE_TIMEOUT not in notes(installed, "mnist-worker")


def test_the_history_outlives_the_events(installed: Stage) -> None:
    installed.apply(*tensorflow("mnist", "1..4"))
    installed.until_runs("mnist-worker", 4)
    edl(installed, "scale", "mnist", "2", "--wait")
    edl(installed, "pause", "mnist")
    installed.until(lambda: not installed.pods("mnist-worker"), "it is paused")
    assert phase(installed, "mnist") == "Paused"
    edl(installed, "resume", "mnist")
    installed.until(lambda: phase(installed, "mnist") == "Running", "it runs again")
    assert installed.size("mnist-worker") == 2, "at the size that is held"
    installed.kubectl("delete", "events", "--all")
    found = operations(installed, "mnist")
    assert found[0] == ("Started", "Running")
    assert found[-3:] == [
        ("ScaledDown", "ScaleSucceeded"),
        ("Suspended", "Suspended"),
        ("Resumed", "Running"),
    ]
    installed.complete("mnist-chief")
    installed.until(lambda: installed.is_complete("mnist-worker"), "it is over")
    assert operations(installed, "mnist")[-1] == ("Ended", "Succeeded")
    table = edl(installed, "history", "mnist")
    assert "worker=4→2" in table
    assert "chief=1,ps=1,worker=2" in table


def test_a_user_cannot_forge_the_job_history(installed: Stage) -> None:
    installed.apply(elastic("sweep", labels={"max": "4"}, completions=9))
    installed.until_runs("sweep", 4)
    before = notes(installed, "sweep")[contract.HISTORY]
    installed.annotate("sweep", history="2020-01-01T00:00:00Z Started 9 9 by me", scaling="x")
    assert notes(installed, "sweep")[contract.HISTORY] == before
    assert contract.SCALING not in notes(installed, "sweep")


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        ({"remove": "worker_1"}, '"worker_1" is not a name; names of pods, separated by commas'),
        ({"scale_timeout": "soon"}, '"soon"; a time such as 60s, 5m, 2h30m or 1d'),
        ({"scale_fallback": "few"}, '"few"; a whole number from 1'),
    ],
)
def test_what_makes_no_sense_is_refused(
    installed: Stage, annotation: dict[str, str], words: str
) -> None:
    installed.apply(elastic("sweep", labels={"max": "4"}, completions=9))
    (word, text), *_ = annotation.items()
    named = f"{contract.PREFIX}{word.replace('_', '-')}={text}"
    assert words in installed.kubectl_refused("annotate", "job", "sweep", named)


def test_what_is_lost_comes_back_to_the_same_list(installed: Stage) -> None:
    installed.apply(*horovod("ring", "1..3"))
    installed.until(lambda: len(installed.hosts("ring-launcher")) == 3, "all workers are listed")
    listed, lost = installed.hosts("ring-launcher"), names(installed, "ring-worker")
    installed.complete("ring-worker", index=1, code=1)
    installed.until(
        lambda: running(installed, "ring-worker") - lost, "a worker that failed is made again"
    )
    assert installed.size("ring-worker") == 3
    (old,) = names(installed, "ring-launcher")
    installed.kubectl("delete", "pod", old)
    installed.until(lambda: running(installed, "ring-launcher") - {old}, "a new launcher runs")
    assert installed.hosts("ring-launcher") == listed


def ssh(job: str, workers: str) -> list[Json]:
    all_roles = horovod(job, workers)
    for manifest in all_roles:
        manifest["metadata"]["annotations"][contract.MODE] = "ssh"
        del manifest["spec"]["template"]["spec"]["containers"][0]["command"]
    return all_roles


def test_ssh_needs_a_key_pair_and_no_rights(installed: Stage) -> None:
    installed.kubectl("label", "namespace", installed.namespace, f"{contract.KUBEXEC}-")
    installed.apply(*ssh("ring", "1..2"))
    installed.until(lambda: len(installed.hosts("ring-launcher")) == 2, "it runs without rights")
    (secret,) = installed.all("Secret")
    assert secret["metadata"]["name"] == "ring-ssh"
    owners = {owner["name"] for owner in secret["metadata"]["ownerReferences"]}
    assert owners == {"ring-launcher", "ring-worker"}
    assert sorted(secret["data"]) == ["config", "id_rsa", "id_rsa.pub"]
    assert base64.b64decode(secret["data"]["id_rsa"]).startswith(b"-----BEGIN RSA PRIVATE KEY")
    assert not installed.exists("RoleBinding", "ring-launcher")
    assert not installed.exists("ServiceAccount", "ring-launcher")
    for job in ("ring-launcher", "ring-worker"):
        volumes = installed.pod(job, 0)["spec"]["volumes"]
        (mode,) = (one["secret"]["defaultMode"] for one in volumes if "secret" in one)
        assert mode == 0o600
    edl(installed, "pause", "ring")
    installed.until(lambda: not installed.pods("ring-worker"), "it is paused")
    edl(installed, "resume", "ring")
    installed.until_runs("ring-launcher", 1)
    assert installed.all("Secret") == [secret], "they are never made again"
    installed.kubectl("delete", "jobs", "--all")
    installed.until(lambda: not installed.all("Secret"), "they go with the job")


def test_ssh_keys_deleted_by_another_client_are_created_again(installed: Stage) -> None:
    """As when a job is made anew while its old keys are being collected."""
    installed.apply(*ssh("ring", "1..2"))
    installed.until_runs("ring-worker", 2)
    installed.kubectl("delete", "secret", "ring-ssh")
    edl(installed, "pause", "ring")
    installed.until(lambda: not installed.pods("ring-worker"), "it is paused")
    edl(installed, "resume", "ring")
    installed.until(lambda: installed.exists("Secret", "ring-ssh"), "the start made new ones")
