"""The preStop hook of Paddle's launchers, run on processes and an etcd that are files."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.edl.manifests import created, pod_spec, role_manifest

ETCD = """
import pathlib
from collections import namedtuple
Key = namedtuple("Key", "lease_id")
calls = pathlib.Path(__file__).with_name("calls")
class Client:
    def get_prefix(self, prefix):
        self.say("get", prefix)
        return [(b"abcdef", Key(7)), (b"others", Key(8))]
    def revoke_lease(self, lease):
        self.say("revoke", lease)
    def say(self, *words):
        with calls.open("a") as file:
            print(*words, file=file)
def client(host, port, timeout):
    client = Client()
    client.say("at", host, port)
    return client
"""
LAUNCHER = "python3\0-m\0paddle.distributed.launch\0train.py\0"
TOLD = {"PADDLE_MASTER": "etcd://mnist-master-0.mnist.lab.svc:2379", "PADDLE_JOB_ID": "mnist"}


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits for a signal, and is a launcher by its /proc."""
    (tmp_path / "etcd3.py").write_text(ETCD)
    with subprocess.Popen(["sleep", "60"]) as process:
        appear(tmp_path, process.pid, LAUNCHER)
        yield process
        process.kill()


def appear(folder: Path, number: int, command: str, **told: str) -> None:
    """A process in the folder that is /proc here."""
    process = folder / "proc" / str(number)
    process.mkdir(parents=True)
    (process / "cmdline").write_text(command)
    environ = "".join(f"{name}={value}\0" for name, value in told.items())
    (process / "environ").write_text(environ)


def hook() -> str:
    manifest = role_manifest("trainer", "master=1,trainer=1..3", framework="paddle")
    (container,) = pod_spec(created(manifest))["containers"]
    *_, script = container["lifecycle"]["preStop"]["exec"]["command"]
    return str(script)


def leave(folder: Path) -> list[str]:
    """Run the hook, without its pauses; what etcd was asked."""
    script = hook().replace("/proc", str(folder / "proc"))
    for long, short in (("sleep(1)", "sleep(0)"), ("sleep(3)", "sleep(0)"), ("+ 15", "+ 1")):
        assert long in script
        script = script.replace(long, short)
    environ = {**os.environ, **TOLD, "PYTHONPATH": str(folder)}
    subprocess.run([sys.executable, "-c", script], env=environ, check=True, timeout=30)
    return (folder / "calls").read_text().splitlines()


def test_a_launcher_takes_its_key_away_and_ends(
    tmp_path: Path, launcher: subprocess.Popen[bytes]
) -> None:
    appear(tmp_path, 1_000_001, "python3\0train.py\0", POD_NAME="abcdef", PADDLE_GLOBAL_RANK="1")
    appear(tmp_path, 1_000_002, "sh\0", POD_NAME="a-users-own")
    assert leave(tmp_path) == [
        "at mnist-master-0.mnist.lab.svc 2379",
        "get /paddle/mnist/heartbeat/",
        "revoke 7",
    ]
    assert launcher.wait(timeout=30) == -signal.SIGTERM


def test_a_launcher_without_a_script_ends_at_last(
    tmp_path: Path, launcher: subprocess.Popen[bytes]
) -> None:
    """Nobody knows yet what it calls itself; its key ends with its heart."""
    assert "revoke" not in " ".join(leave(tmp_path))
    assert launcher.wait(timeout=30) == -signal.SIGTERM


def test_a_process_that_ends_meanwhile_does_no_harm(
    tmp_path: Path, launcher: subprocess.Popen[bytes]
) -> None:
    (tmp_path / "proc" / "1000003").mkdir()
    leave(tmp_path)
    assert launcher.wait(timeout=30) == -signal.SIGTERM
