"""Anything of ours, or the API server, may die at any moment: the cluster's state goes on."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from dev.installation import (
    Installation,
    apply_manifests,
    install,
    start_reconciler,
    start_webhook,
)
from edl import contract
from edl.kube.api.client import connect
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from edl.writes import Json
from sandbox import NodeGroup, temporary_sandbox
from sandbox.layout import free_ports
from tests.integration.support.stage import Stage, horovod, stage, tensorflow

pytestmark = pytest.mark.integration

RECONCILERS = ("reconciler-a", "reconciler-b")
_QUICK = ("--lease-duration", "3", "--renew-deadline", "2", "--retry-period", "0.5")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A cluster of these tests alone, with two reconcilers of which one leads."""
    if named := os.environ.get("EDL_KUBECONFIG"):
        pytest.skip(f"needs a control plane of its own to break; EDL_KUBECONFIG={named}")
    with temporary_sandbox("failures", NodeGroup(count=4, cpu="8", memory="32Gi")) as sandbox:
        folder = tmp_path_factory.mktemp("installation")
        yield install(sandbox, folder, RECONCILERS, *_QUICK)


@pytest.fixture
def scene(broken: Installation) -> Iterator[Stage]:
    with stage(broken.cluster) as made:
        yield made


def test_a_reconciler_that_dies_in_the_middle_of_a_resize_is_continued(
    broken: Installation, scene: Stage
) -> None:
    scene.apply(*horovod("ring", "2..4"))
    scene.until(lambda: len(scene.hosts("ring-launcher")) == 4, "all workers are listed")
    launcher, workers = scene.uids("ring-launcher"), scene.uids("ring-worker")
    scene.annotate("ring-worker", replicas="2")
    scene.until(lambda: len(scene.hosts("ring-launcher")) == 2, "the shorter list is published")
    # Both at once, within the seconds that the leaver has: killing waits until one is gone.
    for how in (signal.SIGSTOP, signal.SIGKILL):
        for name in RECONCILERS:
            broken.cluster.kill(name, how)
    assert scene.size("ring-worker") == 4, "nobody has shrunk it yet"
    for name in RECONCILERS:
        broken.cluster.start(name)
    scene.until_runs("ring-worker", 2)
    assert scene.uids("ring-launcher") == launcher
    assert scene.uids("ring-worker") == {index: workers[index] for index in "01"}
    # Events are written beside the rounds, a moment after what they tell.
    scene.until(lambda: shrunk(scene), "an Event tells it")
    assert shrunk(scene) == 1, "it happened once"


def shrunk(scene: Stage) -> int:
    """How often Events tell of a shrink."""
    found = [event for event in scene.all("Event") if event.get("action") == "ScaledDown"]
    return sum(event.get("count") or 1 for event in found)


def test_the_api_server_may_restart(broken: Installation, scene: Stage) -> None:
    scene.apply(*tensorflow("mnist", "1..4"))
    scene.until_runs("mnist-worker", 4)
    before = scene.uids("mnist-worker")
    pids = {name: broken.cluster.running()[name] for name in RECONCILERS}
    broken.cluster.stop("kube-apiserver")
    broken.cluster.start("kube-apiserver")
    scene.annotate("mnist-worker", replicas="2")
    scene.until_runs("mnist-worker", 2)
    assert scene.uids("mnist-worker") == {index: before[index] for index in "01"}
    assert {name: broken.cluster.running()[name] for name in RECONCILERS} == pids


def test_simulated_nodes_go_on_when_what_simulates_them_was_killed(
    broken: Installation, scene: Stage
) -> None:
    broken.cluster.kill("kwok")
    broken.cluster.start("kwok")
    # Its start deletes the Leases of the one that was killed. A pod that is bound before the new
    # one holds a node it may never see.
    leases = ListOptions("Lease", "kube-node-lease")
    scene.until(lambda: len(scene.api.list(leases).items) == 4, "it holds its nodes again")
    scene.apply(*tensorflow("mnist", "1..2"))
    scene.until_runs("mnist-worker", 2)


