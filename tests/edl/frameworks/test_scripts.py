"""The scripts run under a real sh, with a kubectl that is a script itself."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from edl.contract import EDL_HOSTFILE, KUBECTL_DIRECTORY
from edl.frameworks import scripts

KUBECTL = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/calls"
here=$(dirname "$0")
case $1 in
get) cat "$here/pods" ;;
exec) shift 3; exec "$@" ;;
wait) if [ -e "$here/gone" ]; then exit 0; fi; echo $$ >> "$here/waiting"; exec sleep 60 ;;
esac
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where kubexec.sh and its kubectl live; `pods` is what kubectl finds."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(KUBECTL)
    kubectl.chmod(0o755)
    (tmp_path / "pods").write_text("pod/mnist-worker-1-x2x4z\n")
    script = scripts.KUBEXEC.replace(KUBECTL_DIRECTORY, str(tmp_path))
    (tmp_path / "kubexec.sh").write_text(script)
    return tmp_path


def kubexec(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["/bin/sh", str(folder / "kubexec.sh"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def calls(folder: Path) -> list[str]:
    return (folder / "calls").read_text().splitlines()


def test_a_command_runs_in_the_pod_behind_the_host(folder: Path) -> None:
    done = kubexec(folder, "mnist-worker-1.mnist.lab.svc", "echo", "hello")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    found, *_ = calls(folder)
    assert "batch.kubernetes.io/job-name=mnist-worker" in found
    assert "batch.kubernetes.io/job-completion-index=1" in found
    assert any(
        call.startswith("exec pod/mnist-worker-1-x2x4z -- /bin/sh") for call in calls(folder)
    )


def test_words_are_one_command_line_as_with_ssh(folder: Path) -> None:
    done = kubexec(folder, "mnist-worker-1", "X='a  b';", 'echo "$X"', "| tr a-z A-Z")
    assert done.stdout == "A  B\n"


def test_the_commands_own_end_is_reported(folder: Path) -> None:
    assert kubexec(folder, "mnist-worker-1", "exit 7").returncode == 7


def test_nothing_is_left_behind(folder: Path) -> None:
    kubexec(folder, "mnist-worker-1", f"until [ -s {folder}/waiting ]; do sleep 0.02; done")
    (waiting,) = (folder / "waiting").read_text().split()
    deadline = time.monotonic() + 20
    while is_running(waiting) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(waiting)


def is_running(process: str) -> bool:
    """A process that has ended may still wait for its parent's attention."""
    stat = Path("/proc", process, "stat")
    return stat.exists() and stat.read_text().split()[2] != "Z"


def test_a_host_without_a_pod_is_an_error(folder: Path) -> None:
    (folder / "pods").write_text("")
    done = kubexec(folder, "mnist-worker-1", "true")
    assert done.returncode == 1
    assert done.stderr == "kubexec: host mnist-worker-1 has no running pod\n"


def test_a_command_ends_with_its_pod(folder: Path) -> None:
    (folder / "gone").touch()
    assert kubexec(folder, "mnist-worker-1", "exec sleep 20").returncode == 143


def test_discovery_prints_the_live_host_list(tmp_path: Path) -> None:
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("a:1\nb:1\n")
    script = scripts.DISCOVER_HOSTS.replace(EDL_HOSTFILE, str(hostfile))
    done = subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "a:1\nb:1\n"


def test_a_worker_leaves_with_0_when_asked() -> None:
    command = scripts.WAIT_FOR_COMMANDS.replace("while", "echo waits; while", 1)
    worker = subprocess.Popen(
        ["/bin/sh", "-c", command], stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"waits\n"
        worker.terminate()
        assert worker.wait(timeout=30) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):  # nothing was left of it
            os.killpg(worker.pid, signal.SIGKILL)
        worker.communicate()
