"""Checks of training jobs that cannot go on."""

import json
from datetime import timedelta

import pytest

from edl import contract, reasons
from edl.annotations.json_text import json_text
from edl.writes import Json
from tests.kubectl_edl.cluster_wrappers import fenced, one_namespace
from tests.kubectl_edl.doctor.fake_installation import FakeApi
from tests.kubectl_edl.doctor.findings import checked, only
from tests.kubectl_edl.stage import NOW, Stage, job, mnist, node, pod, quota, role_manifests


def test_a_list_of_roles_with_a_missing_role_is_stuck(stage: Stage) -> None:
    stage.put(role_manifests()[0])
    (one,) = checked(stage)["stuck"]
    assert one["message"] == "default/mnist: it waits for its Jobs mnist-ps, mnist-worker"
    assert one["remediation"] == "apply the Jobs: no role starts without them"


@pytest.mark.parametrize("created", ["2026-11-21T11:55:00Z", "2026-11-21T11:59:50Z"])
def test_a_running_job_whose_chief_was_deleted_is_stuck(stage: Stage, created: str) -> None:
    mnist(stage)
    for name in ("mnist-ps", "mnist-worker"):
        stage.patch(name, {"metadata": {"creationTimestamp": created}})
    stage.delete("mnist-chief")
    (one,) = checked(stage)["stuck"]
    assert (one["result"], one["message"], one["remediation"]) == (
        "warning",
        (
            "default/mnist: its Job mnist-chief is gone, and 5 pods cannot complete the training "
            "without it"
        ),
        "apply the Job again, or: kubectl edl delete mnist -n default",
    )


def test_a_user_of_one_namespace_gets_commands_that_stay_in_it(
    stage: Stage, server: FakeApi
) -> None:
    for number in range(11):
        stage.put(role_manifests(f"mnist-{number}")[0])
        stage.put(job(f"slip-{number}", framwork="none"))
    assert checked(stage)["stuck"][-1]["remediation"] == "kubectl edl status -A"
    inside = one_namespace()
    stage.wrapped = lambda cluster: inside(server(cluster))
    found = checked(stage)
    assert found["stuck"][-1]["remediation"] == "kubectl edl status -n default"
    assert found["keys"][-1]["remediation"] == "kubectl get jobs -n default --show-labels"


def test_commands_stay_in_a_namespace_whose_training_jobs_may_not_be_read(
    stage: Stage, server: FakeApi
) -> None:
    for number in range(11):
        metadata = {"name": f"nightly-{number}", "labels": {contract.FRAMEWORK: "none"}}
        stage.create({"kind": "CronJob", "metadata": metadata, "spec": {}})
    inside, fence = one_namespace(), fenced("Job")
    stage.wrapped = lambda cluster: inside(fence(server(cluster)))
    found = checked(stage)
    assert found["stuck"][0]["message"].startswith("not checked: ")
    assert found["cronjobs"][-1]["remediation"] == "kubectl get cronjobs -n default"


def test_a_queued_job_without_a_running_reconciler_is_a_failure(stage: Stage) -> None:
    stage.put(job("sweep", framework="none"))
    (one,) = checked(stage)["stuck"]
    assert (one["result"], one["remediation"]) == (
        "failure",
        "kubectl logs -n edl-system -l app.kubernetes.io/name=edl-reconciler --tail 50",
    )
    assert "has been queued for 5m, and no reconciler has processed it" in one["message"]


def test_a_gang_that_is_half_started_is_a_failure(stage: Stage) -> None:
    stage.minutes_ago = 30
    mnist(stage)
    started = (NOW - timedelta(minutes=20)).isoformat()
    for name in ("mnist-chief", "mnist-ps", "mnist-worker"):
        stage.patch(name, {"metadata": {"annotations": {contract.STARTED_AT: started}}})
    stage.patch("mnist-worker", {"spec": {"suspend": True}})
    (one,) = checked(stage)["stuck"]
    assert one["result"] == "failure"
    assert one["message"] == "default/mnist: it is half started: worker still suspended after 20m"


def test_lost_pods_of_a_minimum_are_a_warning_whatever_the_back_off_and_the_age(
    stage: Stage,
) -> None:
    """A job that has run for long does not start: its pods are missing, and none is unready."""
    stage.put(job("half", framework="none"), suspend=False)
    started = (NOW - timedelta(minutes=28)).isoformat()
    notes = {contract.FAILURES_AT_START: "0", contract.STARTED_AT: started}
    stage.patch("half", {"metadata": {"annotations": notes}, "status": {"failed": 1}})
    (one,) = checked(stage)["stuck"]
    assert (one["result"], one["remediation"]) == ("warning", "kubectl edl events half -n default")
    assert one["message"] == (
        "default/half: 1 of 1 pods of its minimum is missing: the Job controller creates it again "
        "after its back-off, up to 10 s"
    )
    blockers = json.loads(stage.run("status", "half", "-o", "json").out)["blockers"]
    assert [f"default/half: {blocker['message']}" for blocker in blockers] == [one["message"]]


