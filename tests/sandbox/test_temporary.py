"""What a process brings up ends with it: no control plane is needed to see that."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from sandbox import Sandbox
from sandbox.processes.supervisor import Launch, Supervisor
from sandbox.temporary import ended_with_process
from tests.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

GUEST = Launch("guest", ("sleep", "1000"))
STARTER = """
import os, time
from sandbox import Sandbox
from sandbox.processes.supervisor import Supervisor
from sandbox.temporary import ended_with_process
from tests.sandbox.test_temporary import GUEST

with ended_with_process(Sandbox("held")) as sandbox:
    Supervisor(sandbox.folder, os.environ).launch(GUEST)
    time.sleep(1000)
"""


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    monkeypatch.setenv("EDL_STATE", str(tmp_path))
    return Sandbox("held")


def test_it_ends_with_its_context(sandbox: Sandbox) -> None:
    with ended_with_process(sandbox):
        Supervisor(sandbox.folder, os.environ).launch(GUEST)
        assert sandbox.running()
    assert not sandbox.exists()


def test_it_ends_when_its_process_is_killed(sandbox: Sandbox) -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER]) as starter:
        until(sandbox.running)
        starter.kill()
    until(lambda: not sandbox.exists())
