import json

import pytest
import yaml

from edl import contract
from edl.model import Code, Reason
from edl.model.causes.reason_subjects import ForeignJob
from edl.steps.preconditioned_patches import last_change_annotations
from tests.kubectl_edl.cluster_wrappers import fenced
from tests.kubectl_edl.stage import Stage, event, job, lease, mnist, node, pod, role_manifests


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    mnist(stage)
    stage.minutes_ago = 2
    for manifest in role_manifests("bert"):
        stage.put(manifest)
    stage.put(job("resnet", framework="none", min="1", max="4"))
    worker = job("hvd-worker", framework="horovod", job="hvd")
    worker["metadata"]["annotations"] = {contract.ROLES: "launcher=1,worker=2..10"}
    stage.put(worker)
    return stage


def test_one_line_a_training_job(stage: Stage) -> None:
    found = stage.run("status")
    assert found.code == 0
    assert found.err == ""
    assert found.out == (
        "NAME     FRAMEWORK    PHASE        ROLES(NOW/MIN..MAX)               PENDING   "
        "MESSAGE                               AGE\n"
        "bert     tensorflow   Queued       chief=0/1,ps=0/2,worker=0/1..12   4         "
        "not yet processed by the reconciler   2m\n"
        "hvd      horovod      Incomplete   worker=0/2..10,launcher=0/?       0         "
        "waiting for the Jobs of launcher      2m\n"
        "mnist    tensorflow   Running      chief=1/1,ps=2/2,worker=4/1..12   1         "
        "idle capacity: 4 of 12 fit            5m\n"
        "resnet   none         Queued       worker=0/1..4                     1         "
        "not yet processed by the reconciler   2m\n"
    )


def test_all_namespaces_put_the_namespace_first(stage: Stage) -> None:
    other = job("other", framework="none", min="1", max="2")
    other["metadata"]["namespace"] = "team"
    stage.put(other)
    lines = stage.run("status", "-A").out.splitlines()
    assert lines[0].startswith("NAMESPACE   NAME ")
    assert lines[-1].split()[:2] == ["team", "other"]


def test_wide_adds_priority_start_and_nodes(stage: Stage) -> None:
    stage.patch(
        "mnist-chief",
        {"metadata": {"annotations": {contract.STARTED_AT: "2026-11-21T11:56:00Z"}}},
    )
    lines = stage.run("status", "-o", "wide").out.splitlines()
    mnist_line = next(line for line in lines if line.startswith("mnist"))
    assert lines[0].split()[4:8] == ["PENDING", "PRIORITY", "STARTED", "NODES"]
    assert mnist_line.split()[4:8] == ["1", "0", "4m", "node-1,node-2"]


def test_a_terminal_of_80_characters_shortens_the_reason(stage: Stage) -> None:
    stage.width = 80
    lines = stage.run("status").out.splitlines()
    assert lines[0].split()[1:3] == ["PHASE", "ROLES(NOW/MIN..MAX)"], "what is spare is left out"
    assert lines[2].endswith("waiting for the J…   2m")


def test_an_empty_namespace_is_named_on_stderr(stage: Stage) -> None:
    found = stage.run("status", "-n", "empty")
    assert found.code == 0
    assert found.out == ""
    assert found.err == "No training jobs found in empty namespace.\n"


