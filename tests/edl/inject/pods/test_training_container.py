"""A pod's annotation names the container that trains, where others precede it."""

import pytest

from edl import contract
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl.manifests import create, created, job, pod, pod_spec, role_manifest

SHIPPER: Json = {"name": "logs", "image": "fluent-bit"}


def annotated(manifest: Json, name: str = "train") -> Json:
    """The manifest with a container of logs, and the training's container behind it."""
    part = manifest["spec"].get("template", manifest)
    (container,) = part["spec"]["containers"]
    part["spec"]["containers"] = [SHIPPER, container | {"name": "train"}, SHIPPER | {"name": "b"}]
    notes = part["metadata"].get("annotations") or {}
    part["metadata"]["annotations"] = notes | {contract.DEFAULT_CONTAINER: name}
    return manifest


def containers(manifest: Json) -> dict[str, Json]:
    stored = created(manifest)
    assert created(stored) == stored
    return {one["name"]: one for one in pod_spec(stored)["containers"]}


@pytest.mark.parametrize("gpu_class", [{}, {"gpu-class": "h100"}])
def test_whole_gpus_go_to_the_training_container(gpu_class: Json) -> None:
    found = containers(annotated(job(framework="pytorch", gpu="2", annotations=gpu_class)))
    assert list(found) == ["logs", "train", "b"]
    assert [name for name, one in found.items() if one.get("resources")] == ["train"]


def test_a_bare_pod_has_a_training_container_too() -> None:
    found = containers(annotated(pod(framework="none", gpu="1")))
    assert found["train"]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert "resources" not in found["logs"]


@pytest.mark.parametrize(
    ("role", "roles", "framework", "field"),
    [
        ("rendezvous", "rendezvous=1,worker=2..4", "pytorch", "command"),
        ("rendezvous", "rendezvous=1,worker=2..4", "pytorch", "ports"),
        ("worker", "launcher=1,worker=2..4", "horovod", "command"),
        ("trainer", "master=1,trainer=1..2", "paddle", "lifecycle"),
    ],
)
def test_what_belongs_to_the_training_is_in_its_container(
    role: str, roles: str, framework: str, field: str
) -> None:
    found = containers(annotated(role_manifest(role, roles, framework=framework)))
    assert [name for name, one in found.items() if one.get(field)] == ["train"]


def test_a_container_of_the_framework_stays_behind_the_users() -> None:
    roles = "master=1,pserver=1,trainer=1..2"
    manifest = role_manifest("master", roles, framework="paddle", annotations={"mode": "cloud"})
    found = containers(annotated(manifest))
    assert list(found) == ["logs", "train", "b", "etcd"]
    assert "command" not in found["logs"]


@pytest.mark.parametrize("name", ["nothing", ""])
def test_the_first_container_trains_if_none_has_the_name(name: str) -> None:
    found = containers(annotated(job(framework="pytorch", gpu="2"), name))
    assert [key for key, one in found.items() if one.get("resources")] == ["logs"]


def test_a_pod_without_containers_is_left_to_the_api_server() -> None:
    manifest = job(framework="pytorch", pod={"containers": []})
    manifest["spec"]["template"]["metadata"] = {"annotations": {contract.DEFAULT_CONTAINER: "a"}}
    assert pod_spec(create(manifest).manifest)["containers"] == []


def test_threads_are_the_cpus_of_the_training_container() -> None:
    cpus = {"resources": {"requests": {"cpu": "3500m"}}}
    fields = {"containers": [{"name": "train", "image": "paddle"} | cpus]}
    roles = "master=1,pserver=1,trainer=1..2"
    manifest = role_manifest(
        "trainer", roles, framework="paddle", annotations={"mode": "cloud"}, pod=fields
    )
    assert parse(annotated(manifest)).resources.slots == 4
