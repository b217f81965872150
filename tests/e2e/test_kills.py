"""Our own pods and the node's own parts die in the middle of a resize: jobs do not notice."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from dev import in_cluster
from dev.installation import IMAGE
from edl import contract
from sandbox import Sandbox
from sandbox.errors import SandboxError
from tests.e2e.support.training import with_size
from tests.integration.support.stage import tensorflow

if TYPE_CHECKING:
    from edl.writes import Json
    from tests.e2e.support.training import Training

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

IDLE = "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(0)); time.sleep(86400)"


def idle(job: str, workers: str) -> list[Json]:
    """A TensorFlow job that trains nothing: pods as cheap as they come."""
    manifests = tensorflow(job, workers)
    for manifest in manifests:
        (container,) = manifest["spec"]["template"]["spec"]["containers"]
        container["image"] = IMAGE
        container["command"] = ["python", "-c", IDLE]
        container["resources"] = {"requests": {"cpu": "20m", "memory": "32Mi"}}
    return manifests


def start(training: Training) -> dict[str, str]:
    """The job with one worker, held by hand; the pods that no resize may touch."""
    training.apply(*(with_size(job, {"calm-worker": 1}) for job in idle("calm", "1..4")))
    for job in ("calm-chief", "calm-ps", "calm-worker"):
        training.until_runs(job, 1)
    return lasting(training)


def lasting(training: Training) -> dict[str, str]:
    return {role: uid for role in ("calm-chief", "calm-ps") for uid in training.uids(role).values()}


def kill_ours(training: Training, name: str) -> None:
    """Every pod of one of our Deployments at once, without grace."""
    training.cluster.kubectl(
        *("delete", "pods", "-n", contract.SYSTEM_NAMESPACE, "--grace-period=0", "--force"),
        *("--wait=false", "-l", f"app.kubernetes.io/name={name}"),
    )


def asked(training: Training, size: str) -> bool:
    """Users' own wishes pass the webhook, so they wait for it."""
    try:
        training.edl("scale", "calm-worker", size)
    except AssertionError as refusal:
        assert "edl-webhook" in str(refusal)  # noqa: PT017 - who is missing is said
        return False
    return True


@pytest.mark.parametrize("name", ["edl-webhook", "edl-reconciler"])
def test_all_pods_of_ours_die_in_the_middle_of_a_resize(training: Training, name: str) -> None:
    pods = start(training)
    training.edl("scale", "calm-worker", "4")
    kill_ours(training, name)
    training.until_runs("calm-worker", 4)
    training.until(lambda: asked(training, "2"), "a size can be asked for again")
    kill_ours(training, name)
    training.until_runs("calm-worker", 2)
    assert lasting(training) == pods
    in_cluster.await_rollout(training.cluster)


def test_while_the_webhook_is_away_a_labelled_job_waits_for_it_and_says_so(
    training: Training,
) -> None:
    system = ("-n", contract.SYSTEM_NAMESPACE)
    training.cluster.kubectl(*system, "scale", "deployment/edl-webhook", "--replicas=0")
    gone = ("wait", "--for=delete", "pods", "-l", "app.kubernetes.io/name=edl-webhook")
    training.cluster.kubectl(*system, *gone, "--timeout=60s")
    refusal = training.refused(*idle("calm", "1..2"))
    assert "jobs.edl.dev" in refusal
    training.cluster.kubectl(*system, "scale", "deployment/edl-webhook", "--replicas=2")
    in_cluster.await_rollout(training.cluster)
    training.until(lambda: accepted(training), "a labelled job is accepted again")
    training.until_runs("calm-worker", 2)


def accepted(training: Training) -> bool:
    try:
        training.apply(*idle("calm", "1..2"))
    except SandboxError:
        return False
    return True


@pytest.mark.parametrize("component", ["containerd", "kubelet"])
def test_the_nodes_own_parts_die_in_the_middle_of_a_resize(
    training: Training, component: str
) -> None:
    sandbox = training.cluster
    if not isinstance(sandbox, Sandbox):
        pytest.skip(f"needs to kill {component}; this is not our cluster")
    pods = start(training)
    training.edl("scale", "calm-worker", "4")
    sandbox.kill(component)
    time.sleep(1)  # new pods are wanted meanwhile
    sandbox.start(component)
    training.until_runs("calm-worker", 4)
    assert lasting(training) == pods
    assert set(training.restarts("calm-chief").values()) == {0}
    training.scale("calm-worker", 1)
    training.kubectl("delete", "jobs", "--all")
    training.until(lambda: not training.all("Pod"), "no pod is left")
    training.until(lambda: not training.leftovers(), "nothing of ours is left")
