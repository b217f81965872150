"""Pending pods of other owners, and pods with a `nodeName`: where kube-scheduler lets them run."""

from typing import Any

import pytest

from edl.writes import Json
from tests.integration.support.stage import Stage, elastic

pytestmark = pytest.mark.integration

HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def nodes(stage: Stage) -> list[str]:
    return sorted(node["metadata"]["name"] for node in stage.cluster_wide("Node"))


def fill(stage: Stage, node: str) -> None:
    """A job of eight work items, of which seven are extras, on all CPUs of a node."""
    labels = {"min": "1", "max": "8"}
    stage.apply(elastic("extras", labels=labels, completions=90, pod=on(node)))
    stage.until_runs("extras", 8)


def on(*names: str) -> Json:
    """The part of a pod's spec that selects these nodes."""
    rule = {"key": HOST, "operator": "In", "values": [*names]}
    terms = [{"matchExpressions": [rule]}]
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}


def pod(name: str, cpu: str, app: str, **spec: Any) -> Json:  # noqa: ANN401
    requests = {"cpu": cpu, "memory": "64Mi"}
    container = {"name": "main", "image": "none", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": app}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1} | spec,
    }


def node_of(stage: Stage, name: str) -> str:
    found = {one["metadata"]["name"]: one for one in stage.all("Pod")}
    return str(found[name]["spec"].get("nodeName", ""))


def test_extras_yield_to_a_pod_that_other_pods_keep_from_the_free_node(installed: Stage) -> None:
    free, full, *_ = nodes(installed)
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "web"}}}
    rules = {"podAntiAffinity": {REQUIRED: [term]}} | on(free)["affinity"]
    installed.apply(pod("apart", "1", "db", affinity=rules))
    installed.until(lambda: node_of(installed, "apart") == free, "the pod that excludes others")
    fill(installed, full)
    installed.apply(pod("web", "3", "web", **on(free, full)))
    installed.until(lambda: node_of(installed, "web") == full, "extras yield")


def test_extras_on_a_cordoned_node_yield_to_the_pod_of_a_daemonset(installed: Stage) -> None:
    full, *_ = nodes(installed)
    fill(installed, full)
    installed.kubectl("cordon", full)
    try:
        template = pod("", "3", "driver", **on(full))
        installed.apply(
            {
                "apiVersion": "apps/v1",
                "kind": "DaemonSet",
                "metadata": {"name": "driver"},
                "spec": {
                    "selector": {"matchLabels": {"app": "driver"}},
                    "template": {
                        "metadata": {"labels": {"app": "driver"}},
                        "spec": template["spec"] | {"terminationGracePeriodSeconds": 1},
                    },
                },
            }
        )
        installed.until(
            lambda: any(
                one["metadata"]["name"].startswith("driver") and one["spec"].get("nodeName")
                for one in installed.all("Pod")
            ),
            "the DaemonSet's pod has a node",
        )
    finally:
        installed.kubectl("uncordon", full)
        installed.kubectl("delete", "daemonset", "driver", "--ignore-not-found")


def test_a_job_with_a_node_name_starts_on_a_cordoned_node(installed: Stage) -> None:
    name, *_ = nodes(installed)
    installed.kubectl("cordon", name)
    try:
        labels = {"min": "1", "max": "1"}
        installed.apply(elastic("pinned", labels=labels, completions=1, pod={"nodeName": name}))
        installed.until_runs("pinned", 1)
    finally:
        installed.kubectl("uncordon", name)
