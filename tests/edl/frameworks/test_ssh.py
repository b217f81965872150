"""Mode ssh of horovod and aiacc: a key pair of the job's own, and no rights at all."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from edl.frameworks import scripts
from edl.writes import Json
from tests.edl.manifests import created, horovod, pod_spec
from tests.waiting import until


def ssh(role: str, **fields: Any) -> Json:  # noqa: ANN401 - JSON
    return created(horovod(role, annotations={"mode": "ssh"}, **fields))


def test_what_the_user_mounts_there_stays() -> None:
    own = {"name": "mine", "mountPath": "/root/.ssh/"}
    container = {"name": "main", "image": "busybox", "volumeMounts": [own]}
    pod = {"containers": [container], "volumes": [{"name": "mine", "emptyDir": {}}]}
    (found,) = pod_spec(ssh("worker", pod=pod))["containers"]
    assert [mount["mountPath"] for mount in found["volumeMounts"]] == ["/root/.ssh/"]


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
