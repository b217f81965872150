"""`kubectl edl plan`: the reconciler's decision and its settings."""

import json
from datetime import timedelta

import pytest
import yaml

from edl import contract
from edl.model import ObjectRef
from edl.planner.decision_limits import Limits
from edl.planner.published_settings import Settings, render
from edl.visibility.namespace_queue import CONFIG_MAP, KEY, NamespaceQueue, PublishedJob
from edl.visibility.namespace_queue import render as render_queue
from tests.kubectl_edl.cluster_wrappers import fenced
from tests.kubectl_edl.stage import NOW, Stage, job, lease, mnist, node, pod, role_manifests

LEASE = ObjectRef("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE)

PLAN = """\
ACTION   NAME   SIZES        MESSAGE
Start    late   worker=2     all 2 pods of its minimum fit

POSITION   NAME    WHY IT WAITS OR IS NOT SCALED UP
1          bert    Insufficient cpu: needs 1 x 2 CPU (chief), 4 x 2 CPU (ps), 3 x 2 CPU (worker); \
7 of 8 pods fit
<none>     small   Insufficient cpu for one more pod of 2 CPU

Decided by: policy fair, load ceiling 97 % (from the reconciler)
"""


@pytest.fixture
def stage() -> Stage:
    """12 of 16 CPU are taken; bert needs 16, late 4."""
    stage = Stage()
    lease(stage)
    for name in ("node-1", "node-2"):
        stage.create(node(name, cpu="8"))
    runs = stage.put(job("small", framework="none", min="1", max="8"), suspend=False, parallelism=6)
    for index in range(6):
        stage.create(pod(runs, index, f"node-{index % 2 + 1}"))
    stage.minutes_ago = 2
    for manifest in role_manifests("bert", "chief=1,ps=4,worker=3..12"):
        stage.put(manifest)
    stage.minutes_ago = 1
    stage.put(job("late", framework="none", min="2", max="2"), parallelism=2)
    return stage


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_plan_shows_changes_waiting_jobs_and_settings(stage: Stage) -> None:
    found = stage.run("plan")
    assert (found.code, found.err) == (0, "")
    shown = found.out.partition("Planned again")[0]
    assert cells(shown) == cells(PLAN)


def test_a_diff_is_sizes_before_and_after(stage: Stage) -> None:
    found = stage.run("plan", "--diff")
    assert cells(found.out)[:3] == [
        ["NAME", "ROLE", "BEFORE", "AFTER", "CHANGE"],
        ["late", "worker", "0", "2", "+2"],
        [],
    ]


def test_documents_have_the_same_in_both_forms(stage: Stage) -> None:
    found = json.loads(stage.run("plan", "-o", "json").out)
    assert found == yaml.safe_load(stage.run("plan", "-o", "yaml").out)
    assert (found["kind"], found["complete"]) == ("Plan", True)
    assert found["settings"] == {
        "policy": "fair",
        "loadCeiling": 0.97,
        "preempt": False,
        "source": "reconciler",
    }
    assert found["changes"] == [
        {
            "namespace": "default",
            "name": "late",
            "action": "Start",
            "roles": [{"name": "worker", "oldReplicas": 0, "newReplicas": 2}],
            "pods": [],
            "domains": [],
            "preempted": False,
            "yieldsTo": None,
            "pendingPod": None,
            "reason": "Admitted",
            "message": "all 2 pods of its minimum fit",
        }
    ]
    assert [(one["name"], one["position"]) for one in found["waiting"]] == [
        ("bert", 1),
        ("small", None),
    ]


def test_an_empty_plan_prints_a_message() -> None:
    stage = Stage()
    stage.create(node("node-1", cpu="8"))
    for manifest in role_manifests("bert", "chief=1,ps=4,worker=3..12"):
        stage.put(manifest)
    found = stage.run("plan")
    assert found.out.startswith("Nothing to do now.\n")
    assert "bert" in found.out


def test_changes_elsewhere_are_counted(stage: Stage) -> None:
    found = stage.run("plan", "-n", "team")
    assert "1 more change in other namespaces (-A shows all)." in found.out
    assert "default     late   worker=2" in stage.run("plan", "-A").out


def test_another_policy_or_ceiling_is_named_in_the_plan(stage: Stage) -> None:
    stage.delete("late")
    stage.delete("bert-chief")
    found = stage.run("plan", "--policy", "fifo", "--load-ceiling", "1")
    assert "ScaleUp   small   worker=6→8" in found.out
    assert (
        "Decided by: policy fifo, load ceiling 100 % (from flags; the reconciler may use others)"
    ) in found.out
    settings = json.loads(stage.run("plan", "--policy", "fifo", "-o", "json").out)["settings"]
    assert settings == {"policy": "fifo", "loadCeiling": 0.97, "preempt": False, "source": "flags"}


def test_the_reconcilers_own_settings_are_used() -> None:
    stage = Stage()
    lease(stage, render(Settings(policy="utilisation")))
    assert "Decided by: policy utilisation" in stage.run("plan").out


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            '{"policy": "cruel"}',
            (
                "hint: assumed settings: Lease edl-system/edl-reconciler, edl.dev/settings: "
                "policy: 'cruel'; allowed: fair, throughput, fifo, utilisation\n"
            ),
        ),
        (
            '{"mood": 1}',
            "hint: the reconciler has settings that this plugin does not know (mood): update it\n",
        ),
    ],
)
def test_malformed_settings_on_the_lease_are_named(text: str, hint: str) -> None:
    stage = Stage()
    lease(stage, text)
    assert stage.run("plan").err == hint


