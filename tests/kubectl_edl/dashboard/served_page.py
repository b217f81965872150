"""A dashboard without a network: a cluster in memory, a reader, and a test client."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from kubectl_edl.cli.context import Scope
from kubectl_edl.dashboard.app import DashboardContext, create_app, resize
from kubectl_edl.dashboard.cluster_reader import choose_reader
from kubectl_edl.dashboard.job_page import JobPages
from kubectl_edl.dashboard.page_broadcast import PageBroadcast
from kubectl_edl.dashboard.request_auth import PAGE_HEADER, RequestAuth
from kubectl_edl.dashboard.watcher import DashboardWatcher
from kubectl_edl.dashboard.what_if_job import WhatIfEngine
from tests.kubectl_edl.stage import Stage, lease, mnist, node

if TYPE_CHECKING:
    from flask.testing import FlaskClient

    from edl.writes import Json
    from kubectl_edl.cli.context import ClusterConnection
    from kubectl_edl.dashboard.cluster_reader import DashboardSnapshot

SECRET = "known to the page alone"


def namespace(stage: Stage, name: str = "default") -> None:
    stage.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def trained(*names: str) -> Stage:
    """Three nodes, a reconciler, and mnist with 4 workers of 1..12, one of them pending."""
    stage = Stage()
    namespace(stage)
    lease(stage)
    for name in names or ("node-1", "node-2", "node-3"):
        stage.create(node(name))
    mnist(stage)
    return stage


def connected(stage: Stage, scope: Scope | None = None) -> ClusterConnection:
    return stage.cli().connect(scope or Scope())


def read_once(stage: Stage, scope: Scope | None = None) -> DashboardSnapshot:
    """The first snapshot, once everything is listed."""
    reader = choose_reader(stage.cli(), connected(stage, scope), time.monotonic)
    reader.start(lambda: None)
    try:
        while (found := reader.read()) is None:
            time.sleep(0.01)
        return found
    finally:
        reader.stop()
        stage.cluster.end_watches()


@dataclass
class ServedPage:
    """The app for a browser on the same machine."""

    stage: Stage
    scales: bool = False
    token: str = ""
    board: PageBroadcast = field(default_factory=PageBroadcast)

    def __post_init__(self) -> None:
        connection = connected(self.stage)
        engine, found = WhatIfEngine(), read_once(self.stage)
        self.context = DashboardContext(
            auth=RequestAuth(SECRET, token=self.token),
            broadcast=self.board,
            what_if=lambda request: engine.answer(found, request),
            jobs=JobPages(self.stage.cli(), connection, lambda: found),
            about={"server": "https://cluster", "namespace": "default", "version": "0"},
            resize=partial(resize, self.stage.cli(), connection) if self.scales else None,
        )

    @property
    def client(self) -> FlaskClient:
        return create_app(self.context).test_client()

    def post(self, path: str, body: Json, **headers: str) -> tuple[int, Json]:
        """As the page asks; a header may be given otherwise, with _ for -."""
        sent = {PAGE_HEADER: SECRET, "Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.client.post(path, json=body, headers=sent)
        return answer.status_code, answer.get_json()


def watched(stage: Stage, board: PageBroadcast) -> DashboardWatcher:
    """Not started: every `turn` reads once."""
    return DashboardWatcher(
        choose_reader(stage.cli(), connected(stage), time.monotonic), board, time.monotonic
    )
