"""Pods that stay on cordoned nodes, in `doctor`, `status`, `explain` and `plan`."""

import json
from datetime import timedelta

import pytest

from edl import contract
from edl.kube.cluster import ListOptions
from edl.model.nodes import CORDONED as CORDON
from edl.planner.decision_limits import Limits
from edl.planner.published_settings import Settings, render
from edl.writes import Json
from tests.kubectl_edl.cluster_wrappers import ahead, recorded
from tests.kubectl_edl.doctor.findings import checked, only
from tests.kubectl_edl.stage import NOW, Stage, job, lease, mnist, node, pod

CORDONED: Json = {
    "unschedulable": True,
    "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
}


def test_workers_of_a_full_cluster_that_block_a_drain_are_named_with_the_reason(
    stage: Stage,
) -> None:
    stage.create(node("node-1", cpu="4") | {"spec": CORDONED})
    stage.create(node("node-2", cpu="4"))
    owner = stage.put(
        job("ring", framework="pytorch", min="4", max="4"),
        suspend=False,
        parallelism=4,
        completions=4,
    )
    for index in range(4):
        stage.create(pod(owner, index, f"node-{index % 2 + 1}"))
    what = (
        "ring-0-x0, ring-2-x2 stay on the cordoned node node-1, as no other pod can replace them "
        "elsewhere (Insufficient cpu for one more pod of 2 CPU), and their PodDisruptionBudget "
        "blocks a drain until the job is paused or ends"
    )
    fix = "kubectl edl pause ring -n default"
    assert only(stage, "drain") == ("warning", f"default/ring: {what}", fix)
    for command in ("status", "explain"):
        assert f"{what}\n     fix: {fix}\n" in stage.run(command, "ring").out
    planned = stage.run("plan").out
    assert "Nothing to do now.\n" in planned
    assert what in planned
    (found,) = json.loads(stage.run("plan", "-o", "json").out)["staying"]
    assert found["blocksDrain"]
    assert (found["reason"], [one["name"] for one in found["pods"]]) == (
        "InsufficientCapacity",
        ["ring-0-x0", "ring-2-x2"],
    )


@pytest.mark.parametrize(
    ("there", "at_once", "it"), [(1, "", "it"), (2, "", "them"), (4, ", 3 at once,", "them")]
)
def test_pods_that_a_drain_evicts_are_shown_by_the_plan_and_block_nothing(
    stage: Stage, there: int, at_once: str, it: str
) -> None:
    stage.create(node("node-1") | {"spec": CORDONED})
    stage.create(node("node-2"))
    sweep = job("sweep", framework="none", min="2", max="4")
    owner = stage.put(sweep, suspend=False, parallelism=4, completions=9)
    for index in range(4):
        stage.create(pod(owner, index, "node-1" if index < there else "node-2"))
    fine = "kubectl drain evicts each pod that stays on a cordoned node"
    assert only(stage, "drain") == ("ok", fine, "")
    for command in ("status", "explain"):
        assert "cordoned" not in stage.run(command, "sweep").out
    then = "recreates {it} on nodes with free capacity"
    stays, their = ("stays", "its") if there == 1 else ("stay", "their")
    what = (
        f"{stays} on the cordoned node node-1 until kubectl drain evicts {it}{at_once} and {their} "
        f"Job {then.format(it=it)}"
    )
    (found,) = json.loads(stage.run("plan", "-o", "json").out)["staying"]
    assert found["message"].endswith(what)
    assert (found["blocksDrain"], len(found["pods"])) == (False, there)
    assert what in stage.run("plan").out


