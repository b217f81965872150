"""The command as users have it: found by the real kubectl, on a real cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.integration.support.pages import row
from tests.integration.support.stage import elastic

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration


def test_the_command_shows_a_real_cluster_until_ctrl_c(chromium: Browser, installed: Stage) -> None:
    installed.apply(elastic("sweep", "1", {"min": "1", "max": "4"}, parallelism=1))
    installed.until_runs("sweep", 4)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environ = {**os.environ, **installed.cluster.kubectl_environment(), "PATH": path}
    command = ["edl", "dashboard", "-n", installed.namespace, "--port", "0", "--no-open"]
    with subprocess.Popen(
        [str(installed.cluster.kubectl_path), *command],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout
        url = run.stdout.readline().split()[0]
        page = chromium.new_context().new_page()
        page.goto(url)
        sweep = row(page, "Training jobs", f"{installed.namespace}/sweep")
        expect(sweep).to_contain_text("4 in 1..4", timeout=15_000)
        installed.annotate("sweep", replicas="2")
        expect(sweep).to_contain_text("2 in 1..4", timeout=30_000)
        page.context.close()
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=15)
    assert (run.returncode, said) == (0, "ended\n")
