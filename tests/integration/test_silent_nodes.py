"""A node that says nothing any more: its pods are made again elsewhere, by Kubernetes alone."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from edl import contract
from edl.model import ObjectRef
from edl.writes import Json
from tests.integration.support.plugin import printed
from tests.integration.support.stage import Stage, elastic

pytestmark = pytest.mark.integration
_SILENT = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_GONE = "node.kubernetes.io/out-of-service"


@contextmanager
def silent_node(stage: Stage) -> Iterator[str]:
    """A node on which no kubelet runs, as it was before it fell silent."""
    name = f"{stage.namespace}-silent"
    node: Json = {"apiVersion": "v1", "kind": "Node"}
    node |= {"metadata": {"name": name, "labels": {"silent": "true"}}}
    stage.api.create(ObjectRef("Node", "", name), node)
    say(stage, name, "True")
    stage.until(lambda: not _taints(stage, name), "kube-scheduler may use it")
    try:
        yield name
    finally:
        stage.kubectl("delete", "node", name)
        stage.kubectl("delete", "pods", "--all", "--force", "--grace-period=0")


def _taints(stage: Stage, name: str) -> object:
    """A new node has a taint until the node controller has seen that it is ready."""
    return stage.api.get(ObjectRef("Node", "", name))["spec"].get("taints")


def say(stage: Stage, name: str, ready: str) -> None:
    """What its kubelet says of it, or the controllers where it says nothing: Unknown."""
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    conditions = [{"type": "Ready", "status": ready, "reason": "Test"}]
    status = {"status": {"capacity": room, "allocatable": room, "conditions": conditions}}
    patch = ("patch", "node", name, "--subresource=status", "--type=merge")
    stage.kubectl(*patch, "-p", json.dumps(status))


def preferring(job: Json) -> Json:
    """It goes to the silent node first, and leaves it after a second."""
    term = {"matchExpressions": [{"key": "silent", "operator": "Exists"}]}
    first = [{"weight": 100, "preference": term}]
    pod = job["spec"]["template"]["spec"]
    pod["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": first}}
    stays = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
    pod["tolerations"] = [{"key": key, **stays} for key in _SILENT]
    return job


@pytest.mark.parametrize("ready", ["False", "Unknown"])
def test_a_pod_on_a_silent_node_is_made_again_elsewhere(installed: Stage, ready: str) -> None:
    with silent_node(installed) as name:
        installed.apply(preferring(elastic("items", parallelism=1)))
        installed.until(lambda: where(installed, "items") == {name}, "it is on the silent node")
        (lost,) = installed.pods("items")
        say(installed, name, ready)
        installed.until_runs("items", 1)
        assert name not in where(installed, "items")
        evicted = (f"Pod/{lost['metadata']['name']}", "TaintManagerEviction")
        installed.until(lambda: evicted in warnings(installed, "items"), "history shows why")


def test_where_some_failures_are_final_the_node_must_be_known_to_be_gone(installed: Stage) -> None:
    """Kubernetes replaces only failed pods where a Job has a podFailurePolicy."""
    with silent_node(installed) as name:
        job = preferring(elastic("items", parallelism=1))
        job["metadata"]["annotations"] = {contract.RESTART: "ExitCode"}
        installed.apply(job)
        installed.until(lambda: where(installed, "items") == {name}, "it is on the silent node")
        say(installed, name, "Unknown")
        installed.until(lambda: not installed.pods("items"), "it is told to leave")
        installed.kubectl("taint", "node", name, f"{_GONE}=shutdown:NoExecute")
        installed.until_runs("items", 1)
        assert name not in where(installed, "items")


def test_without_a_word_of_its_user_it_stays_for_five_minutes(installed: Stage) -> None:
    installed.apply(elastic("items", parallelism=1))
    installed.until_runs("items", 1)
    (pod,) = installed.pods("items")
    stays = {one["key"]: one.get("tolerationSeconds") for one in pod["spec"]["tolerations"]}
    assert stays == dict.fromkeys(_SILENT, 300)


def warnings(stage: Stage, job: str) -> list[tuple[str, str]]:
    """(object, reason) of the Events below the history."""
    text = printed(stage.cluster, "history", job, "-o", "json", "-n", stage.namespace)
    return [(one["object"], one["reason"]) for one in json.loads(text)["warnings"]]


def where(stage: Stage, job: str) -> set[str]:
    return {pod["spec"].get("nodeName", "") for pod in stage.pods(job)}