def test_a_lowered_quota_that_refuses_lost_pods_comes_before_their_back_off(stage: Stage) -> None:
    owner = stage.put(job("half", framework="none", max="3"), suspend=False, parallelism=3)
    stage.create(pod(owner, 0))
    began = (NOW - timedelta(hours=1)).isoformat()
    notes = {contract.FAILURES_AT_START: "0", contract.STARTED_AT: began}
    stage.patch("half", {"metadata": {"annotations": notes}, "status": {"failed": 9}})
    lowered = quota("requests.cpu")
    lowered["status"] = {"hard": {"requests.cpu": "1"}, "used": {"requests.cpu": "2"}}
    stage.create(lowered)
    compute = 'ResourceQuota "compute" of namespace default'
    assert only(stage, "stuck") == (
        "warning",
        (
            f"default/half: exceeded {compute}, requested: requests.cpu=4, limited: "
            "requests.cpu=1, never allowed: requests.cpu=4; used: requests.cpu=2"
        ),
        f"raise {compute} to requests.cpu=6, or: kubectl edl scale half -n default SIZE",
    )


@pytest.mark.parametrize(("failures", "result"), [(4, "ok"), (5, "warning")])
def test_lost_extras_are_a_warning_only_if_they_are_missing_for_long(
    stage: Stage, failures: int, result: str
) -> None:
    owner = stage.put(job("half", framework="none", max="3"), suspend=False, parallelism=3)
    stage.create(pod(owner, 0))
    notes = {contract.FAILURES_AT_START: "0", contract.STARTED_AT: NOW.isoformat()}
    stage.patch("half", {"metadata": {"annotations": notes}, "status": {"failed": failures}})
    (one,) = checked(stage)["stuck"]
    assert one["result"] == result
    lacks = "default/half: 2 of 3 pods are missing: "
    assert one["message"].startswith(lacks) == (result == "warning")


def test_a_job_below_its_raised_minimum_is_a_warning_and_does_not_count_as_running(
    stage: Stage,
) -> None:
    owner = stage.put(job("half", framework="none", min="1", max="8"), suspend=False)
    stage.create(pod(owner, 0))
    assert json.loads(stage.run("status", "half", "-o", "json").out)["phase"] == "Running"
    since = (NOW - timedelta(hours=1)).isoformat()
    raised = {"labels": {contract.MIN: "3"}, "annotations": {contract.BELOW_MIN_SINCE: since}}
    stage.patch("half", {"metadata": raised})
    (one,) = checked(stage)["stuck"]
    assert (one["result"], one["message"]) == ("warning", "default/half: 2 below its minimum")
    shown = json.loads(stage.run("status", "half", "-o", "json").out)
    assert (shown["phase"], shown["reason"]) == ("Starting", "BelowMin")


@pytest.mark.parametrize(("seconds", "result"), [(100, "ok"), (130, "warning")])
def test_a_minimum_that_was_raised_a_moment_ago_raises_no_warning_yet(
    stage: Stage, seconds: int, result: str
) -> None:
    owner = stage.put(job("half", framework="none", min="3", max="8"), suspend=False)
    stage.create(pod(owner, 0))
    since = (NOW - timedelta(seconds=seconds)).isoformat()
    ours = {  # the reconciler writes with one manager, whatever it writes
        "manager": "kubectl-edl",
        "time": NOW.isoformat(),
        "fieldsV1": {"f:metadata": {"f:labels": {f"f:{contract.MIN}": {}}}},
    }
    notes = {contract.BELOW_MIN_SINCE: since}
    stage.patch("half", {"metadata": {"managedFields": [ours], "annotations": notes}})
    (one,) = checked(stage)["stuck"]
    assert one["result"] == result


def _started_long_ago(stage: Stage, name: str, minutes: int = 20) -> Json:
    """A Job with two pods, started 20 minutes ago."""
    owner = stage.put(job(name, framework="none", min="2", max="2"), suspend=False, parallelism=2)
    started = (NOW - timedelta(minutes=minutes)).isoformat()
    stage.patch(name, {"metadata": {"annotations": {contract.STARTED_AT: started}}})
    return owner


def test_a_start_that_takes_too_long_is_a_warning(stage: Stage) -> None:
    stage.minutes_ago = 20
    owner = _started_long_ago(stage, "slow")
    stage.create(pod(owner, 0))
    stage.create(pod(owner, 1, node="", phase="Pending", conditions=[]))
    (one,) = checked(stage)["stuck"]
    assert (one["result"], one["message"], one["remediation"]) == (
        "warning",
        (
            "default/slow: it does not run 20m after its start: 1 of 2 pods of its minimum is not "
            "ready"
        ),
        "kubectl describe pods -n default -l edl.dev/job=slow",
    )


