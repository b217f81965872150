"""`kubectl edl explain`: sizes, reasons, blockers and remedies."""

import json
import re

import pytest

from edl import contract
from edl.forecast.estimate import Certainty, Estimate
from edl.forecast.forecast import Forecast
from edl.kube.cluster import ListOptions, RawList
from edl.model import Code, JobKey, ObjectRef
from edl.writes import Json
from kubectl_edl.explain import read_explanation
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper, fenced, one_namespace
from tests.kubectl_edl.stage import (
    NOW,
    Stage,
    event,
    job,
    lease,
    mnist,
    node,
    pod,
    quota,
    role_manifests,
)

RACK = "example.com/rack"
QUEUED = """\
Name:        bert
Namespace:   default
Phase:       Queued
Reason:      not yet processed by the reconciler
Queue:       first in the queue
Starts:      unknown: default/small has no known end
Cooldown:    10s after a resize, 3s between scale-ups (the reconciler's default)
Decided by:  policy fair, load ceiling 97 % (from the reconciler)

ROLE     NOW   NEXT   MIN   MAX   WHY THIS SIZE
chief    0     0      1     1     its size is fixed
ps       0     0      4     4     its size is fixed
worker   0     0      3     12    <none>

Why bert does not start:
"""


@pytest.fixture
def stage() -> Stage:
    """12 of 16 CPU are taken by small, which could give 10 back; bert needs 16, late the same."""
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
    return stage


def test_explain_names_what_a_queued_job_lacks(stage: Stage) -> None:
    found = stage.run("explain", "bert")
    assert (found.code, found.err) == (0, "")
    head, _, tail = found.out.partition("Why bert does not start:\n")
    assert head + "Why bert does not start:\n" == QUEUED
    assert tail == (
        "  1. Insufficient cpu for 1 of 3 worker pods (2 CPU each): beside the "
        "2 that fit, no CPU free "
        "on the 2 nodes that it may use\n"
        "     would help: fewer worker replicas (2 fit now: kubectl edl scale bert -n default "
        "--role worker --min 2), or 2 CPU more free on node-1\n"
        "  2. then the plan would be: 8 pods wait for others to terminate: default/small\n"
    )


def test_the_named_capacity_is_sufficient(stage: Stage) -> None:
    stage.create(node("node-3", cpu="2"))
    assert "ScaleDown   small   worker=6→1   to make room for default/bert" in stage.run("plan").out


def test_while_no_reconciler_works_no_plan_is_presented() -> None:
    stage = Stage()
    stage.create(node("node-1"))
    stage.put(job("fits", framework="none", min="1", max="2"))
    assert "0     2      1     2" in stage.run("explain", "fits").out
    lease(stage, minutes_ago=5)
    found = stage.run("explain", "fits")
    assert "0     0      1     2" in found.out
    assert "Why not one more" not in found.out
    assert "Starts:      unknown: no reconciler is running (Lease" in found.out
    (role,) = json.loads(stage.run("explain", "fits", "-o", "json").out)["roles"]
    assert (role["nextReplicas"], role["scaleUp"]) == (0, None)
    assert "0     2      1     2" in stage.run("explain", "fits", "--policy", "fifo").out


def test_explain_names_why_a_running_job_is_not_scaled_up(stage: Stage) -> None:
    for role in ("chief", "ps", "worker"):
        stage.delete(f"bert-{role}")
    found = stage.run("explain", "small").out
    assert "worker   6     7      1     8     idle capacity: 7 of 8 fit" in found
    assert found.endswith(
        "Why not one more worker (now 6, next 7):\n"
        "  1. the load ceiling of 97 % keeps 480m CPU idle: 2 CPU is idle, and one more "
        "worker requests 2 CPU\n"
        "     would help: a load ceiling of 100 %, or 480m CPU more idle in the cluster\n"
    )
    assert (
        "load ceiling"
        not in stage.run("explain", "small", "--load-ceiling", "1").out.partition("Why not")[2]
    )


def test_a_scale_up_that_the_api_server_refuses_is_the_blocker_in_explain_and_status(
    stage: Stage,
) -> None:
    asked = {"min": 1, "max": 8}
    size = {"role": "worker", "size": 8, "grows": True, "request": asked}
    refusal = {"at": "2026-11-21T11:59:00Z", "attempts": 3, "message": "denied by a policy"}
    notes = {contract.WRITE_REFUSED: json.dumps([refusal | {"size": size}])}
    for role in ("chief", "ps", "worker"):
        stage.delete(f"bert-{role}")
    stage.patch("small", {"metadata": {"annotations": notes}})
    said = "the API server refuses its new size: denied by a policy"
    assert (
        f"Why not one more worker (now 6, next 6):\n  1. {said}\n"
        in stage.run("explain", "small").out
    )
    shown = json.loads(stage.run("status", "small", "-o", "json").out)
    assert (shown["reason"], shown["message"]) == ("WriteRefused", said)
    blockers = f"  1. {said}\n     fix: change what refuses it: the write is tried again\n"
    assert blockers in stage.run("status", "small").out


