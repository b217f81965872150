"""Variables of users' own by which launchers would not meet."""

import pytest

from edl.writes import Json
from tests.edl.manifests import create, created, job, role_manifest

LAUNCHED = ["python3", "-m", "paddle.distributed.launch", "/app/train.py"]
POD_IP: Json = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
NODES: Json = {"name": "PADDLE_NNODES", "value": "1"}
DATA: Json = {"name": "DATA", "value": "/data"}


def warnings(manifest: Json) -> list[str]:
    return [text for text in create(manifest).warnings if "meet" in text]


def container(*env: Json, command: list[str] = LAUNCHED) -> Json:
    return {"name": "paddle", "image": "p", "command": command, "env": list(env)}


def collective(*containers: Json) -> Json:
    pod = {"containers": list(containers)}
    return job(framework="paddle", min="1", max="2", gpu="1", pod=pod)


def test_a_launcher_with_an_address_of_the_users_own_is_warned_of() -> None:
    manifest = collective(container(NODES, DATA, POD_IP))
    (warning,) = warnings(manifest)
    assert warning == (
        "env POD_IP, PADDLE_NNODES: with other values than kubectl-edl's, "
        "paddle.distributed.launch does not meet its peers: leave out what sets them"
    )
    assert warnings(created(manifest)) == [], "it was warned about before"


@pytest.mark.parametrize(
    "manifest",
    [
        collective(container(DATA)),
        collective(container(POD_IP, command=["python3", "train.py"])),
        collective(container(), container(POD_IP, command=["tail"]) | {"name": "logs"}),
        role_manifest(
            "trainer",
            "master=1,trainer=1..2",
            framework="paddle",
            pod={"containers": [container(POD_IP)]},
        ),
    ],
    ids=["another variable", "no launcher", "beside the launcher", "elastic"],
)
def test_variables_by_which_no_launcher_meets_others_are_the_users(manifest: Json) -> None:
    assert warnings(manifest) == []
