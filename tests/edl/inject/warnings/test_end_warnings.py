"""Workers whose first success ends all of them, though no launcher may end them together."""

import pytest

from edl.writes import Json
from tests.edl.manifests import create, created, job, pod, role_manifest

TORCHRUN = ["torchrun", "/app/train.py"]
PLAIN = ["python", "/app/train.py"]
TRAINER: Json = {"name": "main", "image": "pytorch"}
LOGS: Json = {"name": "logs", "image": "busybox", "command": ["tail", "-f"]}
FIRST = {"rules": [{"succeededIndexes": "0"}]}


def warnings(manifest: Json) -> list[str]:
    return [text for text in create(manifest).warnings if "exits with 0" in text]


def elastic(*command: str, most: str = "4", **spec: Json) -> Json:
    container = {"name": "main", "image": "pytorch", "command": list(command)}
    pods = {"containers": [container]}
    return job(framework="pytorch", min="2", max=most, spec=spec, pod=pods)


@pytest.mark.parametrize("command", [PLAIN, ["bash", "-c", "accelerate launch train.py"]])
def test_a_program_that_torchrun_may_not_start_is_told_when_its_workers_end(
    command: list[str],
) -> None:
    manifest = elastic(*command)
    (warning,) = warnings(manifest)
    assert warning == (
        "edl.dev/max: the first worker that exits with 0 completes the training, because "
        "those of torchrun end together: if it does not start this program, write "
        'successPolicy: {rules: [{succeededIndexes: "0"}]}, or edl.dev/min and edl.dev/max alike'
    )
    assert len(warning) <= 256, "the API server cuts longer"
    assert warnings(created(manifest)) == [], "it was warned about before"


@pytest.mark.parametrize(
    "command",
    [
        TORCHRUN,
        ["python3", "-m", "torch.distributed.run", "train.py"],
        ["bash", "-c", "cd /app && torchrun train.py"],
    ],
)
def test_the_workers_of_torchruns_agents_end_together(command: list[str]) -> None:
    assert warnings(elastic(*command)) == []


@pytest.mark.parametrize(
    "manifest",
    [
        elastic(*PLAIN, most="2"),
        elastic(*PLAIN, successPolicy=FIRST),
        job(framework="pytorch", min="2", max="4"),
        job(framework="pytorch", min="2", max="4", pod={"containers": [TRAINER, LOGS]}),
        role_manifest("trainer", "master=1,trainer=1..2", framework="paddle"),
        pod(framework="pytorch", job="mnist", annotations={"rank": "0", "size": "2"}),
    ],
    ids=["fixed", "own policy", "unknown program", "sidecar", "paddle", "bare"],
)
def test_workers_that_no_other_ends_need_no_warning(manifest: Json) -> None:
    assert warnings(manifest) == []
