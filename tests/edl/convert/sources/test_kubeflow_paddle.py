"""Kubeflow's PaddleJob."""

import pytest

from edl import contract
from edl.convert import convert
from edl.convert.diagnostics import Malformed
from edl.model import ResizePolicy
from edl.parsing.parser import parse
from edl.spec.job_spec import UNLIMITED
from edl.writes import Json
from tests.edl.convert.documents import admitted, jobs, only, paths, replica


def paddlejob(workers: Json | None = None, **spec: object) -> Json:
    specs = {"Worker": workers or replica("paddle", 2)}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": "ernie"},
        "spec": {"paddleReplicaSpecs": specs} | spec,
    }


def with_container(**fields: object) -> Json:
    workers = replica("paddle", 2)
    workers["template"]["spec"]["containers"][0] |= fields
    return paddlejob(workers)


def env(job: Json) -> dict[str, str]:
    """Values by name; of a variable from elsewhere its path."""
    container = job["spec"]["template"]["spec"]["containers"][0]
    return {
        entry["name"]: entry["value"]
        if "value" in entry
        else entry["valueFrom"]["fieldRef"]["fieldPath"]
        for entry in container.get("env", ())
    }


def test_workers_are_trainers_of_one_job_in_mode_collective() -> None:
    found = jobs(paddlejob())
    job = only(found)
    assert job["metadata"] == {"name": "ernie", "labels": {contract.FRAMEWORK: "paddle"}}
    assert (job["spec"]["parallelism"], job["spec"]["backoffLimit"]) == (2, UNLIMITED)
    spec = parse(admitted(job))
    assert (spec.role, spec.mode, spec.port) == ("trainer", "collective", 6170)
    assert (found.dropped, found.notes) == ((), ())


def test_launchers_get_the_rendezvous_and_their_own_name_from_the_webhook() -> None:
    """The first one keeps the store: its POD_IP is the master's host."""
    document = paddlejob()
    document["metadata"]["namespace"] = "lab"
    job = only(jobs(document))
    assert env(job) == {"PYTHONUNBUFFERED": "1"}
    stored = env(admitted(job))
    assert stored["PADDLE_JOB_ID"] == "ernie"
    assert stored["PADDLE_NNODES"] == stored["PADDLE_TRAINERS_NUM"]
    first = stored["POD_IP"].replace("$(JOB_COMPLETION_INDEX)", "0")
    assert stored["PADDLE_MASTER"] == f"{first}:6170"


def test_the_port_that_the_template_names_is_everybodys() -> None:
    job = only(jobs(with_container(ports=[{"name": "master", "containerPort": 37777}])))
    assert job["metadata"]["annotations"] == {contract.PORT: "37777"}
    assert env(admitted(job))["PADDLE_MASTER"].endswith(".svc:37777")


def test_an_elastic_policy_becomes_bounds() -> None:
    found = jobs(paddlejob(elasticPolicy={"minReplicas": 1, "maxReplicas": 4}))
    job = only(found)
    assert (job["metadata"]["labels"][contract.MIN], job["metadata"]["labels"][contract.MAX]) == (
        "1",
        "4",
    )
    assert parse(job).scaling.resizing is ResizePolicy.RESTART
    assert found.dropped == ()


def test_a_limit_that_was_never_counted_is_a_note_and_metrics_are_dropped() -> None:
    policy = {"minReplicas": 1, "maxReplicas": 4, "maxRestarts": 9, "metrics": [{"type": "Pods"}]}
    found = jobs(paddlejob(elasticPolicy=policy))
    assert paths(found) == ["spec.elasticPolicy.metrics"]
    (note,) = found.notes
    assert str(note).startswith("spec.elasticPolicy.maxRestarts: it was never counted")


def test_a_run_policy_is_the_jobs() -> None:
    policy = {"backoffLimit": 3, "ttlSecondsAfterFinished": 60, "cleanPodPolicy": "All"}
    job = only(jobs(paddlejob(runPolicy=policy)))
    assert (job["spec"]["backoffLimit"], job["spec"]["ttlSecondsAfterFinished"]) == (3, 60)
    assert job["metadata"]["annotations"] == {contract.CLEAN_UP: "All"}


def test_the_users_own_variables_win_but_for_one_that_misleads() -> None:
    own = [{"name": "POD_IP", "value": "10.0.0.1"}, {"name": "PADDLE_JOB_ID", "value": "mine"}]
    found = jobs(with_container(env=own))
    said = env(only(found))
    assert ("POD_IP" in said, said["PADDLE_JOB_ID"]) == (False, "mine")
    assert env(admitted(only(found)))["POD_IP"].startswith("ernie-$(")
    assert paths(found) == ["spec.paddleReplicaSpecs.Worker.template"]
    assert "its own POD_IP is left out" in found.dropped[0].what
    assert jobs(with_container(env=own[1:])).dropped == ()


@pytest.mark.parametrize(
    "specs", [None, {}, [], "all", {"Worker": {"replicas": 0}}, {"Trainer": replica("paddle")}]
)
def test_without_workers_there_is_nothing_to_convert(specs: object) -> None:
    with pytest.raises(Malformed, match=r"paddleReplicaSpecs"):
        convert(paddlejob(paddleReplicaSpecs=specs))
