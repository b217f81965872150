"""Key pairs of mode ssh in pods that cannot use them."""

import pytest

from edl.writes import Json
from tests.edl.manifests import create, created, horovod

GROUP = (
    "securityContext.fsGroup: Kubernetes lets that group read the key pair of the training job, "
    "and ssh refuses such a key: leave it out, or use mode kubexec"
)
USER = (
    "securityContext: only root may read the key pair of the training job, and start sshd: run "
    "this launcher as root, or use mode kubexec"
)


def warnings(manifest: Json) -> list[str]:
    return [text for text in create(manifest).warnings if "key pair" in text]


def ssh(role: str, context: Json, mode: str = "ssh", **container: Json | list[Json]) -> Json:
    containers = [{"name": "main", "image": "horovod"} | container]
    fields = {"securityContext": context, "containers": containers}
    return horovod(role, annotations={"mode": mode}, pod=fields)


@pytest.mark.parametrize("group", [0, 1000])
def test_a_launcher_whose_volumes_belong_to_a_group_is_warned_of(group: int) -> None:
    manifest = ssh("launcher", {"fsGroup": group})
    assert warnings(manifest) == [GROUP]
    assert warnings(created(manifest)) == [], "it was warned about before"


@pytest.mark.parametrize("context", [{"runAsUser": 1000}, {"runAsNonRoot": True}])
def test_another_user_than_root_is_warned_of(context: Json) -> None:
    assert warnings(ssh("launcher", context)) == [USER]
    assert warnings(ssh("launcher", {}, securityContext=context)) == [USER]
    assert warnings(ssh("worker", context)) == [USER.replace("launcher", "worker")]


@pytest.mark.parametrize(
    "manifest",
    [
        ssh("worker", {"fsGroup": 1000}),
        ssh("launcher", {"fsGroup": 1000}, mode="kubexec"),
        ssh("launcher", {"runAsUser": 0, "runAsNonRoot": False}),
        ssh("launcher", {"runAsUser": 1000}, securityContext={"runAsUser": 0}),
        ssh("launcher", {"fsGroup": 1000}, volumeMounts=[{"name": "k", "mountPath": "/root/.ssh"}]),
        horovod("launcher", annotations={"mode": "ssh"}, pod={"containers": []}),
    ],
    ids=["sshd", "kubexec", "root", "root by container", "own keys", "no containers"],
)
def test_a_key_pair_that_is_usable_needs_no_warning(manifest: Json) -> None:
    assert warnings(manifest) == []
