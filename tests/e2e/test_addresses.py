"""Every address that a TF_CONFIG names answers, on a node where names are really looked up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from edl import contract
from tests.e2e.support.busybox import page, pods_on, template

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox.cluster import Cluster
    from tests.e2e.support.busybox import Json, Pods

pytestmark = pytest.mark.e2e

ALL_ROLES = "chief=1,ps=1,worker=2,evaluator=1"
ROLES = [part.partition("=")[0] for part in ALL_ROLES.split(",")]


@pytest.fixture
def pods(installed_cluster: Cluster) -> Iterator[Pods]:
    with pods_on(installed_cluster) as made:
        yield made


def job(role: str, mode: str) -> Json:
    """Its pods serve a page with their host name."""
    labels = {contract.FRAMEWORK: "tensorflow", contract.JOB: "mnist", contract.ROLE: role}
    notes = {contract.ROLES: ALL_ROLES, contract.MODE: mode, contract.PORT: "8080"}
    pod = template(page("$(busybox hostname)"), restartPolicy="Never")
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"mnist-{role}", "labels": labels, "annotations": notes},
        "spec": {"template": {"spec": pod}},
    }


def addresses(hosts: list[str] | dict[str, str]) -> list[str]:
    """Sparse lists name their hosts by index."""
    return [*hosts.values()] if isinstance(hosts, dict) else hosts


@pytest.mark.parametrize("mode", ["ps", "collective", "sparse"])
def test_each_address_in_a_pods_cluster_answers(pods: Pods, mode: str) -> None:
    pods.create(*(job(role, mode) for role in ROLES))
    selector = f"{contract.JOB}=mnist"
    pods.kubectl("wait", "--for=create", "pod", "-l", selector, "--timeout=60s")
    pods.kubectl("wait", "--for=condition=Ready", "pod", "-l", selector, "--timeout=60s")
    names = pods.kubectl("get", "pods", "-l", selector, "-o", "jsonpath={.items[*].metadata.name}")
    assert len(names.split()) == len(ROLES) + 1
    for pod in names.split():
        config = json.loads(pods.exec(pod, 'echo "$TF_CONFIG"'))
        assert "evaluator" not in config["cluster"]
        named = [address for hosts in config["cluster"].values() for address in addresses(hosts)]
        # In one command: each costs the node more than all of these pages.
        fetch = " && ".join(f"busybox wget -qO- http://{address}" for address in named)
        told = pods.answers(pod, fetch).split()
        assert told == [address.partition(".")[0] for address in named]
        task = config["task"]
        own = f"mnist-{task['type']}-{task['index']}"
        assert pods.exec(pod, "busybox hostname").strip() == own
