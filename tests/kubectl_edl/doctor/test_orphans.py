"""Checks of objects whose Job is gone."""

import json
from datetime import timedelta

from edl import contract
from edl.writes import Json
from tests.kubectl_edl.doctor.findings import checked, only
from tests.kubectl_edl.stage import NOW, Stage, job


def test_leftovers_are_counted_beyond_the_first_ten_and_owners_of_other_kinds_exist(
    stage: Stage,
) -> None:
    ours = {contract.JOB: "gone", "app.kubernetes.io/managed-by": contract.MANAGED_BY}
    for number in range(12):
        metadata = {"name": f"gone-{number:02}", "labels": ours}
        stage.create({"kind": "Service", "metadata": metadata})
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "a", "uid": "1"}
    owned = {"name": "of-a-tfjob", "labels": ours, "ownerReferences": [owner]}
    stage.create({"kind": "Service", "metadata": owned})
    found = json.loads(stage.run("doctor", "-o", "json").out)["checks"]
    said = [one["message"] for one in found if one["name"] == "leftovers"]
    assert said[:2] == [
        f"Service default/gone-0{n} is orphaned: its Job no longer exists" for n in (0, 1)
    ]
    assert said[10:] == ["and 2 more like them"]
    kinds = "services,poddisruptionbudgets,serviceaccounts,rolebindings"
    selector = "edl.dev/job,app.kubernetes.io/managed-by=kubectl-edl"
    for args, where in (((), "-A"), (("-n", "default"), "-n default")):
        rest = checked(stage, *args)["leftovers"][-1]["remediation"]
        assert rest == f"kubectl get {kinds} {where} -l '{selector}'"


def test_orphans_of_deleted_jobs_are_named(stage: Stage) -> None:
    for name in ("gone", "here"):
        manifest = stage.put(job(name, framework="none"))
        reference = {"kind": "Job", "name": name, "uid": manifest["metadata"]["uid"]}
        stage.create(
            {
                "kind": "Service",
                "metadata": {
                    "name": name,
                    "labels": {
                        contract.JOB: name,
                        "app.kubernetes.io/managed-by": contract.MANAGED_BY,
                    },
                    "ownerReferences": [reference],
                },
            }
        )
    stage.delete("gone")
    assert only(stage, "leftovers") == (
        "warning",
        "Service default/gone is orphaned: its Job no longer exists",
        "kubectl delete services gone -n default",
    )


def left_service(name: str) -> Json:
    """The Service of a job that `kubectl delete --cascade=orphan` has left without owner."""
    labels = {contract.JOB: name, "app.kubernetes.io/managed-by": contract.MANAGED_BY}
    return {"kind": "Service", "metadata": {"name": name, "labels": labels}}


def test_objects_without_owner_belong_to_a_job_of_their_name(
    stage: Stage,
) -> None:
    stage.create(left_service("again"))
    assert only(stage, "leftovers")[0] == "warning"
    stage.put(job("again", framework="none"))
    assert only(stage, "leftovers")[0] == "ok"


def test_pods_that_run_without_their_job_are_named(stage: Stage) -> None:
    """Another Job of the name may run: its own pods, ended and terminating ones are let be.

    The garbage collector is about to delete a pod that still names its deleted Job. A new pod is
    named at once: nothing deletes it, nor adopts it.
    """
    present = stage.put(job("again", framework="none"))["metadata"]["uid"]
    labels = {contract.FRAMEWORK: "none", contract.JOB: "again"}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "again", "uid": "left"}
    stage.minutes_ago = 1
    for name, uid, fields, phase in (
        ("again-0-old", "gone", {}, "Running"),
        ("again-1-old", "gone", {}, "Pending"),
        ("again-2-old", "gone", {}, "Succeeded"),
        ("again-3-old", "gone", {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "Running"),
        ("again-4-old", "left", {"ownerReferences": [owner]}, "Running"),
        ("again-0-new", present, {}, "Running"),
        ("bare", None, {}, "Running"),
    ):
        own = labels | ({"batch.kubernetes.io/controller-uid": uid} if uid else {})
        manifest = {"kind": "Pod", "metadata": {"name": name, "labels": own, **fields}}
        stage.create(manifest | {"spec": {"containers": []}, "status": {"phase": phase}})
    verdict, what, fix = only(stage, "leftovers")
    assert verdict == "warning"
    assert what == (
        "pods of default/again keep running without their Job, which was deleted: again-0-old, "
        "again-1-old"
    )
    assert fix == "kubectl delete pods -l batch.kubernetes.io/controller-uid=gone -n default"


def test_the_rest_of_many_pods_without_their_job_is_listed_by_a_command_for_pods(
    stage: Stage,
) -> None:
    for number in range(12):
        uid = {"batch.kubernetes.io/controller-uid": f"gone-{number:02}"}
        labels = {contract.FRAMEWORK: "none", contract.JOB: f"gone-{number:02}"} | uid
        manifest = {"kind": "Pod", "metadata": {"name": f"left-{number:02}", "labels": labels}}
        stage.create(manifest | {"spec": {"containers": []}, "status": {"phase": "Running"}})
    stage.create(left_service("gone-00"))
    service, *pods = checked(stage)["leftovers"]
    assert service["message"].startswith("Service default/gone-00 ")
    assert (len(pods), pods[-1]["message"]) == (11, "and 2 more like them")
    selector = "edl.dev/framework,batch.kubernetes.io/controller-uid"
    assert pods[-1]["remediation"] == f"kubectl get pods -A -l '{selector}'"


def test_a_deleted_job_that_a_finalizer_holds_is_named(stage: Stage) -> None:
    for name, minutes, finalizers in (
        ("held", 3, ["foregroundDeletion", "acme.io/report"]),
        ("waits", 3, ["foregroundDeletion"]),
        ("fresh", 1, ["acme.io/report"]),
    ):
        manifest = job(name, framework="none")
        deleted = (NOW - timedelta(minutes=minutes)).isoformat()
        manifest["metadata"] |= {"deletionTimestamp": deleted, "finalizers": finalizers}
        stage.create(manifest)
    held, waits = checked(stage)["deleted"]
    assert held["message"] == (
        "Job default/held was deleted 3m ago, but no controller has removed acme.io/report from "
        "its finalizers: its pods keep their capacity until then"
    )
    assert held["remediation"] == (
        "if the controller that set it is gone: kubectl patch job held -n default --type=merge -p "
        """'{"metadata":{"finalizers":null}}'"""
    )
    assert waits["message"] == (
        "Job default/waits was deleted 3m ago, but objects that it owns do not terminate"
    )
    uid = stage.job("waits")["metadata"]["uid"]
    assert waits["remediation"] == (
        f"kubectl describe pods -l batch.kubernetes.io/controller-uid={uid} -n default"
    )
