"""GPUs that a program which no launcher starts leaves idle."""

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