def test_a_training_job_in_detail(stage: Stage) -> None:
    stage.create(event("mnist-worker", "Grown", "worker 2 to 4", minutes_ago=1))
    stage.create(event("mnist-chief", "Started", "the gang fits", minutes_ago=4.5))
    stage.create(event("resnet", "Started", "somebody else's", minutes_ago=3))
    assert stage.run("status", "mnist").out == (
        "Name:       mnist\n"
        "Namespace:  default\n"
        "Framework:  tensorflow\n"
        "Phase:      Running\n"
        "Priority:   0\n"
        "Created:    5m ago\n"
        "Started:    not yet\n"
        "Cooldown:   10s after a resize, 3s between scale-ups (the reconciler's default)\n"
        "Reason:     idle capacity: 4 of 12 fit\n"
        "\n"
        "NAME                      STATUS      SIZE                   LAST 5m            "
        "NODE     AGE   MESSAGE\n"
        "mnist                     Running     █████░······ 7/15      ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄   "
        "         5m    idle capacity: 4 of 12 fit\n"
        "├─ chief                  Running     █            1/1\n"
        "│  └─ mnist-chief-0-x0    Running                                               "
        "node-1   5m\n"
        "├─ ps                     Running     ██           2/2\n"
        "│  ├─ mnist-ps-0-x0       Running                                               "
        "node-1   5m\n"
        "│  └─ mnist-ps-1-x1       Running                                               "
        "node-1   5m\n"
        "└─ worker                 1 Pending   ███░········ 4/1..12   ▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃\n"
        "   ├─ mnist-worker-0-x0   Running                                               "
        "node-1   5m\n"
        "   ├─ mnist-worker-1-x1   Running                                               "
        "node-2   5m\n"
        "   ├─ mnist-worker-2-x2   Running                                               "
        "node-1   5m\n"
        "   └─ mnist-worker-3-x3   Pending                                               "
        "         5m    kube-scheduler has not processed it yet\n"
        "\n"
        "LAST SEEN   JOB            REASON    MESSAGE\n"
        "4m30s       mnist-chief    Started   the gang fits\n"
        "60s         mnist-worker   Grown     worker 2 to 4\n"
        "\n"
        "Blockers:\n"
        "  1. mnist-worker-3-x3 waits: kube-scheduler has not processed it yet\n"
        "     fix: kubectl edl explain mnist -n default\n"
    )


def test_changes_of_one_second_keep_their_order(stage: Stage) -> None:
    for reason in ("Suspended", "Started", "Resumed", "SuccessfulCreate"):
        stage.create(event("resnet", reason, "", minutes_ago=1, warning=reason == "Resumed"))
    found = json.loads(stage.run("status", "resnet", "-o", "json").out)["events"]
    assert [one["reason"] for one in found] == ["Suspended", "Started", "Resumed"]
    assert [one["type"] for one in found] == ["Normal", "Normal", "Warning"]


def test_a_job_of_the_listed_roles_finds_its_training_job(stage: Stage) -> None:
    assert stage.run("status", "job/mnist-ps").out == stage.run("status", "mnist").out


def test_a_manual_size_is_shown_with_the_command_to_clear_it(stage: Stage) -> None:
    stage.run("scale", "mnist", "6")
    out = stage.run("status", "mnist").out
    clear = "kubectl edl scale mnist -n default --role worker --auto"
    assert f"Manual:     worker=6 (to clear it: {clear})\n" in out


def test_invalid_labels_are_the_reason(stage: Stage) -> None:
    bad = job("broken", framework="none", min="9", max="2")
    bad["spec"]["suspend"] = True
    stage.create(bad)
    line = next(line for line in stage.run("status").out.splitlines() if line.startswith("broken"))
    assert "min 9 is above max 2" in line


def test_terminating_and_gated_pods_show_their_status(stage: Stage) -> None:
    owner = stage.job("resnet")
    stage.create(pod(owner, 0, phase="Running", conditions=[]))
    gates = (contract.HOSTS_GATE, contract.PLACEMENT_GATE, "example.com/quota")
    for index, names in enumerate((gates[:1], gates, gates[2:]), 4):
        gated = pod(owner, index, "", phase="Pending", conditions=[])
        gated["spec"]["schedulingGates"] = [{"name": name} for name in names]
        stage.create(gated)
    leaving = pod(owner, 2)
    leaving["metadata"]["deletionTimestamp"] = "2026-11-21T11:59:00Z"
    stage.create(leaving)
    stage.create(pod(owner, 3, phase="Succeeded", conditions=[]))
    pods = json.loads(stage.run("status", "resnet", "-o", "json").out)["roles"][0]["pods"]
    assert [one["status"] for one in pods] == [
        "NotReady",
        "Terminating",
        "Succeeded",
        "SchedulingGated",
        "SchedulingGated",
        "SchedulingGated",
    ]


