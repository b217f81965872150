"""Devices that a program leaves idle: no launcher starts it, or one that knows no number."""

from typing import Any

import pytest

from edl.writes import Json
from tests.edl.manifests import create, created, job, pod, role_manifest

WARNING = (
    "edl.dev/gpu: a program that paddle.distributed.launch does not start uses one of the 4 GPUs "
    "of its pod: start it by python3 -m paddle.distributed.launch, or ask for 1 and for 4 times as "
    "many pods"
)
LAUNCHED = ["python3", "-m", "paddle.distributed.launch", "/app/train.py"]


def warnings(manifest: Json) -> tuple[str, ...]:
    return tuple(text for text in create(manifest).warnings if "does not start" in text)


def collective(**fields: Any) -> Json:  # noqa: ANN401 - JSON
    return job(framework="paddle", min="1", max="2", **fields)


def test_a_collective_trainer_of_paddle_uses_one_gpu() -> None:
    manifest = collective(gpu="4")
    assert warnings(manifest) == (WARNING,)
    assert warnings(created(manifest)) == (), "it was warned about before"
    assert warnings(collective(gpu="1")) == ()


def test_gpus_of_a_container_of_the_users_own_are_counted() -> None:
    limits = {"resources": {"limits": {"nvidia.com/gpu": "4"}}}
    containers = [{"name": "paddle", "image": "p"} | limits]
    assert warnings(collective(pod={"containers": containers})) == (WARNING,)


def test_a_bare_trainer_uses_one_gpu_too() -> None:
    bare = pod("mnist-0", framework="paddle", job="mnist", role="trainer", gpu="4")
    bare["metadata"]["annotations"] = {
        "edl.dev/roles": "trainer=2",
        "edl.dev/rank": "0",
        "edl.dev/mode": "collective",
    }
    assert warnings(bare) == (WARNING,)


@pytest.mark.parametrize("command", [LAUNCHED, ["sh", "-c", "fleetrun /app/train.py"]])
def test_a_launcher_starts_a_process_for_each_gpu(command: list[str]) -> None:
    container = {"name": "paddle", "image": "p", "command": command[:1], "args": command[1:]}
    assert warnings(collective(gpu="4", pod={"containers": [container]})) == ()


def test_a_mode_of_launchers_needs_no_warning() -> None:
    manifest = role_manifest("trainer", "master=1,trainer=1..2", framework="paddle", gpu="4")
    assert warnings(manifest) == ()


def several(framework: str, role: str = "", **fields: Any) -> list[str]:  # noqa: ANN401 - JSON
    """Warnings for a pod with eight AMD GPUs; those of several roles are a gang."""
    resources = {"limits": fields.pop("limits", {"amd.com/gpu": "8"})}
    container = {"name": "main", "image": "rocm", "resources": resources} | fields.pop("own", {})
    fields |= {"framework": framework, "pod": {"containers": [container]}}
    lists = {"horovod": "launcher=1,worker=2..4", "paddle": "master=1,trainer=1..2"}
    manifest = (
        role_manifest(role, lists[framework], **fields) if role else job(min="1", max="2", **fields)
    )
    return [text for text in create(manifest).warnings if "edl.dev/slots" in text]


SLOTS = (
    "edl.dev/slots: one process starts in each pod, and has 8 amd.com/gpu: if these are GPUs, set "
    "the annotation to the number of processes"
)


@pytest.mark.parametrize(
    ("framework", "role"), [("pytorch", ""), ("horovod", "worker"), ("paddle", "trainer")]
)
def test_one_process_beside_several_devices_is_told(framework: str, role: str) -> None:
    assert several(framework, role) == [SLOTS]


@pytest.mark.parametrize(
    ("framework", "fields"),
    [
        ("pytorch", {"annotations": {"slots": "1"}}),
        ("pytorch", {"gpu": "2"}),
        ("pytorch", {"limits": {"nvidia.com/gpu": "8", "rdma/hca": "8"}}),
        ("pytorch", {"limits": {"amd.com/gpu": "1"}}),
        ("pytorch", {"own": {"command": ["torchrun", "--nproc_per_node=8", "train.py"]}}),
        ("pytorch", {"own": {"env": [{"name": "PET_NPROC_PER_NODE", "value": "8"}]}}),
        ("horovod", {"role": "launcher"}),
        ("tensorflow", {}),
        ("none", {}),
    ],
    ids=["own", "label", "nvidia", "one", "option", "variable", "launcher", "tensorflow", "none"],
)
def test_devices_that_all_have_a_process_need_no_warning(framework: str, fields: Json) -> None:
    assert several(framework, **fields) == []
