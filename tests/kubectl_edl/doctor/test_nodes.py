"""Checks of nodes: their topology labels, drains that pods block, and nodes that are not ready."""

import pytest

from edl import contract
from tests.kubectl_edl.doctor.findings import ASK, checked, only
from tests.kubectl_edl.stage import Stage, job, mnist, node


def test_a_topology_label_that_no_node_has_is_named(stage: Stage) -> None:
    stage.create(node("node-1", rack="r1"))
    for name, kind, label in (
        ("mnist", "required", "rak"),
        ("bert", "preferred", "block"),
        ("fine", "required", "rack"),
    ):
        manifest = job(name, framework="none")
        notes = {f"{contract.PREFIX}{kind}-topology": f"example.com/{label}"}
        stage.put(manifest | {"metadata": manifest["metadata"] | {"annotations": notes}})
    found = checked(stage)
    assert "never" not in found
    said = [one["message"].partition(": ")[::2] for one in found["topology"]]
    of, never = (
        "no node has the label example.com",
        "it cannot start; did you mean example.com/rack?",
    )
    assert said == [
        ("default/bert", f"{of}/block of its {contract.PREFERRED_TOPOLOGY}: it has no effect"),
        ("default/mnist", f"{of}/rak of its {contract.REQUIRED_TOPOLOGY}: {never}"),
    ]
    corrects = f"{contract.REQUIRED_TOPOLOGY}=example.com/rack --overwrite -n default"
    assert [one["remediation"] for one in found["topology"]] == [
        "kubectl get nodes --show-labels",
        f"kubectl annotate job mnist {corrects}",
    ]


@pytest.mark.parametrize("state", ["cordoned", "not ready", "absent", "selected"])
def test_a_queued_job_without_a_schedulable_node_is_a_warning(stage: Stage, state: str) -> None:
    """Without an autoscaler no node is added, and jobs wait until one is uncordoned."""
    only_node = node("node-1", rack="r1")
    if state == "not ready":
        only_node["status"]["conditions"][0]["status"] = "False"
    elif state != "absent":
        only_node["spec"]["unschedulable"] = True
    if state != "absent":
        stage.create(only_node)
    waits = job("waits", framework="none")
    if state == "selected":
        stage.create(node("node-2", rack="r2"))
        waits["spec"]["template"]["spec"]["nodeSelector"] = {"example.com/rack": "r1"}
    stage.put(waits)
    lacks = "no node that it may use is" if state == "selected" else "no node is"
    what = f"{lacks} schedulable: needs 1 x 2 CPU (worker)"
    assert only(stage, "never") == (
        "warning",
        f"default/waits cannot start on the present nodes and quotas: {what}",
        "kubectl get nodes  # then add, uncordon or repair one",
    )


def test_all_misspelt_labels_of_a_job_are_corrected_by_one_command(stage: Stage) -> None:
    stage.create(node("node-1", rack="r1"))
    mnist(stage)
    required = "worker=example.com/rak,ps=example.com/rac"
    for name in ("mnist-worker", "mnist-ps"):
        notes = {contract.REQUIRED_TOPOLOGY: required}
        stage.patch(name, {"metadata": {"annotations": notes}})
    found = {one["remediation"] for one in checked(stage)["topology"]}
    right = f"{contract.REQUIRED_TOPOLOGY}=ps=example.com/rack,worker=example.com/rack"
    assert [right in one for one in found] == [True], found


def test_a_chief_that_blocks_the_drain_of_a_cordoned_node_is_named(stage: Stage) -> None:
    mnist(stage)
    assert "drain" not in checked(stage)
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    for name in ("node-1", "node-2"):
        stage.create(node(name))
    assert "drain" not in checked(stage)
    stage.create(node("node-3") | {"spec": {"unschedulable": True, "taints": [cordon]}})
    stage.patch("mnist-chief-0-x0", {"spec": {"nodeName": "node-3"}}, "Pod")
    stage.patch("mnist-worker-0-x0", {"spec": {"nodeName": "node-3"}}, "Pod")
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    starts = {"spec": {"nodeName": "node-1"}, "status": ready}
    stage.patch("mnist-worker-3-x3", starts, "Pod")
    assert only(stage, "drain") == (
        "warning",
        (
            "default/mnist: mnist-chief-0-x0 stays on the cordoned node node-3, and its "
            "PodDisruptionBudget blocks a drain until the job is paused or ends"
        ),
        "kubectl edl pause mnist -n default",
    )


def test_a_node_that_is_not_ready_under_pods_is_named_with_what_helps(stage: Stage) -> None:
    mnist(stage)
    stage.create(node("node-1"))
    assert only(stage, "nodes") == (
        "warning",
        (
            "default/mnist: node node-2 of mnist-worker-1-x1 does not exist any longer: pod "
            "garbage collection deletes it within about a minute, and the Job controller then "
            "replaces it"
        ),
        "",
    )
    silent = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T11:58:00Z"}
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    gone = node("node-2") | {"spec": {"taints": [taint]}}
    stage.create(gone | {"status": {**gone["status"], "conditions": [silent]}})
    what = (
        "1 pod is on node-2, which is not ready (unreachable) since 2026-01-01 11:58:00 UTC: "
        "Kubernetes evicts pods there after 5m (tolerationSeconds)"
    )
    fix = (
        "make sure that its machine is off, then: kubectl taint node node-2 "
        "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute; or: kubectl delete node node-2"
    )
    assert only(stage, "nodes") == ("warning", f"default/mnist: {what}", fix)
    for command in ("status", "explain"):
        assert f"{what}\n     fix: {fix}\n" in stage.run(command, "mnist").out


def test_a_job_that_a_controller_suspended_is_named_with_that_controller(stage: Stage) -> None:
    mnist(stage)
    assert "paused" not in checked(stage)
    kueue = "system:serviceaccount:kueue-system:kueue-controller-manager"
    notes = {contract.PAUSED: "true", contract.PAUSED_BY: kueue}
    for name in ("mnist-chief", "mnist-ps", "mnist-worker"):
        stage.patch(name, {"spec": {"suspend": True}, "metadata": {"annotations": notes}})
    what = f"default/mnist is paused: {kueue} suspended it, and may do so again"
    fix = (
        "remove suspend: true from the manifest that it applies, or exclude namespace default from "
        "that controller, then: kubectl edl resume mnist -n default"
    )
    assert only(stage, "paused") == ("warning", what, fix)
    shown = stage.run("status", "mnist").out
    assert f"it is paused: {kueue} suspended it\n" in shown


def test_nodes_of_kubeshare_that_report_no_gpus_are_named(stage: Stage) -> None:
    for name, labels in (
        ("node-1", {"SharedGPU": "true", "nvidia.com/gpu.count": "2"}),
        ("node-2", {"SharedGPU": "false"}),
    ):
        stage.create(node(name) | {"metadata": {"name": name, "labels": labels}})
    assert "shared-gpus" not in checked(stage)
    stage.create(node("node-3") | {"metadata": {"name": "node-3", "labels": {"SharedGPU": "true"}}})
    assert only(stage, "shared-gpus") == (
        "warning",
        (
            "nodes with SharedGPU=true report nvidia.com/gpu neither as a resource nor by "
            "nvidia.com/gpu.count, so that shares of their GPUs are planned without a limit: "
            "node-3"
        ),
        f"{ASK}kubectl label node node-3 nvidia.com/gpu.count=NUMBER",
    )