def test_json_and_yaml_say_the_same_in_the_documented_shape(stage: Stage) -> None:
    found = json.loads(stage.run("status", "-o", "json").out)
    assert found == yaml.safe_load(stage.run("status", "-o", "yaml").out)
    assert (found["apiVersion"], found["kind"]) == ("edl.dev/v1alpha1", "TrainingJobList")
    one = found["items"][2]
    assert {key: one[key] for key in one if key not in ("roles", "metadata")} == {
        "apiVersion": "edl.dev/v1alpha1",
        "kind": "TrainingJob",
        "framework": "tensorflow",
        "phase": "Running",
        "reason": "IdleCapacity",
        "message": "idle capacity: 4 of 12 fit",
        "pendingReplicas": 1,
        "priority": 0,
        "paused": False,
        "cooldown": {"periodSeconds": 10, "source": "reconciler"},
        "startTime": None,
        "missingRoles": [],
        "conflictingJobs": [],
    }
    assert one["metadata"] == {
        "name": "mnist",
        "namespace": "default",
        "creationTimestamp": "2026-11-21T11:55:00Z",
    }
    worker = one["roles"][2]
    assert len(worker.pop("pods")) == 4
    assert worker == {
        "name": "worker",
        "jobName": "mnist-worker",
        "replicas": 4,
        "minReplicas": 1,
        "maxReplicas": 12,
        "manualReplicas": None,
        "runningReplicas": 3,
        "pendingReplicas": 1,
        "resizePolicy": "live",
        "result": None,
        "lastScaleTime": None,
        "reason": "IdleCapacity",
        "message": "idle capacity: 4 of 12 fit",
    }


def test_names_are_for_other_commands(stage: Stage) -> None:
    names = stage.run("status", "-o", "name").out.splitlines()
    mnist = [f"job.batch/mnist-{role}" for role in ("chief", "ps", "worker")]
    assert [name for name in names if "mnist" in name] == mnist
    assert stage.run("status", mnist[0]).out == stage.run("status", "mnist").out


def test_a_selector_selects_whole_training_jobs(stage: Stage) -> None:
    stage.patch("mnist-ps", {"metadata": {"labels": {"team": "vision"}}})
    found = json.loads(stage.run("status", "-l", "team=vision", "-o", "json").out)
    assert [one["metadata"]["name"] for one in found["items"]] == ["mnist"]
    assert len(found["items"][0]["roles"]) == 3


def test_without_the_right_to_list_pods_the_jobs_are_shown_with_a_hint(stage: Stage) -> None:
    stage.wrapped = fenced("Pod", "PriorityClass", "Node", "Event")
    found = stage.run("status")
    assert found.code == 0
    assert "mnist    tensorflow   Starting" in found.out
    assert found.err == (
        "hint: without its pods, a started job is shown as Starting: "
        '"ann" may not list Pod (kubectl auth can-i …)\n'
    )
    detail = stage.run("status", "mnist")
    assert "hint: the last changes are missing" in detail.err


def test_a_missing_right_on_priorities_is_a_hint_only_if_one_is_used(stage: Stage) -> None:
    stage.wrapped = fenced("PriorityClass")
    assert stage.run("status").err == ""
    manifest = job("urgent", framework="none", min="1", max="2")
    manifest["spec"]["template"]["spec"]["priorityClassName"] = "high"
    stage.put(manifest)
    found = stage.run("status")
    assert "hint: priorities of queued jobs are assumed to be 0" in found.err
    assert "no PriorityClass" not in found.out
    owner = stage.patch("urgent", {"spec": {"suspend": False}})
    running = pod(owner, 0)
    running["spec"]["priority"] = 1000
    stage.create(running)
    found = stage.run("status", "urgent", "-o", "json")
    assert (json.loads(found.out)["priority"], found.err) == (1000, "")