def test_workers_that_do_not_move_beside_a_crash_looping_one_are_named(stage: Stage) -> None:
    stage.create(node("node-1", cpu="4") | {"spec": CORDONED})
    stage.create(node("node-2"))
    ring = job("ring", framework="pytorch", min="4", max="4")
    owner = stage.put(ring, suspend=False, parallelism=4, completions=4)
    waits = {"waiting": {"reason": "CrashLoopBackOff"}}
    crashes = {"conditions": [], "containerStatuses": [{"name": "main", "state": waits}]}
    for index in range(4):
        fields = crashes if index == 3 else {}
        stage.create(pod(owner, index, f"node-{index % 2 + 1}", **fields))
    what = (
        "ring-0-x0, ring-2-x2 stay on the cordoned node node-1, as a plan moves them only while "
        "the other pods are ready (ring-3-x3 is not ready), and their PodDisruptionBudget blocks "
        "a drain until all are ready, or the job is paused or ends"
    )
    fix = "kubectl edl pause ring -n default"
    assert only(stage, "drain") == ("warning", f"default/ring: {what}", fix)
    for command in ("status", "explain"):
        assert f"{what}\n     fix: {fix}\n" in stage.run(command, "ring").out
    assert what in stage.run("plan").out
    (found,) = json.loads(stage.run("plan", "-o", "json").out)["staying"]
    assert (found["blocksDrain"], found["reason"]) == (True, "PodsUnready")


def test_workers_whose_budget_the_patience_has_ended_are_named(stage: Stage) -> None:
    lease(stage, render(Settings(limits=Limits(drain_patience=timedelta(minutes=10)))))
    taint = CORDONED["taints"][0] | {"timeAdded": "2026-11-21T11:50:00Z"}
    stage.create(node("node-1", cpu="4") | {"spec": CORDONED | {"taints": [taint]}})
    stage.create(node("node-2", cpu="4"))
    ring = job("ring", framework="pytorch", min="4", max="4")
    owner = stage.put(ring, suspend=False, parallelism=4, completions=4)
    for index in range(4):
        stage.create(
            pod(owner, index, f"node-{index % 2 + 1}", **({"conditions": []} if index == 3 else {}))
        )
    what = (
        "ring-0-x0, ring-2-x2 stay on the cordoned node node-1, as a plan moves them only while "
        "the other pods are ready (ring-3-x3 is not ready); after --drain-patience their "
        "PodDisruptionBudget is deleted: kubectl drain evicts them, and the job reacts as to the "
        "failure of a node"
    )
    fix = "kubectl edl pause ring -n default"
    assert only(stage, "drain") == ("warning", f"default/ring: {what}", fix)
    for command in ("status", "explain"):
        assert f"{what}\n     fix: {fix}\n" in stage.run(command, "ring").out
    assert what in stage.run("plan").out
    (found,) = json.loads(stage.run("plan", "-o", "json").out)["staying"]
    assert (found["unprotected"], found["blocksDrain"]) == (True, False)


def test_status_says_whether_pods_stay_without_a_plan_of_a_large_cluster(stage: Stage) -> None:
    mnist(stage)
    for number in range(1, 1002):
        stage.create(node(f"node-{number}"))
    stage.create(node("node-0") | {"spec": CORDONED})
    lists, inner = list[ListOptions](), stage.wrapped
    stage.wrapped = lambda cluster: recorded(lists)(inner(cluster))
    stage.patch("mnist-chief-0-x0", {"spec": {"nodeName": "node-0"}}, "Pod")
    found = stage.run("status", "mnist", "--context", "prod")
    assert "mnist-chief-0-x0 stays on the cordoned node node-0" in found.out
    assert not any(one.kind == "ConfigMap" for one in lists)  # of the teams, for a plan
    stage.patch("mnist-worker-0-x0", {"spec": {"nodeName": "node-0"}}, "Pod")
    found = stage.run("status", "mnist", "--context", "prod")
    assert "mnist-chief-0-x0 stays on the cordoned node node-0" in found.out
    hint = "hint: whether its pods can leave cordoned nodes takes a plan of all 1002 nodes: "
    assert found.err == f"{hint}kubectl edl doctor --context prod\n"
    assert not any(one.kind == "ConfigMap" for one in lists)