def test_the_job_ahead_is_named(stage: Stage) -> None:
    stage.minutes_ago = 1
    stage.put(job("late", framework="none", min="8", max="8"), parallelism=8)
    found = stage.run("explain", "late").out
    assert "Queue:       position 2, behind default/bert\n" in found


def test_one_of_its_jobs_is_one_role(stage: Stage) -> None:
    found = stage.run("explain", "bert-ps").out
    assert "ps       " not in found.partition("WHY THIS SIZE")[2].partition("worker")[2]
    roles = json.loads(stage.run("explain", "bert-ps", "-o", "json").out)["roles"]
    assert [role["name"] for role in roles] == ["ps"]


def test_documents_have_the_figures(stage: Stage) -> None:
    found = json.loads(stage.run("explain", "bert", "-o", "json").out)
    assert (found["kind"], found["position"]) == ("TrainingJobExplanation", 1)
    assert found["settings"]["source"] == "reconciler"
    assert found["estimate"] == {
        "certainty": "Unknown",
        "time": None,
        "message": "default/small has no known end",
    }
    assert found["start"]["complete"]
    cause, then = found["start"]["blockers"]
    assert (then["type"], then["remediation"]) == ("InProgress", "")
    assert cause["type"] == "InsufficientResources"
    assert (cause["role"], cause["pods"], cause["schedulablePods"]) == ("worker", 3, 2)
    assert (cause["nodeName"], cause["missing"]) == ("node-1", {"cpu": "2000m"})
    lower = "kubectl edl scale bert -n default --role worker --min 2"
    helps = f"fewer worker replicas (2 fit now: {lower}), or 2 CPU more free on node-1"
    assert cause["remediation"] == helps


def test_a_declared_duration_gives_an_estimate(stage: Stage) -> None:
    notes = {contract.STARTED_AT: "2026-11-21T11:00:00Z", contract.DURATION: "2h"}
    stage.patch("small", {"metadata": {"annotations": notes}})
    assert "Starts:      in about 60m\n" in stage.run("explain", "bert").out


def test_a_start_within_a_minute_is_shown_in_seconds(stage: Stage) -> None:
    notes = {contract.STARTED_AT: "2026-11-21T11:00:00Z", contract.DURATION: "1h7s"}
    stage.patch("small", {"metadata": {"annotations": notes}})
    assert "Starts:      in about 7s\n" in stage.run("explain", "bert").out
    assert "   ~7s   " in stage.run("queue").out


def test_a_cleared_manual_size_is_not_shown(stage: Stage) -> None:
    manual = {contract.REASON: "ManualSize", contract.MESSAGE: "manual size"}
    stage.patch("small", {"metadata": {"annotations": manual | {contract.REPLICAS: "6"}}})
    assert stage.run("explain", "small").out.count("manual size\n") == len(("header", "role"))
    assert stage.run("scale", "small", "--auto").code == 0
    for command in ("explain", "status"):
        shown = stage.run(command, "small").out
        assert "manual size" not in shown
        assert "sized automatically" in shown


def test_pending_pods_show_their_reason(stage: Stage) -> None:
    sentence = "0/2 nodes are available: 2 Insufficient cpu."
    unschedulable = {"type": "PodScheduled", "status": "False", "message": sentence}
    pulling = {"name": "main", "state": {"waiting": {"reason": "ErrImagePull", "message": "no"}}}
    small = stage.job("small")
    stage.create(pod(small, 6, "", phase="Pending", conditions=[unschedulable]))
    stage.create(
        pod(small, 7, "node-1", phase="Pending", conditions=[], containerStatuses=[pulling])
    )
    found = stage.run("explain", "small").out
    assert f"small-6-x6    <none>   2m    {sentence}\n" in found
    assert "small-7-x7    node-1   2m    container main: ErrImagePull: no\n" in found