def test_all_namespaces_name_the_job_that_got_the_capacity(stage: Stage) -> None:
    owner = job("urgent", framework="none", min="1", max="2")
    owner["metadata"]["namespace"] = "team"
    uid = stage.put(owner)["metadata"]["uid"]
    last = Reason(Code.RECLAIMED, ForeignJob(uid))
    stage.patch("mnist-worker", {"metadata": {"annotations": last_change_annotations(last)}})
    assert "to make room for a job of another namespace" in stage.run("status").out
    assert "to make room for team/urgent" in stage.run("status", "-A").out


def test_a_missing_right_to_list_jobs_is_named(stage: Stage) -> None:
    stage.wrapped = fenced("Job")
    found = stage.run("status")
    assert found.code == 1
    assert found.err == 'error: "ann" may not list Job (kubectl auth can-i …)\n'


def test_a_pod_without_a_node_of_the_plan_is_in_the_way(stage: Stage) -> None:
    gated = pod(stage.job("resnet"), 1, "", phase="Pending", conditions=[])
    gated["spec"]["schedulingGates"] = [{"name": contract.PLACEMENT_GATE}]
    stage.create(gated)
    out = stage.run("status", "resnet").out
    assert "waits: scheduling-gated until every pod of its gang has a node" in out
    assert "kubectl edl explain resnet" in out


def test_a_pod_of_another_scheduler_waits_for_that_one(stage: Stage) -> None:
    waiting = pod(stage.job("resnet"), 1, "", phase="Pending", conditions=[])
    waiting["spec"]["schedulerName"] = "volcano"
    stage.create(waiting)
    blockers = stage.run("status", "resnet").out.split("Blockers:\n")[1]
    assert '1-x1 waits: scheduler "volcano" has not processed it yet\n     fix: run sch' in blockers
    was_gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
    stage.patch("resnet-1-x1", {"status": {"conditions": [was_gated]}}, kind="Pod")
    assert stage.run("status", "resnet").out.split("Blockers:\n")[1] == blockers
    refused = {"type": "PodScheduled", "status": "False", "message": "queue is full"}
    stage.patch("resnet-1-x1", {"status": {"conditions": [refused]}}, kind="Pod")
    blockers = stage.run("status", "resnet").out.split("Blockers:\n")[1]
    assert "waits: queue is full\n     fix: kubectl edl explain" in blockers


def _fails(stage: Stage, job: str, reason: str, message: str) -> None:
    condition = {
        "type": "Failed",
        "status": "True",
        "lastTransitionTime": "2026-11-21T11:59:00Z",
        "reason": reason,
        "message": message,
    }
    stage.patch(job, {"status": {"conditions": [condition]}})


def test_a_failed_job_quotes_its_condition(stage: Stage) -> None:
    late = "Job was active longer than specified deadline"
    _fails(stage, "resnet", "DeadlineExceeded", late)
    assert stage.run("status", "resnet").out.endswith(
        f"Blockers:\n  1. resnet has failed: DeadlineExceeded: {late}\n"
        "     fix: delete its Jobs and apply them with a longer activeDeadlineSeconds\n"
    )
    assert f"has failed: DeadlineExceeded: {late}" in stage.run("history", "resnet").out


def test_a_failed_job_does_not_say_that_its_minimum_fits(stage: Stage) -> None:
    started = {contract.REASON: "Admitted", contract.MESSAGE: "the pod of its minimum fits"}
    stage.patch("resnet", {"metadata": {"annotations": started}})
    assert "the pod of its minimum fits" in stage.run("status", "resnet").out
    _fails(stage, "resnet", "BackoffLimitExceeded", "Job has reached its backoff limit")
    for command in (["status"], ["status", "resnet"], ["explain", "resnet"]):
        found = stage.run(*command)
        assert (found.code, "fits" in found.out) == (0, False)
    (role,) = json.loads(stage.run("status", "resnet", "-o", "json").out)["roles"]
    assert (role["reason"], role["message"]) == ("Failed", "its Job has failed")


