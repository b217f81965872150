"""Volumes of users' own where live files of a launcher would be."""

import pytest

from edl.writes import Json
from tests.edl.manifests import create, created, horovod, pod


def warnings(manifest: Json) -> list[str]:
    return [text for text in create(manifest).warnings if "volumeMounts" in text]


def mounted(path: str) -> Json:
    mounts = [{"name": "mine", "mountPath": path}]
    return {"containers": [{"name": "main", "image": "mpi", "volumeMounts": mounts}]}


@pytest.mark.parametrize(
    ("mode", "path", "names"),
    [
        ("kubexec", "/etc/mpi", "hostfile and kubexec.sh"),
        ("ssh", "/etc/mpi/", "hostfile"),
        ("kubexec", "/etc/edl", "hostfile and discover_hosts.sh"),
    ],
)
def test_a_volume_over_files_of_a_launcher_is_told(mode: str, path: str, names: str) -> None:
    manifest = horovod("launcher", annotations={"mode": mode}, pod=mounted(path))
    (warning,) = warnings(manifest)
    assert warning == (
        f"volumeMounts {path.rstrip('/')}: this volume hides {names} of kubectl-edl: mount it "
        "elsewhere if the program needs them"
    )
    assert warnings(created(manifest)) == [], "it was warned about before"


@pytest.mark.parametrize(
    "manifest",
    [
        horovod("launcher", pod=mounted("/etc/mpi/conf")),
        horovod("worker", pod=mounted("/etc/mpi")),
    ],
    ids=["below", "worker"],
)
def test_volumes_beside_the_files_need_no_warning(manifest: Json) -> None:
    assert warnings(manifest) == []


def test_mounts_that_the_webhook_has_added_need_no_warning() -> None:
    """The webhook sees a bare pod twice if another webhook changes it."""
    account = {"serviceAccountName": "mine"}
    told = {"roles": "launcher=1,worker=2", "rank": "0"}
    bare = pod(framework="horovod", job="mnist", role="launcher", annotations=told, spec=account)
    assert warnings(created(bare)) == []
