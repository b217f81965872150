import json
from typing import Any

import pytest

from edl import contract
from edl.kube.cluster import ListOptions
from edl.writes import Json
from tests.kubectl_edl.cluster_wrappers import fenced, recorded
from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed
from tests.kubectl_edl.stage import Stage, job, node, pod

DUE = "2026-11-21T11:57:00Z"
"""Three minutes ago."""
OFF = (
    "make sure that its machine is off, then: kubectl taint node NODE "
    "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute; or: kubectl delete node NODE"
)


@pytest.fixture
def stage() -> Stage:
    return installed(Stage(), FakeApi())


def findings(stage: Stage, check: str) -> list[tuple[str, str, str]]:
    found = json.loads(stage.run("doctor", "-o", "json").out)["checks"]
    keys = ("result", "message", "remediation")
    return [tuple(one[key] for key in keys) for one in found if one["name"] == check]


def foreign(name: str, metadata: Json, spec: Json, **status: Any) -> Json:  # noqa: ANN401 - JSON
    metadata = {"name": name, "namespace": "web", **metadata}
    return {"kind": "Pod", "metadata": metadata, "spec": {"containers": [], **spec}} | (
        {"status": status} if status else {}
    )


def leaving(name: str, on: str, *finalizers: str, due: str = DUE, phase: str = "Running") -> Json:
    metadata: Json = {"deletionTimestamp": due}
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    return foreign(name, metadata, {"nodeName": on}, phase=phase)


def unready(name: str) -> Json:
    silent = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-11-21T11:40:00Z"}
    manifest = node(name)
    return manifest | {"status": manifest["status"] | {"conditions": [silent]}}


def test_pods_on_an_unready_node_that_do_not_terminate_are_named_with_the_taint(
    stage: Stage,
) -> None:
    stage.create(unready("lost"))
    for number in range(7):
        stage.create(leaving(f"a-{number}", "lost", contract.JOB_TRACKING))
    stage.create(leaving("soon", "lost", due="2026-11-21T11:59:30Z"))
    stage.create(foreign("alive", {}, {"nodeName": "lost"}, phase="Running"))
    ((result, message, fix),) = findings(stage, "terminating")
    assert (result, fix) == ("warning", OFF.replace("NODE", "lost"))
    assert message.startswith("7 pods (web/a-0, web/a-1, web/a-2")
    assert message.endswith(
        " more) should have terminated 3m ago: node lost is not ready since 2026-11-21 11:40:00 "
        "UTC; Kubernetes removes them only when the node is ready again, deleted or tainted "
        "out-of-service, and counts their requests until then"
    )


def test_the_remedy_for_a_pod_that_does_not_terminate_depends_on_what_it_waits_for(
    stage: Stage,
) -> None:
    stage.create(node("fine"))
    stage.create(leaving("held", "fine", "example.com/backup", phase="Succeeded"))
    stage.create(leaving("left", "gone"))
    stage.create(leaving("slow", "fine"))
    late = "web/{} should have terminated 3m ago: "
    unset = """kubectl patch pod held -n web --type=merge -p '{"metadata":{"finalizers":null}}'"""
    assert findings(stage, "terminating") == [
        (
            "warning",
            f"{late.format('left')}node gone does not exist any longer, only its object is left",
            "kubectl delete pod left -n web --force",
        ),
        (
            "warning",
            f"{late.format('held')}no controller has removed its finalizer example.com/backup",
            f"if the controller that set it is gone: {unset}",
        ),
        (
            "warning",
            f"{late.format('slow')}node fine is ready, but its kubelet has not ended it",
            "kubectl describe pod slow -n web",
        ),
    ]


def test_without_the_right_to_read_nodes_an_administrator_is_named(stage: Stage) -> None:
    stage.create(leaving("slow", "fine"))
    stage.wrapped = lambda cluster: fenced("Node")(FakeApi()(cluster))
    ((_, message, fix),) = findings(stage, "terminating")
    assert message.endswith("the kubelet of node fine has not ended it")
    assert fix == "ask a cluster administrator to run: kubectl get node fine"