def test_roles_that_run_on_after_the_end_are_listed(stage: Stage) -> None:
    at = "2026-11-21T11:30:00Z"
    complete = {"type": "Complete", "status": "True", "lastTransitionTime": at}
    stage.patch("mnist-chief", {"status": {"conditions": [complete]}})
    out = stage.run("status", "mnist").out
    assert "it ended 30m ago, but these roles still run: ps, worker" in out


def test_the_failure_of_the_role_that_failed_first_is_quoted(stage: Stage) -> None:
    for ended in ("mnist-chief", "mnist-ps"):
        stage.patch(ended, {"spec": {"activeDeadlineSeconds": 0}})
        _fails(stage, ended, "DeadlineExceeded", "Job was active longer than …")
    _fails(stage, "mnist-worker", "BackoffLimitExceeded", "Job has reached its backoff limit")
    out = stage.run("status", "mnist").out
    assert "1. mnist has failed: BackoffLimitExceeded: Job has reached its backoff limit\n" in out
    assert "fix: kubectl edl logs mnist -n default shows why; delete its Jobs" in out


def test_a_long_autoscaler_message_is_truncated_only_in_the_table() -> None:
    stage = Stage()
    told = "no node pool can take these pods: " + "incompatible requirements, " * 20
    notes = {contract.REASON: "NodesNotProvisioned", contract.MESSAGE: told}
    stage.put(job("resnet", framework="none", min="1", max="4"))
    stage.patch("resnet", {"metadata": {"annotations": notes}})
    (_, line) = stage.run("status").out.splitlines()
    assert len(line) < 260
    assert "…" in line
    assert told.strip() in stage.run("status", "-o", "wide").out
    (one,) = json.loads(stage.run("status", "-o", "json").out)["items"]
    assert told.strip() in json.dumps(one)
    assert told.strip() in " ".join(stage.run("status", "resnet").out.split())


def test_several_names_are_listed() -> None:
    stage = Stage()
    for name in ("bert", "norec", "sweep"):
        stage.put(job(name, framework="none", min="1", max="1"))
    found = stage.run("status", "sweep", "bert", "-o", "json")
    assert [one["metadata"]["name"] for one in json.loads(found.out)["items"]] == ["bert", "sweep"]
    missing = stage.run("status", "bert", "swee")
    assert (missing.code, missing.out) == (3, "")
    assert "did you mean sweep?" in missing.err


def test_a_deleted_node_under_pods_of_the_job_is_named(stage: Stage) -> None:
    for name in ("node-1", "node-2"):
        stage.create(node(name))
    reports = [stage.run(command, "mnist").out for command in ("status", "explain")]
    assert not any("does not exist any longer" in report for report in reports)
    stage.delete("node-1", "Node")
    for command in ("status", "explain"):
        (line,) = [
            line
            for line in stage.run(command, "mnist").out.splitlines()
            if "node node-1 of" in line
        ]
        assert line.endswith(
            " does not exist any longer: pod garbage collection deletes them within about a "
            "minute, and the Job controller then replaces them"
        )


def test_requests_that_no_reconciler_carries_out_are_shown(stage: Stage) -> None:
    """Before a suspended Job says so, only the annotations have the requests."""
    for name, requested in (
        ("mnist-worker", {contract.REPLICAS: "6", contract.PAUSED: "true"}),
        ("mnist-chief", {contract.PAUSED: "true"}),
        ("mnist-ps", {contract.PAUSED: "true"}),
    ):
        stage.patch(name, {"metadata": {"annotations": requested}})
    out = stage.run("status", "mnist").out
    assert "Requested:  a pause, not carried out yet\n" in out
    assert "no reconciler is running" not in out
    lease(stage, minutes_ago=1)
    assert (
        "  1. no reconciler is running (Lease edl-system/edl-reconciler was renewed 60s ago): the "
        "pause and the manual size worker=6 are not carried out\n     fix: kubectl edl doctor\n"
    ) in stage.run("status", "mnist").out