def test_pods_whose_image_cannot_be_pulled_are_stuck(stage: Stage) -> None:
    stage.minutes_ago = 1
    owner = _started_long_ago(stage, "slow", minutes=1)
    waits = {"reason": "ImagePullBackOff", "message": "no such image"}
    status = {"name": "main", "state": {"waiting": waits}}
    for index in range(2):
        stage.create(pod(owner, index, phase="Pending", conditions=[], containerStatuses=[status]))
    assert only(stage, "stuck") == (
        "warning",
        "default/slow: 2 pods wait: container main: ImagePullBackOff: no such image",
        (
            "is the image's name right, and may this cluster pull it? "
            "kubectl describe pod slow-0-x0 -n default"
        ),
    )


def test_a_launcher_that_cannot_pull_kubectls_image_has_a_remedy_of_its_own(stage: Stage) -> None:
    stage.minutes_ago = 1
    owner = _started_long_ago(stage, "ring", minutes=1)
    status = {
        "name": contract.KUBECTL_CONTAINER,
        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "unauthorized"}},
    }
    stage.create(pod(owner, 0, phase="Pending", conditions=[], initContainerStatuses=[status]))
    _, problem, remedy = only(stage, "stuck")
    assert problem == (
        "default/ring: ring-0-x0 waits: container edl-kubectl: ImagePullBackOff: unauthorized"
    )
    assert "launchers copy kubectl from this image" in remedy
    assert "launcherImage" in remedy
    assert remedy.endswith(": kubectl describe pod ring-0-x0 -n default")


@pytest.mark.parametrize(("account", "named"), [("ring-peers", True), ("team", False)])
def test_pods_of_a_generated_account_hear_that_it_has_no_pull_credentials(
    stage: Stage, account: str, *, named: bool
) -> None:
    stage.minutes_ago = 1
    owner = _started_long_ago(stage, "ring", minutes=1)
    by = {"spec": {"template": {"spec": {"serviceAccountName": account}}}}
    stage.patch("ring", by)
    status = {"name": "main", "state": {"waiting": {"reason": "ErrImagePull"}}}
    stage.create(pod(owner, 0, phase="Pending", conditions=[], containerStatuses=[status]))
    _, _, remedy = only(stage, "stuck")
    assert ("The pod runs as ring-peers, which has no imagePullSecrets" in remedy) is named
    assert remedy.endswith("kubectl describe pod ring-0-x0 -n default")


def test_pods_that_were_never_created_have_nothing_to_describe(stage: Stage) -> None:
    _started_long_ago(stage, "slow")
    (one,) = checked(stage)["stuck"]
    assert (one["message"], one["remediation"]) == (
        (
            "default/slow: it does not run 20m after its start: 2 of 2 pods of its minimum are not "
            "ready"
        ),
        "kubectl edl explain slow -n default",
    )


def test_a_pod_that_was_replaced_a_moment_ago_raises_no_warning_yet(stage: Stage) -> None:
    owner = _started_long_ago(stage, "fast")
    stage.create(pod(owner, 0))
    stage.create(pod(owner, 1, node="", phase="Pending", conditions=[]))
    assert only(stage, "stuck")[0] == "ok"


def test_a_start_whose_pods_are_replaced_again_and_again_is_a_warning(stage: Stage) -> None:
    owner = _started_long_ago(stage, "crashes", minutes=30)
    stage.create(pod(owner, 0))
    stage.create(pod(owner, 1, node="", phase="Pending", conditions=[]))
    verdict, message, _ = only(stage, "stuck")
    assert verdict == "warning"
    assert message.startswith("default/crashes: it does not run 30m after its start: 1 of 2 pods")


def test_labels_that_make_no_sense_are_a_warning(stage: Stage) -> None:
    stage.create(job("odd", framework="caffe"))
    (one,) = checked(stage)["stuck"]
    assert one["result"] == "warning"
    assert one["message"].startswith("default/odd: ")
    assert one["remediation"].startswith("correct its file and apply it again; ")


def test_a_problem_whose_message_says_what_to_do_has_no_other_fix(stage: Stage) -> None:
    chief, ps, worker = role_manifests()
    ps["metadata"]["annotations"][contract.ROLES] = "chief=1,ps=3,worker=1..12"
    for manifest in (chief, ps, worker):
        stage.put(manifest)
    (one,) = checked(stage)["stuck"]
    assert one["message"].endswith(": recreate them with the same")
    assert one["remediation"] == ""