def test_one_of_two_leads_and_the_other_takes_over(broken: Installation, scene: Stage) -> None:
    scene.until(lambda: leader(scene) in RECONCILERS, "somebody leads")
    first = leader(scene)
    broken.cluster.kill(first)
    broken.cluster.stop(first)  # it is not expected to run any more
    scene.apply(*tensorflow("mnist", "1..3"))
    scene.until_runs("mnist-worker", 3)
    assert leader(scene) in set(RECONCILERS) - {first}
    broken.cluster.start(first)


def test_a_leader_that_slept_changes_nothing_when_it_wakes_up(
    broken: Installation, scene: Stage
) -> None:
    scene.apply(*tensorflow("mnist", "1..4"))
    scene.until_runs("mnist-worker", 4)
    sleeper = leader(scene)
    scene.until(lambda: "became leader" in log(broken, sleeper), "it knows that it leads")
    broken.cluster.kill(sleeper, signal.SIGSTOP)
    scene.until(lambda: leader(scene) not in ("", sleeper), "the other one leads")
    scene.annotate("mnist-worker", replicas="2")
    scene.until_runs("mnist-worker", 2)
    before = settled(scene, "mnist-worker")
    broken.cluster.kill(sleeper, signal.SIGCONT)
    scene.until(lambda: "lost the leadership" in log(broken, sleeper), "it notices")
    assert settled(scene, "mnist-worker") == before


def settled(scene: Stage, name: str) -> Json:
    """The Job once its own controller has counted the pods that went; without that count."""

    def counted() -> bool:
        job = scene.job(name)
        status, size = job["status"], job["spec"]["parallelism"]
        return status.get("active") == status.get("ready") == size and not status.get("terminating")

    scene.until(counted, f"the pods of {name} are counted")
    found = scene.job(name)
    notes = found["metadata"]["annotations"].items()
    ours = {note: text for note, text in notes if note.startswith(contract.PREFIX)}
    return {"uid": found["metadata"]["uid"], "spec": found["spec"], "notes": ours}


def test_new_versions_take_over_under_running_jobs(broken: Installation, scene: Stage) -> None:
    scene.apply(*horovod("ring", "2..4"))
    scene.until(lambda: len(scene.hosts("ring-launcher")) == 4, "all workers are listed")
    before = scene.uids("ring-launcher") | scene.uids("ring-worker")
    port, probes = free_ports(2)
    image = "kubectl-edl:0.2.0"
    newer = replace(broken, webhook_port=port, probe_port=probes, image=image)
    try:
        start_webhook(newer, "webhook-new")
        apply_manifests(newer)
        broken.cluster.stop("webhook")
        for name in RECONCILERS:
            broken.cluster.stop(name)
            start_reconciler(broken, name, *_QUICK)
        scene.annotate("ring-worker", replicas="3")
        scene.until_runs("ring-worker", 3)
        after = scene.uids("ring-launcher") | scene.uids("ring-worker")
        assert after.items() <= before.items(), "no pod was replaced"
        scene.apply(*horovod("ring", "2..4"))
        scene.apply(*tensorflow("mnist", "1..2"))
        scene.until_runs("mnist-worker", 2)
    finally:
        start_webhook(broken)
        apply_manifests(broken)
        broken.cluster.stop("webhook-new")


def leader(scene: Stage) -> str:
    """Its `--identity`, without the suffix of the process."""
    lease = connect(str(scene.cluster.kubeconfig)).get(
        ObjectRef("Lease", "edl-system", "edl-reconciler")
    )
    return str(lease["spec"].get("holderIdentity") or "").partition("_")[0]


def log(broken: Installation, name: str) -> str:
    lines = broken.cluster.log(name).read_text().splitlines()
    return "\n".join(json.loads(line)["message"] for line in lines if line.startswith("{"))
