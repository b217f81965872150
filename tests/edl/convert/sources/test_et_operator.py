"""et-operator's TrainingJob, ScaleIn and ScaleOut."""

import pytest

from edl import contract
from edl.writes import Json
from tests.edl.convert.documents import by_role, jobs, paths, replica

API = "kai.alibabacloud.com/v1alpha1"


def training_job(worker: Json | None = None, **spec: object) -> Json:
    bounds = {"minReplicas": 1, "maxReplicas": 9}
    specs = {"launcher": replica("main"), "worker": replica("main", 2) | bounds | (worker or {})}
    return {
        "apiVersion": API,
        "kind": "TrainingJob",
        "metadata": {"name": "elastic"},
        "spec": {"etReplicaSpecs": specs} | spec,
    }


def scale(kind: str, **spec: object) -> Json:
    return {
        "apiVersion": API,
        "kind": kind,
        "metadata": {"name": "one", "namespace": "lab"},
        "spec": {"selector": {"name": "elastic"}} | spec,
    }


def said(document: Json) -> str:
    """What is to be run."""
    found = jobs(document)
    assert found.manifests == ()
    (remark,) = found.dropped
    return remark.instead


def test_bounds_are_the_workers() -> None:
    found = jobs(training_job())
    worker = by_role(found)["worker"]
    assert worker["metadata"]["annotations"][contract.ROLES] == "launcher=1,worker=1..9"
    assert worker["metadata"]["labels"][contract.MAX] == "9"
    assert worker["spec"]["parallelism"] == 2
    assert found.dropped == ()


def test_growth_without_an_end_is_bounded_and_said_to_be() -> None:
    found = jobs(training_job({"maxReplicas": None}))
    assert by_role(found)["worker"]["metadata"]["labels"][contract.MAX] == "2"
    assert found.dropped == ()
    assert any("maxReplicas was absent" in str(note) for note in found.notes)


@pytest.mark.parametrize(("attach", "mode"), [(None, "ssh"), ("ssh", "ssh"), ("kubexec", None)])
def test_workers_are_reached_by_ssh_unless_said(attach: str | None, mode: str | None) -> None:
    found = by_role(jobs(training_job(launcherAttachMode=attach)))
    assert found["launcher"]["metadata"]["annotations"].get(contract.MODE) == mode


def test_slots_are_said() -> None:
    worker = by_role(jobs(training_job(slotsPerWorker=4)))["worker"]
    assert worker["metadata"]["annotations"][contract.SLOTS] == "4"


@pytest.mark.parametrize(
    ("spec", "restart", "limit"),
    [
        ({}, "Never", 0),
        ({"restartPolicy": "OnFailure"}, "OnFailure", 6),
        ({"restartPolicy": "OnFailure", "backoffLimit": 2}, "OnFailure", 2),
    ],
)
def test_a_launcher_is_tried_again_where_the_training_job_is(
    spec: Json, restart: str, limit: int
) -> None:
    job = by_role(jobs(training_job(**spec)))["launcher"]["spec"]
    assert job["template"]["spec"]["restartPolicy"] == restart
    assert job["backoffLimit"] == limit


def test_a_suspended_job_is_paused() -> None:
    document = training_job()
    document["metadata"]["annotations"] = {"job-supervisor.kube-ai.io/job-suspended": "true"}
    job = by_role(jobs(document))["launcher"]
    assert job["metadata"]["annotations"][contract.PAUSED] == "true"


def test_a_secret_of_ones_own_is_named() -> None:
    document = training_job()
    document["metadata"]["annotations"] = {"arena.kubeflow.org/ssh-secret": "mine"}
    assert paths(jobs(document)) == ["metadata.annotations[arena.kubeflow.org/ssh-secret]"]


def test_aiacc_is_known_by_its_images() -> None:
    worker = {"template": {"spec": {"containers": [{"name": "main", "image": "perseus:1"}]}}}
    job = by_role(jobs(training_job(worker)))["launcher"]
    assert job["metadata"]["labels"][contract.FRAMEWORK] == "aiacc"


def test_scaling_out_is_a_command() -> None:
    text = said(scale("ScaleOut", toAdd={"count": 3}))
    assert text == (
        "run: kubectl edl scale elastic -n lab SIZE --timeout 60s "
        "(where SIZE is 3 more than it has now: kubectl edl status elastic -n lab)"
    )


def test_scaling_in_by_count_is_a_command() -> None:
    text = said(scale("ScaleIn", toDelete={"count": 2}, backoffLimit=1))
    assert "kubectl edl scale elastic -n lab SIZE (where SIZE is 2 less" in text


def test_scaling_in_by_name_names_the_workers() -> None:
    names = ["elastic-worker-1", "elastic-worker-3"]
    text = said(scale("ScaleIn", toDelete={"podNames": names}))
    assert text == (
        "run: kubectl edl scale elastic -n lab --remove elastic-worker-1,elastic-worker-3"
    )


@pytest.mark.parametrize("gone", [{"count": 1}, {"podNames": ["elastic-worker-1"]}])
def test_the_time_that_a_script_has_before_workers_leave_goes_with_the_command(
    gone: Json,
) -> None:
    text = said(scale("ScaleIn", toDelete=gone, timeout=300, script="/leave.sh"))
    assert "--timeout 300s --script /leave.sh" in text
    assert "--timeout" not in said(scale("ScaleIn", toDelete=gone, timeout=300))


@pytest.mark.parametrize("end", ["ScaleSucceeded", "ScaleFailed"])
@pytest.mark.parametrize("kind", ["ScaleIn", "ScaleOut"])
def test_an_operation_that_has_ended_is_history(kind: str, end: str) -> None:
    conditions = [{"type": end, "status": "True"}]
    for status in ({"phase": end}, {"phase": "Scaling", "conditions": conditions}):
        found = jobs(scale(kind) | {"status": status})
        assert (found.manifests, found.dropped) == ((), ())
        assert end in str(found.notes[-1])
    for status in ({"phase": "Scaling"}, {"phase": "ScriptExecuted"}):
        assert "run: kubectl edl" in said(scale(kind) | {"status": status})


def test_a_training_job_that_was_scaled_runs_on() -> None:
    status = {"phase": "Running", "conditions": [{"type": "ScaleSucceeded", "status": "True"}]}
    assert not any("ended" in str(note) for note in jobs(training_job() | {"status": status}).notes)


def test_a_script_goes_with_the_command() -> None:
    env = [{"name": "A", "value": "b c"}]
    text = said(scale("ScaleOut", timeout=300, script="/run me.sh", env=env))
    assert "SIZE --timeout 300s --script '/run me.sh' --env 'A=b c'" in text
