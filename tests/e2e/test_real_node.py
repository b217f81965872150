"""What a real node does for pods: they run, are reached, find each other and their data."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from typing import TYPE_CHECKING

import pytest

from sandbox import Sandbox
from sandbox.errors import SandboxError
from tests.e2e.support.busybox import FOR_EVER, page, pods_on, service, template

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.cluster import Cluster
    from tests.e2e.support.busybox import Json, Pods

pytestmark = [pytest.mark.e2e, pytest.mark.sandbox]

NEVER = {"exec": {"command": ["sh", "-c", "exit 1"]}, "periodSeconds": 1}
CLAIM: Json = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
}
MOUNTED: Json = {
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
}


def with_kubectl(cluster: Cluster) -> Json:
    """Fields of a pod in which there is a kubectl: the machine's own."""
    if not isinstance(cluster, Sandbox):
        pytest.skip("needs a kubectl on the node; this is not our cluster")
    program = {"path": str(cluster.kubectl_path.resolve()), "type": "File"}
    return {
        "volumes": [{"name": "kubectl", "hostPath": program}],
        "volumeMounts": [{"name": "kubectl", "mountPath": "/bin/kubectl"}],
    }


@pytest.fixture
def pods(real_cluster: Cluster) -> Iterator[Pods]:
    with pods_on(real_cluster) as made:
        yield made


def test_a_pod_runs_and_shows_what_it_prints(pods: Pods) -> None:
    pods.run("speaker", f"echo hello; {FOR_EVER}")
    assert pods.kubectl("logs", "speaker") == "hello\n"


def test_a_command_in_a_pod_answers_and_its_failure_is_ours(pods: Pods) -> None:
    pods.run("host")
    assert pods.exec("host", "busybox hostname") == "host\n"
    with pytest.raises(SandboxError, match="exit code 3"):
        pods.exec("host", "exit 3")


def test_the_hosts_of_a_headless_service_are_found_before_they_are_ready(pods: Pods) -> None:
    pods.create(
        service("job", clusterIP="None", publishNotReadyAddresses=True),
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "job"},
            "spec": {
                "completionMode": "Indexed",
                "completions": 2,
                "parallelism": 2,
                "template": {
                    "metadata": {"labels": {"app": "job"}},
                    "spec": template(
                        page("$(busybox hostname)"),
                        subdomain="job",
                        restartPolicy="Never",
                        readinessProbe=NEVER,
                    ),
                },
            },
        },
    )
    pods.run("asker")
    namespace = f"{pods.namespace}.svc"
    assert pods.reach("asker", f"http://job-1.job.{namespace}:8080") == "job-1"
    assert pods.reach("asker", f"http://job-0.job.{namespace}.cluster.local:8080") == "job-0"


def test_a_service_is_reached_by_its_name_also_from_its_own_pod(pods: Pods) -> None:
    pods.create(service("web"))
    pods.run("web", page("welcome"))
    pods.run("asker")
    assert pods.reach("asker", "http://web") == "welcome"
    assert pods.reach("web", f"http://web.{pods.namespace}") == "welcome"


def test_a_name_outside_the_cluster_is_refused_instead_of_waited_for(pods: Pods) -> None:
    pods.run("asker")
    assert "can't find" in pods.exec("asker", "busybox nslookup example.invalid; true")


def test_the_api_server_reaches_the_pods_of_a_service(pods: Pods) -> None:
    pods.create(service("web"))
    pods.run("web", page("welcome"))
    for path in ("pods/web:8080", "services/web:80"):
        proxied = f"/api/v1/namespaces/{pods.namespace}/{path}/proxy/"
        assert pods.fetch(proxied) == "welcome\n"


def test_a_pod_asks_the_api_server_as_its_service_account(pods: Pods) -> None:
    pods.run("asker", **with_kubectl(pods.cluster))
    refusal = pods.exec("asker", "kubectl get pods 2>&1; true")
    assert f"system:serviceaccount:{pods.namespace}:default" in refusal
    pods.kubectl("create", "role", "reader", "--verb=list", "--resource=pods")
    account = f"--serviceaccount={pods.namespace}:default"
    pods.kubectl("create", "rolebinding", "reader", "--role=reader", account)
    assert pods.exec("asker", "kubectl get pods -o name") == "pod/asker\n"


def test_a_claim_is_bound_and_keeps_its_data(pods: Pods) -> None:
    pods.create(CLAIM)
    pods.run("writer", f"echo kept > /data/file; {FOR_EVER}", **MOUNTED)
    pods.kubectl("delete", "pod", "writer")
    pods.run("reader", **MOUNTED)
    assert pods.exec("reader", "busybox cat /data/file") == "kept\n"


def test_a_port_is_forwarded(pods: Pods) -> None:
    pods.run("web", page("welcome"))
    assert pods.reach("web", "http://127.0.0.1:8080") == "welcome", "it listens"
    forward = ("-n", pods.namespace, "port-forward", "pod/web", ":8080", "--address=127.0.0.1")
    with subprocess.Popen(
        [pods.cluster.kubectl_path, *forward],
        env=pods.cluster.kubectl_environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as forwarder:
        assert forwarder.stdout
        address = forwarder.stdout.readline().split()[2]
        try:
            with urllib.request.urlopen(f"http://{address}/", timeout=10) as answer:
                assert answer.read() == b"welcome\n"
        finally:
            forwarder.terminate()


def test_what_pods_use_is_measured(pods: Pods) -> None:
    pods.run("host")
    node = pods.kubectl("get", "pod", "host", "-o", "jsonpath={.spec.nodeName}")
    metrics = pods.kubectl("get", "--raw", f"/api/v1/nodes/{node}/proxy/metrics/resource")
    assert "node_cpu_usage_seconds_total" in metrics


def test_a_deleted_pod_has_a_final_phase_while_a_finalizer_keeps_it(pods: Pods) -> None:
    pods.run("kept", "trap : TERM; sleep 1000 & wait; exit 143")
    keep(pods, ["example.com/keep"])
    try:
        pods.kubectl("delete", "pod", "kept", "--wait=false")
        pods.kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "pod/kept", "--timeout=60s")
    finally:
        keep(pods, None)
    pods.kubectl("wait", "--for=delete", "pod/kept", "--timeout=60s")


def keep(pods: Pods, finalizers: list[str] | None) -> None:
    patch = {"metadata": {"finalizers": finalizers}}
    pods.kubectl("patch", "pod", "kept", "--type=merge", "-p", json.dumps(patch))
