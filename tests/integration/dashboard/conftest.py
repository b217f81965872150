"""A real browser, the distribution's Chromium, and a dashboard of a cluster in memory."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from dev.browser import browser
from edl import contract
from edl.model import ObjectRef
from kubectl_edl.cli.context import Scope
from kubectl_edl.dashboard.options import DashboardOptions
from kubectl_edl.dashboard.run_dashboard import started
from sandbox.errors import SandboxError
from tests.integration.support.pages import opened
from tests.kubectl_edl.dashboard.served_page import trained
from tests.kubectl_edl.stage import NOW, job

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from kubectl_edl.dashboard.run_dashboard import Dashboard
    from tests.kubectl_edl.stage import Stage


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with ExitStack() as stack:
        try:
            found = stack.enter_context(browser(os.environ))
        except SandboxError as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"no browser: {error}")
        yield found


TEAMS = """\
teams:
- {name: lab, guaranteed: {cpu: 40}}
- {name: vision, parent: lab, namespaces: [default], guaranteed: {cpu: 6}}
- {name: speech, parent: lab, guaranteed: {cpu: 30}}
"""


@pytest.fixture
def stage() -> Stage:
    """mnist with 4 workers, 2 of them since an hour, and a job that waits; their team borrows."""
    found = trained("node-1", "node-2", "node-3")
    told = f"{NOW:%Y-%m-%d}T11:00:00Z Started 0 2 room\n{NOW:%Y-%m-%d}T11:30:00Z ScaledUp 2 4 room"
    notes = {"metadata": {"annotations": {contract.HISTORY: told}}}
    found.patch("mnist-worker", notes)
    found.put(job("large", framework="none", min="40", max="60"))
    found.patch("large", {"spec": {"parallelism": 40}})
    place = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_CONFIG_MAP)
    found.cluster.create(place, {"data": {contract.TEAMS_KEY: TEAMS}})
    return found


@pytest.fixture
def dashboard(stage: Stage) -> Iterator[Dashboard]:
    cli = stage.cli()
    found = started(cli, cli.connect(Scope()), DashboardOptions(port=0, allow_scale=True))
    yield found
    found.stop()
    stage.cluster.end_watches()


@pytest.fixture
def page(chromium: Browser, dashboard: Dashboard) -> Iterator[Page]:
    with opened(chromium, dashboard) as found:
        yield found
