"""The dashboard of a user with few rights in the cluster, or whose rights were removed."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import pytest

from edl import contract
from kubectl_edl.cli.context import Scope
from kubectl_edl.dashboard.options import DashboardOptions
from kubectl_edl.dashboard.request_auth import PAGE_HEADER
from kubectl_edl.dashboard.run_dashboard import started
from kubectl_edl.main import this_process
from tests.integration.support.stage import elastic
from tests.integration.test_plugin import Shell, limited_user

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from edl.writes import Json
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration


class Visitor:
    """HTTP requests to a dashboard, as its page sends them."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        (token,) = parse_qs(parts.query)["token"]
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._headers = {"Authorization": f"Bearer {token}"}
        secret = re.search(r'content="([\w-]{40,})"', self.ask("/")[1])
        assert secret
        self._headers[PAGE_HEADER] = secret[1]

    def ask(self, path: str, body: Json | None = None) -> tuple[int, str]:
        """The status and the text of the answer."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._origin + path, data, self._headers)  # noqa: S310 - of this machine
        try:
            with urlopen(request) as answer:  # noqa: S310 - of this machine
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()


@contextmanager
def visited(stage: Stage, kubeconfig: Path) -> Iterator[Visitor]:
    cli = this_process()
    scope = Scope(namespace=stage.namespace, kubeconfig=str(kubeconfig))
    found = started(cli, cli.connect(scope), DashboardOptions(port=0, allow_scale=True))
    try:
        yield Visitor(found.url)
    finally:
        found.stop()


def test_without_a_right_the_page_answers_403_with_the_command_that_checks_it(
    installed: Stage, tmp_path: Path
) -> None:
    shell = Shell(installed.cluster, installed.namespace)
    bounds = {"min": "1", "max": "2"}
    installed.apply(elastic("sweep", labels=bounds, parallelism=1))
    installed.until_runs("sweep", 2)
    size = {"namespace": installed.namespace, "name": "sweep", "size": 1}
    where = f"-n {installed.namespace}"
    with visited(installed, limited_user(shell, tmp_path)) as page:
        state = f"/jobs/{installed.namespace}/sweep/state"
        installed.until(lambda: page.ask(state)[0] == 200, "the user sees the job")
        status, text = page.ask("/scale", size)
        assert (status, f"kubectl auth can-i patch jobs.batch/sweep {where}" in text) == (403, True)
        assert contract.REPLICAS not in installed.job("sweep")["metadata"]["annotations"]
        installed.kubectl("delete", "rolebinding", "ann")
        installed.until(lambda: page.ask(state)[0] != 200, "the user sees it no longer")
        status, text = page.ask(state)
        assert (status, f"kubectl auth can-i list jobs.batch {where}" in text) == (403, True)
        assert page.ask("/")[0] == 200
    refused = shell.edl("dashboard", "--port", "0", "--no-open", kubeconfig=tmp_path / "kubeconfig")
    assert refused.returncode == 1
    assert f"kubectl auth can-i list jobs.batch {where}" in refused.stderr
