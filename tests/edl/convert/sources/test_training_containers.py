"""Operators know the training container by its name, at any position; the webhook is told it."""

from collections.abc import Mapping

import pytest

from edl import contract
from edl.contract.manifest_parts import annotations
from edl.writes import Json
from tests.edl.convert.documents import admitted, jobs, only

SOURCES = {
    "TFJob": ("tfReplicaSpecs", "tensorflow", "tfjob-port", 2222),
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch", "pytorchjob-port", 23456),
    "PaddleJob": ("paddleReplicaSpecs", "paddle", "master", 6170),
    "MXJob": ("mxReplicaSpecs", "mxnet", "mxjob-port", 9091),
}


def two_containers(
    kind: str, *order: str, notes: Mapping[str, str] | None = None, **pod: object
) -> Json:
    """A training job whose containers are called `order`; TRAINING is the one that trains."""
    roles, name, port, number = SOURCES[kind]
    ports = [{"name": port, "containerPort": number}]
    named: dict[str, Json] = {"TRAINING": {"name": name, "image": "train", "ports": ports}}
    containers = [named.get(one, {"name": one, "image": "log"}) for one in order]
    template: Json = {"spec": {"containers": containers} | pod}
    if notes is not None:
        template = {"metadata": {"annotations": dict(notes)}} | template
    spec: Json = {roles: {"Worker": {"replicas": 1, "template": template}}}
    spec |= {"jobMode": "local"} if kind == "MXJob" else {}
    version = "kubeflow.org/v1"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "fit"}, "spec": spec}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("pod", [{}, {"hostNetwork": True}])
def test_a_training_container_behind_a_sidecar_is_the_one_that_is_completed(
    kind: str, pod: Json
) -> None:
    job = only(jobs(two_containers(kind, "logger", "TRAINING", **pod)))
    logger, training = admitted(job)["spec"]["template"]["spec"]["containers"]
    assert annotations(job["spec"]["template"]) == {contract.DEFAULT_CONTAINER: SOURCES[kind][1]}
    assert [port["containerPort"] for port in training["ports"]] == [SOURCES[kind][3]]
    assert "ports" not in logger


@pytest.mark.parametrize("kind", SOURCES)
def test_the_first_container_needs_no_annotation(kind: str) -> None:
    job = only(jobs(two_containers(kind, "TRAINING", "logger")))
    assert "metadata" not in job["spec"]["template"]


@pytest.mark.parametrize("order", [("logger", "TRAINING"), ("TRAINING", "logger")])
def test_an_annotation_of_another_container_is_replaced_and_reported(
    order: tuple[str, ...],
) -> None:
    notes = {"team": "rec", contract.DEFAULT_CONTAINER: "logger"}
    found = jobs(two_containers("TFJob", *order, notes=notes))
    assert annotations(only(found)["spec"]["template"]) == {
        "team": "rec",
        contract.DEFAULT_CONTAINER: "tensorflow",
    }
    assert ["logger" in remark.what for remark in found.notes] == [True]


def test_an_annotation_that_agrees_stays_without_a_word() -> None:
    notes = {contract.DEFAULT_CONTAINER: "tensorflow", "team": "rec"}
    found = jobs(two_containers("TFJob", "logger", "TRAINING", notes=notes))
    assert annotations(only(found)["spec"]["template"]) == notes
    assert found.notes == ()


def test_a_container_without_a_name_is_not_reported_as_annotated() -> None:
    fit = two_containers("TFJob", "", "TRAINING")
    fit["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["name"] = None
    assert jobs(fit).notes == ()


def test_without_a_container_of_that_name_nothing_is_annotated() -> None:
    found = jobs(two_containers("TFJob", "logger", "other"))
    assert "metadata" not in only(found)["spec"]["template"]