def test_a_gang_that_would_not_fit_an_empty_cluster_is_named(stage: Stage) -> None:
    stage.create(node("node-1", cpu="16"))
    big = job("big", framework="none", min="9", max="9")
    small = job("small", framework="none")
    big["spec"]["parallelism"] = 9
    stage.put(big)
    stage.put(small)
    (one,) = checked(stage)["never"]
    assert one["result"] == "warning"
    assert one["message"].startswith("default/big cannot start on the present nodes and quotas: ")
    assert one["remediation"] == "kubectl edl explain big -n default"


def test_a_pending_pod_of_another_owner_that_no_node_holds_is_named(stage: Stage) -> None:
    """No job scales down for it; a pod that fits beside training jobs is not named."""
    stage.create(node("node-1", cpu="16"))
    for name, cpu in (("large", "32"), ("web", "8")):
        requests = {"requests": {"cpu": cpu}}
        spec = {"containers": [{"name": "main", "image": "web", "resources": requests}]}
        metadata = {"name": name, "namespace": "lab"}
        waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        status = {"phase": "Pending", "conditions": [waits]}
        stage.create({"kind": "Pod", "metadata": metadata, "spec": spec, "status": status})
    _, found = checked(stage)["never"]
    assert found["result"] == "warning"
    assert found["remediation"] == "kubectl describe pod large -n lab"
    assert found["message"] == (
        "the pending pod lab/large fits no node, even if no training job ran: no job scales down "
        "for it"
    )


def test_a_pending_pod_with_more_rules_than_plans_follow_is_named(stage: Stage) -> None:
    stage.create(node("node-1", cpu="16"))
    spec: Json = {"containers": [{"name": "c"}], "tolerations": [{"operator": "Exists"}] * 999}
    for namespace in ("lab", "web"):
        metadata = {"name": "many", "namespace": namespace}
        body = {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
        stage.create(body)
    (_, found) = checked(stage, "-n", "lab")["never"]
    assert (found["result"], found["remediation"]) == (
        *("warning", "kubectl describe pod many -n lab"),
    )
    assert found["message"] == (
        "the pending pod lab/many has 999 tolerations in spec.tolerations, of which plans follow "
        "at most 128: no job scales down for it"
    )


def test_a_pending_pod_of_the_named_namespace_is_named_beside_others_like_it(stage: Stage) -> None:
    """Pods of several namespaces with the same requests are one demand."""
    stage.create(node("node-1", cpu="16"))
    for namespace in ("archive", "lab"):
        requests = {"requests": {"cpu": "32"}}
        spec = {"containers": [{"name": "main", "image": "web", "resources": requests}]}
        waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        status = {"phase": "Pending", "conditions": [waits]}
        metadata = {"name": "large", "namespace": namespace}
        stage.create({"kind": "Pod", "metadata": metadata, "spec": spec, "status": status})
    for namespace in ("archive", "lab"):
        _, found = checked(stage, "-n", namespace)["never"]
        assert found["remediation"] == f"kubectl describe pod large -n {namespace}"
    assert len(checked(stage, "-n", "other")["never"]) == 1


def test_a_job_that_is_suspended_for_a_restart_counts_as_queued(stage: Stage) -> None:
    stage.create(node("node-1", cpu="16"))
    stage.put(job("trains", framework="paddle", min="1", max="2"))
    last = json_text(reasons.restart(reasons.grown(1, 2)))
    stage.patch("trains", {"metadata": {"annotations": {contract.LAST_CHANGE: last}}})
    assert "Scaling" in stage.run("status").out
    suffice = "the present nodes and quotas suffice for the queued job"
    assert only(stage, "never")[:2] == ("ok", suffice)


def test_jobs_that_wait_for_other_jobs_pass(stage: Stage) -> None:
    stage.create(node("node-1", cpu="16"))
    for name in ("one", "two", "three"):
        manifest = job(name, framework="none", min="7", max="7")
        manifest["spec"]["parallelism"] = 7
        stage.put(manifest)
    assert only(stage, "never")[:2] == (
        "ok",
        "the present nodes and quotas suffice for each of the 3 queued jobs",
    )


def test_a_job_that_follows_the_pods_of_another_one_passes(stage: Stage) -> None:
    """The other job's pods are what it has affinity to, and what it waits for."""
    stage.create(node("node-1", cpu="16"))
    leader, follower = (job(name, framework="none", max="7") for name in ("leader", "follower"))
    for manifest, size in ((leader, 7), (follower, 2)):
        manifest["spec"]["parallelism"] = size
        manifest["spec"]["template"]["metadata"] = {"labels": {"app": manifest["metadata"]["name"]}}
    term = {
        "labelSelector": {"matchLabels": {"app": "leader"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    follower["spec"]["template"]["spec"]["affinity"] = {"podAffinity": required}
    running = stage.put(leader, suspend=False)
    for index in range(7):
        stage.create(pod(running, index))
    stage.put(follower)
    assert only(stage, "never")[:2] == (
        "ok",
        "the present nodes and quotas suffice for the queued job",
    )