def test_without_a_reconciler_the_settings_are_assumed() -> None:
    stage = Stage()
    stage.cluster.delete(LEASE)
    found = stage.run("plan")
    assert found.err == (
        "hint: no reconciler is running (there is no Lease edl-system/edl-reconciler): "
        "nothing is started or resized; kubectl edl doctor\n"
    )
    assert "(defaults; the reconciler's settings are unknown)" in found.out


def test_a_reconciler_that_is_away_does_nothing() -> None:
    stage = Stage()
    lease(stage, minutes_ago=5)
    assert stage.run("plan").err == (
        "hint: no reconciler is running (Lease edl-system/edl-reconciler was renewed 5m ago): "
        "nothing is started or resized; kubectl edl doctor\n"
    )


def test_without_the_right_to_read_the_cluster_the_last_reasons_are_shown() -> None:
    stage = Stage()
    lease(stage)
    mnist(stage)
    stage.put(job("bert", framework="none"))
    notes = {contract.REASON: "InsufficientCapacity", contract.MESSAGE: "Insufficient cpu"}
    stage.patch("bert", {"metadata": {"annotations": notes}})
    stage.wrapped = fenced("Node")
    found = stage.run("plan")
    assert found.code == 0
    assert "bert   Insufficient cpu" in found.out
    assert "mnist" not in found.out, "why it runs does not say why it is not scaled up"
    assert "Nothing to do" not in found.out
    assert found.err == (
        "hint: a plan needs the whole cluster; these are the reasons of the last one: "
        '"ann" may not list Node (kubectl auth can-i …)\n'
    )
    assert json.loads(stage.run("plan", "-o", "json").out)["complete"] is False
    named = stage.run("plan", "-o", "name")
    assert (named.code, named.out) == (1, "")
    assert named.err == 'error: "ann" may not list Node (kubectl auth can-i …)\n'


def test_without_that_right_an_answer_is_never_empty() -> None:
    stage = Stage()
    mnist(stage)
    stage.wrapped = fenced("Node")
    assert stage.run("plan").out == (
        "Changes are unknown: you may not read the whole cluster.\n"
        "No training jobs wait in default namespace.\n"
    )
    stage.wrapped = fenced("Node", "Job")
    found = stage.run("plan")
    assert (found.code, found.out) == (1, "")
    assert "may not list Job" in found.err


