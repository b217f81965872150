"""kubectl-edl comes and goes as users do it: one image, one `kubectl apply -k`, one delete."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from certs.secrets import AUTHORITY_SECRET
from dev import in_cluster
from dev.installation import IMAGE
from edl import contract
from tests.e2e.support.install import install
from tests.e2e.support.training import training_in
from tests.integration.support.stage import elastic

if TYPE_CHECKING:
    from collections.abc import Callable

    from edl.writes import Json
    from sandbox import Sandbox
    from sandbox.cluster import Cluster
    from tests.e2e.support.training import Training

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

# Records of what happened, and of who is alive.
PASSING = {"events", "events.events.k8s.io", "leases.coordination.k8s.io", "componentstatuses"}
REGRESSION = """
import sys, time, numpy as np
rng = np.random.default_rng(0)
x = rng.normal(size=(512, 8)); y = (x @ rng.normal(size=8) > 0) * 1.0
w = np.zeros(8)
for step in range(60):
    p = 1 / (1 + np.exp(-(x @ w)))
    print("loss", -np.mean(y * np.log(p + 1e-9) + (1 - y) * np.log(1 - p + 1e-9)), flush=True)
    w -= 0.5 * x.T @ (p - y) / len(y)
    time.sleep(0.05)
"""


def regression(name: str, **spec: Any) -> Json:  # noqa: ANN401 - JSON
    """Logistic regression in numpy, which our own image has."""
    container = {
        "name": "main",
        "image": IMAGE,
        "command": ["python", "-c", REGRESSION],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
    }
    labels = {"min": "1", "max": "4"}
    return elastic(name, labels=labels, pod={"containers": [container]}, **spec)


def everything(cluster: Cluster) -> set[str]:
    """Kind, namespace and name of each object in the cluster."""
    kinds = cluster.kubectl("api-resources", "--verbs=list", "-o", "name").split()
    listed = ",".join(kind for kind in kinds if kind not in PASSING)
    shape = '{range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\\n"}{end}'
    return set(cluster.kubectl("get", listed, "-A", "-o", f"jsonpath={shape}").splitlines())


def await_gone(cluster: Cluster, namespace: str) -> None:
    cluster.kubectl("wait", "--for=delete", f"namespace/{namespace}", "--timeout=120s")


def losses(training: Training, job: str) -> list[float]:
    log = training.kubectl("logs", f"job/{job}", "--all-containers")
    return [float(line.split()[1]) for line in log.splitlines() if line.startswith("loss ")]


def test_it_installs_trains_and_leaves_the_cluster_as_it_was(
    own_real_sandbox: Callable[[], Sandbox],
) -> None:
    sandbox = own_real_sandbox()
    sandbox.up(real=True)
    before = everything(sandbox)
    install(sandbox)
    with training_in(sandbox) as training:
        training.apply(regression("lesson", parallelism=1))
        training.until(lambda: training.is_complete("lesson"), "lesson completes")
        seen = losses(training, "lesson")
        assert seen[-1] < seen[0] / 2
        training.apply(regression("later", parallelism=1, completions=40))
        training.until(lambda: training.running("later") == 4, "later grows to its max")
        in_cluster.delete(sandbox)
        # Its pieces are short: between two of them nothing may run for a moment.
        training.until(lambda: training.running("later") > 0, "a job goes on without us")
        training.kubectl("delete", "job", "lesson", "later")
        training.until(lambda: not training.leftovers(), "what was ours went with the Jobs")
        training.apply(regression("ordinary", parallelism=1))
        training.until(lambda: training.running("ordinary") == 1, "a label alone means nothing")
    await_gone(sandbox, training.namespace)
    assert everything(sandbox) == before


def test_the_api_server_reaches_our_pods_through_their_service(training: Training) -> None:
    """With the certificate that the reconciler issued for it."""
    api = training.cluster.kubectl
    secret = json.loads(
        api("get", "secret", "-n", contract.SYSTEM_NAMESPACE, AUTHORITY_SECRET, "-o", "json")
    )
    configuration = json.loads(api("get", "mutatingwebhookconfiguration", "edl", "-o", "json"))
    for webhook in configuration["webhooks"]:
        called = webhook["clientConfig"]
        assert called["service"]["name"] == "edl-webhook"
        assert base64.b64decode(called["caBundle"]) in base64.b64decode(secret["data"]["ca.crt"])
    training.apply(regression("lesson", parallelism=1))
    container = training.job("lesson")["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == IMAGE
    labels = training.job("lesson")["spec"]["template"]["metadata"]["labels"]
    assert labels[contract.FRAMEWORK] == "none", "the template carries what the webhook put there"


def test_our_pods_run_as_nobody_and_without_a_writable_disk(training: Training) -> None:
    found = json.loads(
        training.cluster.kubectl("get", "pods", "-n", contract.SYSTEM_NAMESPACE, "-o", "json")
    )
    assert len(found["items"]) == 4
    for pod in found["items"]:
        (container,) = pod["spec"]["containers"]
        assert pod["spec"]["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        (status,) = pod["status"]["containerStatuses"]
        assert (status["ready"], status["restartCount"]) == (True, 0)