def test_a_terminating_pod_that_its_job_awaits_is_reported_once(stage: Stage) -> None:
    stage.create(unready("lost"))
    owner = stage.put(job("alone", framework="none"), suspend=False)
    manifest = pod(owner, 0, "lost")
    manifest["metadata"]["deletionTimestamp"] = DUE
    stage.create(manifest)
    assert findings(stage, "nodes")
    assert findings(stage, "terminating") == []


GATED: Json = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
REFUSED: Json = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


def test_pods_that_no_scheduler_processes_are_named_with_their_scheduler(stage: Stage) -> None:
    long: Json = {}
    other = {"schedulerName": "volcano"}
    ungated = long | {"annotations": {contract.PLACED_AT: "2026-11-21T11:57:00Z"}}
    new = long | {"annotations": {contract.PLACED_AT: "2026-11-21T11:59:30Z"}}
    for name, metadata, spec, conditions in (
        ("a", long, other, []),
        ("b", ungated, other, [GATED]),
        ("c", long, {}, []),
        ("refused", long, other, [REFUSED]),
        ("gated", long, other | {"schedulingGates": [{"name": "example.com/a"}]}, [GATED]),
        ("ungated", long, other, [GATED]),
        ("new", new, other, [GATED]),
        ("bound", long, other | {"nodeName": "n"}, []),
    ):
        stage.create(foreign(name, metadata, spec, phase="Pending", conditions=conditions))
    stage.minutes_ago = 0
    stage.create(foreign("young", {}, other, phase="Pending"))
    again = "delete the owners of these pods and apply them with a schedulerName that runs"
    assert findings(stage, "scheduler") == [
        (
            "warning",
            "kube-scheduler has not processed web/c for 5m",
            "kubectl get lease kube-scheduler -n kube-system -o yaml",
        ),
        (
            "warning",
            'scheduler "volcano" has not processed 2 pods (web/a, web/b) for 5m',
            f'run scheduler "volcano", or {again}',
        ),
    ]


def test_long_names_of_schedulers_and_long_lists_of_finalizers_are_cut(stage: Stage) -> None:
    stage.create(node("fine"))
    scheduler = {"schedulerName": "x" * 200_000}
    stage.create(foreign("p", {}, scheduler, phase="Pending"))
    finalizers = [f"example.com/{'y' * 300}{number}" for number in range(3000)]
    stage.create(leaving("held", "fine", *finalizers, phase="Succeeded"))
    ((_, waits, fix),) = findings(stage, "scheduler")
    assert waits == f'scheduler "{"x" * 99}…" has not processed web/p for 5m'
    assert fix.startswith(f'run scheduler "{"x" * 99}…", or delete')
    ((_, held, _),) = findings(stage, "terminating")
    assert held.endswith("y… and 2997 more")
    assert len(held) < 500


def test_the_checks_of_other_owners_pods_read_these_once(stage: Stage) -> None:
    lists: list[ListOptions] = []
    stage.wrapped = lambda cluster: recorded(lists)(FakeApi()(cluster))
    stage.create(leaving("held", "fine", "example.com/a", phase="Succeeded"))
    stage.create(foreign("p", {}, {"schedulerName": "volcano"}, phase="Pending"))
    stage.run("doctor")
    found = [one for one in lists if one.kind == "Pod" and not one.labels]
    assert found == [ListOptions("Pod")]
    assert "web/held" in stage.run("doctor", "-n", "web").out
    assert "web/held" not in stage.run("doctor", "-n", "other").out


def test_pods_that_wait_for_a_quota_of_their_queue_are_not_checked_for_room(stage: Stage) -> None:
    """No job would scale down for them if they fitted."""
    stage.create(node("fine"))
    spec: Json = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "999"}}}]}
    for name, scheduler in (("queued", "volcano"), ("large", "gke.io/first-fit")):
        own = spec | {"schedulerName": scheduler}
        stage.create(foreign(name, {}, own, phase="Pending", conditions=[REFUSED]))
    out = stage.run("doctor").out
    assert "the pending pod web/large fits no node" in out
    assert "web/queued" not in out
