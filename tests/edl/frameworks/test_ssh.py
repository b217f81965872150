"""Mode ssh of horovod and aiacc: a key pair of the job's own, and no rights at all."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from edl import contract
from edl.frameworks import scripts
from edl.writes import Json
from tests.edl.frameworks.test_horovod import live_files, volumes
from tests.edl.manifests import annotations, created, environment, horovod, pod_spec, template
from tests.waiting import until

SECRET = {
    "secretName": "mnist-ssh",
    "defaultMode": 0o600,
    "items": [
        {"key": "id_rsa", "path": ".ssh/id_rsa"},
        {"key": "id_rsa.pub", "path": ".ssh/id_rsa.pub"},
        {"key": "id_rsa.pub", "path": ".ssh/authorized_keys"},
        {"key": "config", "path": ".ssh/config"},
    ],
}


def ssh(role: str, **fields: Any) -> Json:  # noqa: ANN401 - JSON
    return created(horovod(role, annotations={"mode": "ssh"}, **fields))


@pytest.mark.parametrize("role", ["launcher", "worker"])
def test_both_have_the_key_pair_where_et_operator_puts_it(role: str) -> None:
    found = ssh(role)
    assert volumes(found)["edl-ssh"]["secret"] == SECRET
    (container,) = pod_spec(found)["containers"]
    mounts = [mount for mount in container["volumeMounts"] if mount["name"] == "edl-ssh"]
    assert mounts == [{"name": "edl-ssh", "mountPath": "/root/.ssh", "subPath": ".ssh"}]


def test_the_launcher_reads_the_same_lists_and_needs_no_rights() -> None:
    launcher = ssh("launcher")
    assert live_files(launcher) == {
        "/etc/edl/hostfile": (contract.HOSTFILE, None),
        "/etc/edl/discover_hosts.sh": (contract.DISCOVER_HOSTS, 0o755),
        "/etc/mpi/hostfile": (contract.MPI_HOSTFILE, None),
        "/job/hostfile": (contract.MPI_HOSTFILE, None),
    }
    spec = pod_spec(launcher)
    assert "initContainers" not in spec
    assert "serviceAccountName" not in spec
    assert {"name": contract.HOSTS_GATE} in spec["schedulingGates"]
    assert set(annotations(template(launcher))) == {contract.DISCOVER_HOSTS}


def test_horovod_is_not_told_of_kubexec() -> None:
    """It switches on exactly this variable; without it it uses ssh."""
    found = environment(ssh("launcher"))
    assert "OMPI_MCA_plm_rsh_agent" not in found
    assert found["OMPI_MCA_orte_default_hostfile"] == "/etc/mpi/hostfile"


def test_a_worker_without_a_command_serves_ssh() -> None:
    (container,) = pod_spec(ssh("worker"))["containers"]
    assert container["command"][:2] == ["/bin/sh", "-c"]
    assert "/usr/sbin/sshd" in container["command"][2]
    assert "env" in container, "the index"


def test_what_the_user_mounts_there_stays() -> None:
    own = {"name": "mine", "mountPath": "/root/.ssh/"}
    container = {"name": "main", "image": "busybox", "volumeMounts": [own]}
    pod = {"containers": [container], "volumes": [{"name": "mine", "emptyDir": {}}]}
    (found,) = pod_spec(ssh("worker", pod=pod))["containers"]
    assert [mount["mountPath"] for mount in found["volumeMounts"]] == ["/root/.ssh/"]


def test_twice_is_once() -> None:
    for role in ("launcher", "worker"):
        assert created(ssh(role)) == ssh(role)


def test_aiacc_is_the_same_in_both_modes() -> None:
    """et-operator makes no difference between the two."""
    for mode in ("kubexec", "ssh"):
        for role in ("launcher", "worker"):
            ours = created(horovod(role, annotations={"mode": mode}))
            manifest = horovod(role, annotations={"mode": mode})
            manifest["metadata"]["labels"]["edl.dev/framework"] = "aiacc"
            aiacc = created(manifest)
            assert pod_spec(aiacc) == pod_spec(ours)
            assert annotations(template(aiacc)) == annotations(template(ours))


def sshd(folder: Path, text: str) -> str:
    """The worker's command with this for a server, and a folder for its processes."""
    server = folder / "sshd"
    server.write_text(f"#!/bin/sh\n{text}\n")
    server.chmod(0o755)
    return (
        scripts.WAIT_FOR_SSH.replace("/usr/sbin/sshd", str(server))
        .replace("/run/sshd", str(folder / "run"))
        .replace("ssh-keygen -A", f"touch {folder}/keys")
        .replace("/proc/", f"{folder}/proc/")
        .replace("sleep 1;", f"touch {folder}/seen; sleep 0.1;")
    )


def test_a_worker_ends_its_server_and_waits_for_the_sessions(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    for process in ("1", "7"):
        (tmp_path / "proc" / process).touch()
    command = sshd(tmp_path, f"touch {tmp_path}/serves; exec sleep 300")
    worker = subprocess.Popen(["/bin/sh", "-c", command], start_new_session=True)
    try:
        until((tmp_path / "serves").exists)
        assert (tmp_path / "keys").exists()
        worker.terminate()
        until((tmp_path / "seen").exists)
        assert worker.poll() is None, "a session is still there"
        (tmp_path / "proc" / "7").unlink()
        assert worker.wait(timeout=30) == 143
    finally:
        with contextlib.suppress(ProcessLookupError):  # nothing was left of it
            os.killpg(worker.pid, signal.SIGKILL)


def test_a_server_that_cannot_start_fails_the_worker_with_the_reason(tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", sshd(tmp_path, "exit 255")],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert "sshd has ended: is it in this image, and does the pod run as root?" in done.stderr