def test_without_that_right_the_published_queue_is_shown() -> None:
    stage = Stage()
    stage.put(job("bert", framework="none"))
    one = PublishedJob("bert", "InsufficientCapacity", "Insufficient cpu: needs 9", 3)
    text = render_queue(NamespaceQueue(NOW - timedelta(seconds=40), 1, (one,)))
    stage.create({"kind": "ConfigMap", "metadata": {"name": CONFIG_MAP}, "data": {KEY: text}})
    stage.wrapped = fenced("Node")
    found = stage.run("plan")
    assert cells(found.out)[-1] == ["3", "bert", "Insufficient", "cpu:", "needs", "9"]
    assert "the queue is shown as the reconciler published it 40s ago" in found.err
    (waits,) = json.loads(stage.run("plan", "-o", "json").out)["waiting"]
    assert (waits["position"], waits["reason"]) == (3, "InsufficientCapacity")


def test_preempted_jobs_and_the_ones_that_get_their_capacity_are_in_documents(
    stage: Stage,
) -> None:
    lease(stage, render(Settings(limits=Limits(preempt=True))))
    value = {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 100}
    stage.create(value)
    urgent = job("urgent", framework="none", min="8", max="8")
    urgent["spec"]["template"]["spec"]["priorityClassName"] = "high"
    stage.put(urgent, parallelism=8)
    found = json.loads(stage.run("plan", "-o", "json").out)
    stopped = next(one for one in found["changes"] if one["action"] == "Suspend")
    assert (stopped["name"], stopped["preempted"], stopped["yieldsTo"], stopped["pendingPod"]) == (
        *("small", True, "default/urgent", None),
    )
    preempts = {one["name"]: one["preempts"] for one in found["waiting"]}
    assert preempts["urgent"] == ["default/small"]
    assert preempts["bert"] == []


def test_a_job_that_scales_down_for_pending_pods_is_not_preempted(stage: Stage) -> None:
    waiting = pod(stage.job("small"), 0, "", phase="Pending", conditions=[])
    waiting["metadata"] |= {"name": "other", "labels": {}, "ownerReferences": []}
    unfit = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    waiting["status"]["conditions"] = [unfit]
    waiting["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "4"
    stage.create(waiting)
    stage.delete("late")
    found = json.loads(stage.run("plan", "-o", "json").out)
    down, *_ = (one for one in found["changes"] if one["name"] == "small")
    assert (down["action"], down["preempted"], down["yieldsTo"], down["pendingPod"]) == (
        *("ScaleDown", False, None, "default/other"),
    )


@pytest.mark.parametrize("share", ["0", "1.5", "much"])
def test_a_ceiling_that_is_none_is_refused(share: str) -> None:
    found = Stage().run("plan", "--load-ceiling", share)
    assert found.code == 2
    assert "--load-ceiling" in found.err


def test_a_manual_size_that_is_not_reached_is_listed() -> None:
    stage = Stage()
    stage.create(node("node-1", cpu="8"))
    held = job("a", framework="none", min="1", max="8")
    held["metadata"]["annotations"] = {"edl.dev/replicas": "6"}
    for manifest in (held, job("b", framework="none", min="1", max="8")):
        runs = stage.put(manifest, suspend=False, parallelism=2)
        for index in range(2):
            stage.create(pod(runs, index, "node-1"))
    lines = stage.run("plan").out.splitlines()
    (line,) = (" ".join(line.split()) for line in lines if " a " in line)
    short = "<none> a worker has the manual size 6, 4 short"
    assert line == f"{short}: Insufficient cpu for one more pod of 2 CPU"
    (other,) = (" ".join(line.split()) for line in lines if " b " in line)
    assert other == "<none> b Insufficient cpu for one more pod of 2 CPU"