def claiming(stage: Stage, claim: str = "data") -> Json:
    """A pod that no node takes, and that names a PersistentVolumeClaim."""
    sentence = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    refused = {"type": "PodScheduled", "status": "False", "message": sentence}
    found = pod(stage.job("small"), 6, "", phase="Pending", conditions=[refused])
    found["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return stage.create(found)


def claim(stage: Stage, phase: str, reason: str = "", **metadata: object) -> None:
    named = {"name": "data", **metadata}
    kind = "PersistentVolumeClaim"
    stage.create({"kind": kind, "metadata": named, "status": {"phase": phase}})
    if reason:
        for told, ago in (("ExternalProvisioning", 5), (reason, 1)):
            said = event("data", told, "no volume", minutes_ago=ago)
            stage.create(said | {"involvedObject": {"kind": kind, "name": "data"}})


@pytest.mark.parametrize(
    ("phase", "reason", "why"),
    [
        ("Pending", "FailedBinding", "is not bound: FailedBinding: no volume"),
        ("Lost", "", "has lost its volume"),
    ],
)
def test_a_pod_that_waits_for_a_claim_names_the_claim(
    stage: Stage, phase: str, reason: str, why: str
) -> None:
    claiming(stage)
    claim(stage, phase, reason)
    waits = f"PersistentVolumeClaim data {why}\n"
    assert f"small-6-x6    <none>   2m    {waits}" in stage.run("explain", "small").out
    near = stage.run("status", "small").out
    assert f"  1. small-6-x6 waits: {waits}" in near
    assert "     fix: kubectl get pvc,storageclass -n default\n" in near


def test_a_claim_that_does_not_exist_is_named(stage: Stage) -> None:
    claiming(stage)
    assert "  PersistentVolumeClaim data does not exist\n" in stage.run("explain", "small").out


@pytest.mark.parametrize(
    ("phase", "reason"), [("Bound", "FailedBinding"), ("Pending", "WaitForFirstConsumer")]
)
def test_a_claim_that_keeps_its_pod_off_no_node_is_not_named(
    stage: Stage, phase: str, reason: str
) -> None:
    claiming(stage)
    claim(stage, phase, reason)
    assert "PersistentVolumeClaim data" not in stage.run("explain", "small").out


@pytest.mark.parametrize("verb", ["explain", "status"])
def test_events_are_listed_per_object_for_a_bounded_number_of_pods(stage: Stage, verb: str) -> None:
    claiming(stage)
    claim(stage, "Pending", "FailedBinding")
    for index in range(7, 40):
        stage.create(pod(stage.job("small"), index, "node-1", phase="Pending", conditions=[]))
    listed: list[str] = []

    class Counting(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            listed.extend([selection.fields] if selection.kind == "Event" else [])
            return super().list(selection)

    stage.wrapped = Counting
    assert "PersistentVolumeClaim data is not bound" in stage.run(verb, "small").out
    named = [one for one in listed if one.startswith("involvedObject.name=")]
    assert [one for one in named if "Pod" not in one] == [
        "involvedObject.name=data,involvedObject.kind=PersistentVolumeClaim"
    ]
    assert (len(named), len(set(named))) == (1 + 10, 1 + 10)
    assert "" not in listed


def test_a_nearly_finished_job_is_not_told_when_it_grows(stage: Stage) -> None:
    stage.create(node("node-3"))
    assert "\nGrows: " in stage.run("explain", "small").out
    stage.patch("small", {"metadata": {"annotations": {contract.PROGRESS: "95"}}})
    out = stage.run("explain", "small").out
    assert "1. nearly finished: it keeps its size\n" in out
    assert "Grows:" not in out


def test_a_work_queue_that_ends_never_grows_and_says_why(stage: Stage) -> None:
    stage.create(node("node-3"))
    stage.patch("small", {"status": {"succeeded": 1, "active": 3}})
    out = stage.run("explain", "small").out
    ends = "a pod of this work queue has succeeded: Kubernetes adds none, and removes none"
    assert f"Reason:      3 pods are left; {ends}\n" in out
    assert "\nGrows:       never\n" in out
    assert f"Why not one more worker (now 3, next 3):\n  1. {ends}\n" in out
    assert "would help" not in out
    found = json.loads(stage.run("explain", "small", "-o", "json").out)
    assert found["estimate"] == {"certainty": "Never", "time": None, "message": ""}
    assert found["roles"][0]["scaleUp"]["blockers"][0]["limitedBy"] == "WorkQueue"


def test_a_failed_mount_is_shown_for_its_pod(stage: Stage) -> None:
    creating = {"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}
    small = stage.job("small")
    made = stage.create(
        pod(small, 6, "node-1", phase="Pending", conditions=[], containerStatuses=[creating])
    )
    text = 'MountVolume.SetUp failed for volume "cfg" : configmap "settings" not found'
    said = event("small-6-x6", "FailedMount", text, minutes_ago=1, warning=True)
    uid = made["metadata"]["uid"]
    involved = {"kind": "Pod", "name": "small-6-x6", "uid": uid}
    stage.create(said | {"involvedObject": involved})
    assert f"  FailedMount: {text}\n" in stage.run("explain", "small").out


def test_the_scale_up_estimate_is_shown_only_if_it_may_be_scaled_up(stage: Stage) -> None:
    assert "\nGrows: " in stage.run("explain", "small").out
    assert stage.run("scale", "small", "6").code == 0
    assert "\nGrows: " not in stage.run("explain", "small").out


def test_no_growth_is_promised_now_while_the_plan_scales_the_role_down(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulation of an estimate requests no nodes, so its first plan may be another one."""
    at_once = Forecast({}, {JobKey("default", "small"): Estimate(Certainty.NOW, NOW)})
    monkeypatch.setattr(read_explanation, "forecast", lambda *_: at_once)
    assert "\nGrows:       now\n" in stage.run("explain", "small").out
    stage.create(node("node-3", cpu="2"))
    out = stage.run("explain", "small").out
    assert re.search(r"^worker +6 +1 ", out, re.MULTILINE)
    assert "\nGrows: " not in out


def test_past_operations_are_shown(stage: Stage) -> None:
    grown = "2026-11-21T11:55:00Z ScaledUp 4 6 idle capacity: 6 of 8 fit"
    stage.patch("small", {"metadata": {"annotations": {contract.HISTORY: grown}}})
    found = stage.run("explain", "small").out
    assert "5m    ScaledUp        worker=4→6   idle capacity: 6 of 8 fit\n" in found


def test_paused_is_the_first_thing_in_the_way(stage: Stage) -> None:
    paused = {"metadata": {"annotations": {contract.PAUSED: "true"}}}
    for role in ("chief", "ps", "worker"):
        stage.patch(f"bert-{role}", paused)
    found = stage.run("explain", "bert").out
    assert "  1. paused\n     would help: kubectl edl resume bert -n default\n" in found
    assert "  2. then the next blocker would be: Insufficient cpu for 1 of 3 worker" in found
    assert "Starts:      unknown: it is paused\n" in found


def test_a_running_job_whose_pause_is_requested_is_to_be_stopped(stage: Stage) -> None:
    """As in `status`, `queue` and `plan`, it does not wait."""
    stage.patch("small", {"metadata": {"annotations": {contract.PAUSED: "true"}}})
    found = stage.run("explain", "small").out
    assert "Phase:       Running\nRequested:   a pause, not carried out yet\n" in found
    assert "Grows:       unknown: its pause is requested\n" in found
    remedy = "kubectl edl resume small -n default"
    assert f"Why small is to be stopped:\n  1. paused\n     would help: {remedy}\n" in found
    assert "small " not in stage.run("queue").out
    assert re.search(r"Suspend +small +worker=6→0 +paused", stage.run("plan").out)


def test_a_pause_names_the_controller_that_suspended_the_job(stage: Stage) -> None:
    controller = "system:serviceaccount:kueue-system:kueue-controller-manager"
    paused = {
        "metadata": {"annotations": {contract.PAUSED: "true", contract.PAUSED_BY: controller}}
    }
    for role in ("chief", "ps", "worker"):
        stage.patch(f"bert-{role}", paused)
    found = stage.run("explain", "bert").out
    assert f"  1. paused: {controller} suspended it\n" in found
    assert "  2. then the next blocker would be: Insufficient cpu" in found


def test_a_paused_incomplete_job_shows_both_blockers(stage: Stage) -> None:
    paused = {"metadata": {"annotations": {contract.PAUSED: "true"}}}
    for role in ("chief", "ps", "worker"):
        stage.patch(f"bert-{role}", paused)
    stage.delete("bert-chief")
    found = stage.run("explain", "bert").out
    assert "  1. paused\n     would help: kubectl edl resume bert -n default\n" in found
    assert "  2. then the next blocker would be: waiting for the Jobs of chief\n" in found
    shown = stage.run("status", "bert").out
    assert "  1. it is paused\n     fix: kubectl edl resume bert -n default\n" in shown
    assert "  2. it waits for its Job bert-chief\n" in shown


def test_without_the_right_to_read_the_cluster_the_job_is_still_shown(stage: Stage) -> None:
    mnist(stage)
    stage.wrapped = fenced("Node")
    found = stage.run("explain", "mnist")
    assert found.code == 0
    assert "Reason:      idle capacity: 4 of 12 fit\n" in found.out
    assert "mnist-worker-3-x3" in found.out
    assert "Decided by" not in found.out
    assert found.err == (
        'hint: what is in its way needs the whole cluster: "ann" may not list Node '
        "(kubectl auth can-i …)\n"
    )
    assert json.loads(stage.run("explain", "mnist", "-o", "json").out)["complete"] is False


def incomplete(*, suspended: bool) -> Stage:
    """Without its chief, whose Job is not there; no other role may grow."""
    stage = Stage()
    stage.create(node("node-1", cpu="16"))
    for manifest in role_manifests(roles="chief=1,ps=2,worker=3")[1:]:
        size = int(manifest["metadata"]["name"] == "mnist-worker") + 2
        made = stage.put(manifest, suspend=suspended, parallelism=size, completions=size)
        if not suspended:
            stage.create(pod(made, 0))
    return stage


def test_an_incomplete_job_names_the_missing_job_and_the_remedy() -> None:
    found = incomplete(suspended=True).run("explain", "mnist").out
    assert "\nchief    0     0      ?     ?     its Job does not exist\n" in found
    assert found.endswith(
        "Why mnist does not start:\n"
        "  1. waiting for the Jobs of chief\n"
        "     would help: applying the Job of chief\n"
    )


def test_a_job_of_one_size_lacks_a_max(stage: Stage) -> None:
    stage.put(job("single", framework="none"), suspend=False, completions=10)
    assert (
        "Why not one more worker (now 1, next 1):\n"
        "  1. worker has one size, 1: no edl.dev/max is above its min\n"
        "     would help: a new Job with a larger edl.dev/max\n"
    ) in stage.run("explain", "single").out


def test_a_running_incomplete_job_names_the_missing_job() -> None:
    stage = incomplete(suspended=False)
    gone = "its Job mnist-chief is gone, and 2 pods cannot complete the training without it"
    way_out = "apply the Job again, or: kubectl edl delete mnist -n default"
    found = stage.run("explain", "mnist").out
    assert found.endswith(f"Blockers:\n  1. {gone}\n     fix: {way_out}\n")
    (blocker,) = json.loads(stage.run("explain", "mnist", "-o", "json").out)["blockers"]
    assert blocker == {"message": gone, "remediation": way_out}


def test_without_the_right_to_read_the_cluster_the_missing_jobs_are_still_named() -> None:
    stage = incomplete(suspended=True)
    stage.wrapped = fenced("Node")
    found = stage.run("explain", "mnist").out
    assert found.endswith(
        "Blockers:\n"
        "  1. it waits for its Job mnist-chief\n"
        "     fix: apply the Job: no role starts without it\n"
    )


def test_explain_names_the_manual_size_that_keeps_a_job_waiting() -> None:
    stage = Stage()
    lease(stage)
    stage.create(node("node-1", cpu="16"))
    pin = stage.put(job("pin", framework="none", min="1", max="7"), suspend=False, parallelism=7)
    for index in range(7):
        stage.create(pod(pin, index))
    stage.patch("pin", {"metadata": {"annotations": {contract.REPLICAS: "7"}}})
    stage.put(job("next", framework="none", min="4", max="4"))
    helps = (
        "Would help:  an automatic size of default/pin: kubectl edl scale pin --auto -n default\n"
    )
    assert helps in stage.run("explain", "next").out
    stage.patch("pin", {"metadata": {"annotations": {contract.REPLICAS: None}}})
    assert "Would help" not in stage.run("explain", "next").out


def test_explain_names_the_preemption_policy_that_keeps_a_job_waiting() -> None:
    stage = Stage()
    lease(stage, '{"limits": {"preempt": true}}')
    stage.create(node("node-1", cpu="16"))
    never = {"kind": "PriorityClass", "metadata": {"name": "high"}, "preemptionPolicy": "Never"}
    stage.create(never | {"value": 1000})
    low = stage.put(job("low", framework="none", min="7", max="7"), suspend=False, parallelism=7)
    for index in range(7):
        stage.create(pod(low, index))
    high = job("high", framework="none", min="4", max="4")
    high["spec"]["template"]["spec"]["priorityClassName"] = "high"
    stage.put(high)
    asks = (
        "Preempts:    only replicas above other jobs' minimum, as the PriorityClass of its pods "
        "has preemptionPolicy: Never; whole jobs would make room for it\n"
    )
    assert asks in stage.run("explain", "high").out


def test_a_job_that_has_ended_has_nothing_in_its_way() -> None:
    stage = Stage()
    lease(stage)
    stage.create(node("node-1", cpu="8"))
    stage.put(job("done", framework="none", min="1", max="2"), suspend=False)
    over = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    stage.patch("done", over)
    found = stage.run("explain", "done").out
    assert "Phase:       Succeeded\n" in found
    assert "Why" not in found


@pytest.mark.parametrize(
    ("end", "why"), [("Complete", "its Job is complete"), ("Failed", "its Job has failed")]
)
def test_the_size_of_a_role_that_has_ended_is_explained_by_its_end(
    stage: Stage, end: str, why: str
) -> None:
    notes = {contract.REASON: "IdleCapacity", contract.MESSAGE: "idle capacity: 6 of 8 fit"}
    over = {"conditions": [{"type": end, "status": "True"}]}
    stage.patch("small", {"metadata": {"annotations": notes}, "status": over})
    (line,) = re.findall(r"^worker .*", stage.run("explain", "small").out, re.MULTILINE)
    assert line.endswith(f"   {why}")


def test_an_unknown_name_is_refused(stage: Stage) -> None:
    found = stage.run("explain", "brt")
    assert found.code == 3
    assert "did you mean bert?" in found.err


def test_a_copy_that_joins_a_waiting_job_is_why_it_does_not_start(stage: Stage) -> None:
    for name in ("copy", "waits"):
        one = job(name, framework="none", min="1", max="12")
        one["metadata"]["labels"][contract.JOB] = "waits"
        stage.put(one)
    assert (
        "Why waits does not start:\n"
        "  1. several Jobs are its worker: copy, waits; delete all but one\n"
    ) in stage.run("explain", "waits").out


def test_a_manual_size_that_is_not_reached_names_its_blocker(stage: Stage) -> None:
    assert "Manual size:" not in stage.run("explain", "small").out
    stage.patch("small", {"metadata": {"annotations": {contract.REPLICAS: "8"}}})
    assert (
        "Manual size: worker=8, 2 short: it is scaled up into idle capacity, and other "
        "jobs give none up for it\n"
    ) in stage.run("explain", "small").out
    stage.patch("small", {"metadata": {"annotations": {contract.REPLICAS: "6"}}})
    assert "Manual size: worker=6\n" in stage.run("explain", "small").out


def test_a_manual_size_over_a_quota_is_not_explained_by_idle_capacity(stage: Stage) -> None:
    for role in ("chief", "ps", "worker"):
        stage.delete(f"bert-{role}")
    full = {"pods": "6"}
    stage.create(quota("pods") | {"spec": {"hard": full}, "status": {"hard": full, "used": full}})
    stage.patch("small", {"metadata": {"annotations": {contract.REPLICAS: "8"}}})
    found = stage.run("explain", "small").out
    assert "Manual size: worker=8, 2 short\n" in found
    assert "Why not one more worker (now 6, next 6):\n" in found
    stage.wrapped = one_namespace()
    assert (
        "Manual size: worker=8, 2 short: it is scaled up into idle capacity within its quotas, and "
        "other jobs give none up for it\n"
    ) in stage.run("explain", "small").out


def test_a_manual_size_of_a_finishing_role_is_not_awaited() -> None:
    """A rank has succeeded, so no free capacity scales the role up."""
    stage = Stage()
    mnist(stage)
    stage.patch("mnist-worker-1-x1", {"status": {"phase": "Succeeded"}}, "Pod")
    ended = "neither scaled up nor restarted: some of its pods have already succeeded"
    scaled = stage.run("scale", "mnist", "6").out
    assert f"(manual; min 1, max 12); it keeps its size, 4: {ended}: kubectl edl" in scaled
    found = stage.run("explain", "mnist").out
    assert "Manual size: worker=6, 2 short\n" in found
    assert found.count(ended) == 1
    stage.wrapped = one_namespace()
    assert f"Manual size: worker=6, 2 short: {ended}\n" in stage.run("explain", "mnist").out


@pytest.mark.parametrize("size", ["2", "4"])
def test_a_job_that_restarts_keeps_its_size_once_a_rank_has_succeeded(size: str) -> None:
    stage = Stage()
    ernie = stage.put(job("ernie", framework="paddle", min="1", max="8"), suspend=False)
    stage.patch("ernie", {"spec": {"parallelism": 3, "completions": 3}})
    stage.create(node("node-1", cpu="64"))
    for index in range(3):
        stage.create(pod(ernie, index, "node-1"))
    stage.patch("ernie-0-x0", {"status": {"phase": "Succeeded"}}, "Pod")
    scaled = stage.run("scale", "ernie", size).out
    assert "it keeps its size, 3: neither scaled up nor restarted" in scaled


def test_why_pods_of_a_started_job_cannot_be_created_is_explained(stage: Stage) -> None:
    """Such as a PriorityClass that was deleted after the start."""
    stage.delete("small-5-x5", "Pod")
    refused = 'pods "small-" is forbidden: no PriorityClass with name high was found'
    stage.create(event("small", "FailedCreate", refused, minutes_ago=1, warning=True))
    found = stage.run("explain", "small").out
    way_out = "create the PriorityClass: kubectl create priorityclass high --value=VALUE"
    assert f"Blockers:\n  1. small: FailedCreate: {refused}\n     fix: {way_out}\n" in found
    (blocker,) = json.loads(stage.run("explain", "small", "-o", "json").out)["blockers"]
    assert blocker == {"message": f"small: FailedCreate: {refused}", "remediation": way_out}
    assert "Grows:       unknown: pods that it lacks cannot be created\n" in found


def test_events_are_not_read_for_a_job_with_all_of_its_pods(stage: Stage) -> None:
    stage.wrapped = fenced("Event")
    assert stage.run("explain", "small").err == ""
    stage.delete("small-5-x5", "Pod")
    assert "why pods cannot be created is missing" in stage.run("explain", "small").err


def test_fewer_replicas_of_a_role_that_is_never_resized_need_a_new_job(stage: Stage) -> None:
    for manifest in role_manifests("wide", "chief=1,ps=40,worker=1..12"):
        stage.put(manifest)
    found = stage.run("explain", "wide").out
    assert "would help: a new Job with fewer ps replicas (" in found
    assert "; these pods were made for 40), or new nodes" in found
    assert "--role ps" not in found


def test_sizes_for_which_the_pods_were_not_made_need_a_new_job(stage: Stage) -> None:
    """The webhook refuses a min below what torchrun waits for, and a max above `injected-max`."""
    stage.put(job("ring", framework="pytorch", min="9", max="12"))
    found = stage.run("explain", "ring").out
    assert "would help: a new Job with fewer worker replicas (" in found
    assert "; these pods were made for 9), or " in found
    new_job = "a new Job with a larger max of worker, as these pods were made for 2\n"
    for name, framework in (("pair", "pytorch"), ("items", "none")):
        manifest = job(name, framework=framework, min="1", max="2")
        ranked = {"completions": 2} if framework == "pytorch" else {}
        ran = stage.put(manifest, suspend=False, parallelism=2, **ranked)
        for index in range(2):
            stage.create(pod(ran, index, f"node-{index + 1}"))
    assert f"would help: {new_job}" in stage.run("explain", "pair").out
    scale = (
        "would help: a larger max of worker: kubectl edl scale {} -n default --role worker --max"
    )
    assert f"{scale.format('items')} 3\n" in stage.run("explain", "items").out
    stage.patch("small", {"metadata": {"labels": {contract.MAX: "6"}}})
    assert f"{scale.format('small')} 7\n" in stage.run("explain", "small").out


def test_a_manual_size_that_does_not_fit_may_be_taken_back(stage: Stage) -> None:
    annotations = {contract.REPLICAS: "12"}
    stage.patch("bert-worker", {"metadata": {"annotations": annotations}})
    stage.patch("bert-ps", {"metadata": {"annotations": {contract.MIN: "1"}}})
    found = stage.run("explain", "bert").out
    assert "would help: no manual size of worker (" in found
    assert ": kubectl edl scale bert -n default --role worker --auto; or " in found


def test_a_job_too_large_for_each_domain_is_offered_what_fits_now() -> None:
    stage = Stage()
    lease(stage)
    for name in ("node-1", "node-2"):
        stage.create(node(name, cpu="8", rack=name))
    wide = job("wide", framework="none", min="6", max="8")
    wide["metadata"]["annotations"] = {contract.REQUIRED_TOPOLOGY: RACK}
    stage.put(wide)
    found = stage.run("explain", "wide").out
    (line,) = (one for one in found.splitlines() if one.startswith("Would help:"))
    assert line.removeprefix("Would help:").strip() == (
        f"a min of 4 for worker, which fits in {RACK}=node-1: kubectl edl scale wide -n default "
        "--role worker --min 4; or its topology as preferred: kubectl annotate job wide "
        f"{contract.REQUIRED_TOPOLOGY}- {contract.PREFERRED_TOPOLOGY}={RACK} -n default"
    )


def test_without_cluster_rights_a_recorded_problem_is_named_as_a_blocker() -> None:
    stage = Stage(wrapped=one_namespace())
    lease(stage)
    stage.put(job("ring", framework="none"))
    problem = "namespace default does not let launchers exec into workers"
    notes = {contract.REASON: Code.EXEC_NOT_ALLOWED.value, contract.MESSAGE: problem}
    stage.patch("ring", {"metadata": {"annotations": notes}})
    found = stage.run("explain", "ring").out
    assert found.endswith(f"\nBlockers:\n  1. {problem}\n")


def test_a_misspelt_topology_label_is_offered_with_its_right_spelling() -> None:
    stage = Stage()
    lease(stage)
    stage.create(node("node-1", cpu="8", rack="r0"))
    wide = job("wide", framework="none", min="2", max="8")
    wide["metadata"]["annotations"] = {contract.REQUIRED_TOPOLOGY: f"worker={RACK[:-2]}k"}
    stage.put(wide)
    command = (
        f"kubectl annotate job wide {contract.REQUIRED_TOPOLOGY}=worker={RACK} --overwrite "
        "-n default"
    )
    found = stage.run("explain", "wide").out
    assert helps(f"its topology with a label that nodes have: {command}") in found


@pytest.mark.parametrize("largest", ["8", "6"])
def test_a_job_too_large_for_a_quota_is_offered_the_min_that_fits(largest: str) -> None:
    stage = Stage()
    lease(stage)
    stage.create(node("node-1", cpu="20"))
    stage.put(job("wide", framework="none", min="6", max=largest))
    hard = {"pods": "5"}
    meta, status = {"name": "team", "namespace": "default"}, {"hard": hard, "used": {"pods": "1"}}
    stage.create(
        {"kind": "ResourceQuota", "metadata": meta, "spec": {"hard": hard}, "status": status}
    )
    scale = "kubectl edl scale wide -n default --role worker --min 4"
    found = stage.run("explain", "wide").out
    smaller = f"a min of 4 for worker, which fits: {scale}"
    assert helps(smaller) in found
    raised = 'ResourceQuota "team" of namespace default raised to pods=7'
    assert f"     would help: {raised}; or {smaller}\n" in found
    explained = json.loads(stage.run("explain", "wide", "-o", "json").out)
    assert explained["start"]["blockers"][0]["remediation"] == f"{raised}; or {smaller}"


def helps(what: str) -> str:
    return f"Would help:  {what}\n"


def test_what_pods_exclude_themselves_from_is_offered_as_a_change_of_their_template() -> None:
    stage = Stage()
    lease(stage)
    tainted = node("gpu-1", cpu="8")
    tainted["spec"] = {"taints": [{"key": "pool", "value": "gpu", "effect": "NoSchedule"}]}
    stage.create(tainted)
    stage.put(job("ring", framework="none", min="1", max="1"))
    found = stage.run("explain", "ring").out
    assert helps("a toleration of pool=gpu:NoSchedule in the pod template of worker") in found
    stage.create(node("node-1", cpu="8"))
    picky = job("picky", framework="none", min="1", max="1")
    picky["spec"]["template"]["spec"]["nodeSelector"] = {"gpu": "a100"}
    stage.put(picky)
    found = stage.run("explain", "picky").out
    assert helps("the pod template of worker without nodeSelector gpu=a100") in found


def test_a_problem_is_printed_once(stage: Stage) -> None:
    """Its sentence is among the blockers: neither the reason nor the start repeats it."""
    other = {"metadata": {"name": "other"}, "value": 5}
    stage.cluster.create(ObjectRef("PriorityClass", "", "other"), other)
    waits = job("waits", framework="none")
    waits["spec"]["template"]["spec"]["priorityClassName"] = "nope"
    stage.put(waits)
    found = stage.run("explain", "waits").out
    assert found.count('PriorityClass "nope" does not exist') == 1
    assert "\nStarts:      unknown\n" in found
    stage.put(job("bad", framework="none", min="9", max="12"))
    stage.patch("bad", {"metadata": {"labels": {contract.MAX: "2"}}})
    assert stage.run("explain", "bad").out.count("min 9 is above max 2") == 1
    for manifest in role_manifests("lacks")[:2]:
        stage.put(manifest)
    stage.put(role_manifests("lacks")[2])
    stage.patch("lacks-worker", {"metadata": {"labels": {contract.MIN: "20"}}})
    assert stage.run("explain", "lacks").out.count("min 20 is above max 12") == 1


def test_a_start_that_the_reason_excludes_does_not_repeat_it(stage: Stage) -> None:
    stage.put(job("tall", framework="none", min="90", max="120"))
    notes = {contract.REASON: "NeverFits", contract.MESSAGE: "Insufficient cpu"}
    stage.patch("tall", {"metadata": {"annotations": notes}})
    found = stage.run("explain", "tall").out
    assert "\nStarts:      never with today's nodes and quotas\n" in found
