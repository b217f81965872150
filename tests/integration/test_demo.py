"""README's first command: it keeps its promises, and leaves nothing behind when it is cut off."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import Sandbox

pytestmark = [pytest.mark.integration, pytest.mark.long]

ROOT = Path(__file__).parents[2]


@pytest.fixture
def name() -> str:
    if named := os.environ.get("EDL_KUBECONFIG"):
        pytest.skip(f"the demo plays in a sandbox of its own; EDL_KUBECONFIG={named}")
    return f"demo-{os.getpid()}"


def demo(name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dev.demo", "--name", name],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )


def test_the_demo_keeps_its_promises(name: str) -> None:
    told, _ = (running := demo(name)).communicate()
    assert running.returncode == 0, told
    assert "All guarantees held" in told
    assert not Sandbox(name).exists()


def test_ctrl_c_leaves_nothing_behind(name: str) -> None:
    running = demo(name)
    assert running.stdout is not None
    for line in running.stdout:
        if "kubectl apply" in line:
            break
    running.send_signal(signal.SIGINT)
    told, _ = running.communicate()
    assert running.returncode == 1, told
    assert "Traceback" not in told
    assert not Sandbox(name).exists()