@pytest.mark.parametrize("several", [True, False])
def test_a_users_budget_for_pods_that_have_one_already_is_named(
    stage: Stage, *, several: bool
) -> None:
    """The API server refuses to evict a pod that two select; extras have one alone."""
    owner = stage.put(job("ring", framework="pytorch", min="2", max="3"), suspend=False)
    for index in range(3):
        created = pod(owner, index)
        created["metadata"]["labels"] |= {contract.COMPLETION_INDEX_ANNOTATION: str(index)}
        stage.create(created)
    term = {
        "key": contract.COMPLETION_INDEX_ANNOTATION,
        "operator": "In",
        "values": ["0", "1"] if several else ["7"],
    }
    ours = {contract.JOB: "ring", "app.kubernetes.io/managed-by": contract.MANAGED_BY}
    selector = {"matchLabels": {contract.JOB_NAME_LABEL: "ring"}, "matchExpressions": [term]}
    for name, labels, selects in (
        ("ring-first-2", ours, selector),
        ("all", {}, {}),
        ("none", {}, None),
        ("web", {}, {"matchLabels": {"app": "web"}}),
    ):
        spec = {"minAvailable": 2} | ({} if selects is None else {"selector": selects})
        metadata = {"name": name, "namespace": "default", "labels": labels}
        stage.create({"kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec})
    if not several:
        assert "budgets" not in checked(stage)
        return
    verdict, what, fix = only(stage, "budgets")
    assert (verdict, what) == (
        "warning",
        (
            "PodDisruptionBudget default/all and kubectl-edl's ring-first-2 select the same pods: "
            "ring-0-x0, ring-1-x1; no drain and no autoscaler can evict them"
        ),
    )
    assert fix == (
        "kubectl edit poddisruptionbudget all -n default  # exclude pods with the label "
        "edl.dev/job from its selector, or delete it"
    )


def test_an_extra_of_a_job_that_restarts_for_each_size_blocks_no_drain(stage: Stage) -> None:
    """The PodDisruptionBudget selects the indexes of the minimum."""
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    stage.create(node("node-3") | {"spec": {"unschedulable": True, "taints": [cordon]}})
    manifest = job("digits", framework="paddle", min="2", max="3")
    manifest["metadata"]["annotations"] = {contract.MODE: "collective"}
    owner = stage.put(manifest, suspend=False, parallelism=3, completions=3)
    for index in range(3):
        stage.create(pod(owner, index, "node-1" if index == 0 else "node-3"))
    _, what, _ = only(stage, "drain")
    assert what.startswith("default/digits: digits-1-x1 stays on the cordoned node node-3, ")


def test_topologies_with_labels_of_nodes_pass(stage: Stage) -> None:
    stage.create(node("node-1", rack="r1"))
    manifest = job("mnist", framework="none")
    notes = {contract.REQUIRED_TOPOLOGY: "example.com/rack"}
    stage.put(manifest | {"metadata": manifest["metadata"] | {"annotations": notes}})
    assert only(stage, "topology")[0] == "ok"


def test_status_judges_the_patience_of_drains_by_the_clock_of_the_api_server(stage: Stage) -> None:
    lease(stage, render(Settings(limits=Limits(drain_patience=timedelta(minutes=10)))))
    mnist(stage)
    since = (NOW - timedelta(minutes=1)).isoformat()
    taint = {"key": CORDON, "effect": "NoSchedule", "timeAdded": since}
    stage.create(node("node-0") | {"spec": {"unschedulable": True, "taints": [taint]}})
    stage.patch("mnist-chief-0-x0", {"spec": {"nodeName": "node-0"}}, "Pod")
    over = "after --drain-patience its PodDisruptionBudget is deleted"
    assert over not in stage.run("status", "mnist").out
    inner = stage.wrapped
    stage.wrapped = lambda cluster: ahead(timedelta(minutes=15))(inner(cluster))
    assert over in stage.run("status", "mnist").out
