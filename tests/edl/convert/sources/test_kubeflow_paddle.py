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


def test_launchers_get_the_rendezvous_and_their_own_name() -> None:
    assert env(only(jobs(paddlejob()))) == {
        "PYTHONUNBUFFERED": "1",
        "PADDLE_JOB_NAMESPACE": "metadata.namespace",
        "POD_IP": "ernie-$(JOB_COMPLETION_INDEX).ernie.$(PADDLE_JOB_NAMESPACE).svc",
        "PADDLE_JOB_ID": "ernie",
        "PADDLE_MASTER": "ernie-0.ernie.$(PADDLE_JOB_NAMESPACE).svc:6170",
        "PADDLE_NNODES": "$(PADDLE_TRAINERS_NUM)",
    }


def test_a_launcher_finds_its_own_name_among_the_trainers() -> None:
    # It keeps the store if what POD_IP says is the host of the first of PADDLE_TRAINER_ENDPOINTS.
    document = paddlejob()
    document["metadata"]["namespace"] = "lab"
    said = env(admitted(only(jobs(document))))
    own = f"{said['POD_IP']}:6170".replace("$(PADDLE_JOB_NAMESPACE)", "lab")
    assert own == said["PADDLE_CURRENT_ENDPOINT"]
    assert said["PADDLE_MASTER"].replace("$(PADDLE_JOB_NAMESPACE)", "lab") == own.replace(
        "$(JOB_COMPLETION_INDEX)", "0"
    )


def test_what_a_variable_refers_to_stands_before_it() -> None:
    names = list(env(admitted(only(jobs(paddlejob())))))
    for name in ("JOB_COMPLETION_INDEX", "PADDLE_JOB_NAMESPACE"):
        assert names.index(name) < names.index("POD_IP")
    assert names.index("PADDLE_TRAINERS_NUM") < names.index("PADDLE_NNODES")


@pytest.mark.parametrize("own", ["PADDLE_DISTRI_BACKEND", "TRAINING_ROLE"])
def test_an_override_leaves_the_number_of_trainers_before_what_refers_to_it(own: str) -> None:
    document = with_container(env=[{"name": own, "value": "x"}])
    names = list(env(admitted(only(jobs(document)))))
    assert names.index("PADDLE_TRAINERS_NUM") < names.index("PADDLE_NNODES")


def test_the_number_of_launchers_follows_an_overridden_number_of_trainers() -> None:
    document = with_container(env=[{"name": "PADDLE_TRAINERS_NUM", "value": "2"}])
    names = list(env(only(jobs(document))))
    assert names.index("PADDLE_TRAINERS_NUM") < names.index("PADDLE_NNODES")


def test_the_port_that_the_template_names_is_everybodys() -> None:
    job = only(jobs(with_container(ports=[{"name": "master", "containerPort": 37777}])))
    assert job["metadata"]["annotations"] == {contract.PORT: "37777"}
    assert env(job)["PADDLE_MASTER"].endswith(".svc:37777")


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


def test_the_users_own_variables_win_and_one_that_misleads_is_named() -> None:
    own = [{"name": "POD_IP", "value": "10.0.0.1"}, {"name": "PADDLE_JOB_ID", "value": "mine"}]
    found = jobs(with_container(env=own))
    said = env(only(found))
    assert (said["POD_IP"], said["PADDLE_JOB_ID"]) == ("10.0.0.1", "mine")
    assert paths(found) == ["spec.paddleReplicaSpecs.Worker.template"]
    assert "its own POD_IP hides" in found.dropped[0].what


@pytest.mark.parametrize(
    "specs", [None, {}, [], "all", {"Worker": {"replicas": 0}}, {"Trainer": replica("paddle")}]
)
def test_without_workers_there_is_nothing_to_convert(specs: object) -> None:
    with pytest.raises(Malformed, match=r"paddleReplicaSpecs"):
        convert(paddlejob(paddleReplicaSpecs=specs))
