"""A dashboard from start to stop: one watcher, one app, one server."""

import secrets
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

from kubectl_edl.cli.context import CliContext, ClusterConnection
from kubectl_edl.dashboard.app import DashboardContext, create_app, resize
from kubectl_edl.dashboard.cluster_reader import choose_reader
from kubectl_edl.dashboard.http_server import DashboardAddress, Serving, listening
from kubectl_edl.dashboard.job_page import JobPages
from kubectl_edl.dashboard.options import DashboardOptions
from kubectl_edl.dashboard.page_broadcast import PageBroadcast
from kubectl_edl.dashboard.request_auth import RequestAuth
from kubectl_edl.dashboard.watcher import DashboardWatcher
from kubectl_edl.dashboard.what_if_job import WhatIfEngine


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A running dashboard. `url` opens it, and includes the token if one is needed."""

    url: str
    address: DashboardAddress
    watcher: DashboardWatcher
    serving: Serving

    def stop(self) -> None:
        self.watcher.stop()
        self.serving.stop()


def started(cli: CliContext, connection: ClusterConnection, asked: DashboardOptions) -> Dashboard:
    """Start a dashboard that serves on return. Raises Refused, or ClusterError from the cluster."""
    listener, address = listening(asked.address, asked.port)
    try:
        reader = choose_reader(cli, connection, time.monotonic)
    except BaseException:
        listener.close()
        raise
    watcher = DashboardWatcher(reader, broadcast := PageBroadcast(), time.monotonic, asked.costs)
    # Any client that reaches the port acts with our rights; on loopback, every user of the machine.
    private = address.loopback and not asked.allow_scale
    token = "" if private else secrets.token_urlsafe(32)
    engine = WhatIfEngine()
    context = DashboardContext(
        auth=RequestAuth(
            page=secrets.token_urlsafe(32),
            names=_names(asked, address),
            token=token,
            cookie=f"edl-dashboard-{address.port}",  # cookies are shared between ports
        ),
        broadcast=broadcast,
        what_if=lambda request: engine.answer(watcher.snapshot, request),
        jobs=JobPages(cli, connection, lambda: watcher.snapshot),
        about={
            "server": connection.server,
            "namespace": connection.namespace,
            "version": version("kubectl-edl"),
        },
        resize=partial(resize, cli, connection) if asked.allow_scale else None,
    )
    serving = Serving(create_app(context), listener, address)
    watcher.start()
    serving.start()
    return Dashboard(address.url + (f"?token={token}" if token else ""), address, watcher, serving)


def _names(asked: DashboardOptions, address: DashboardAddress) -> frozenset[str]:
    """Names in `Host` that browsers may use, in addition to IP addresses."""
    if address.loopback:
        return frozenset({"localhost"})
    names = (asked.address, socket.gethostname(), socket.getfqdn())
    return frozenset({"localhost", *(name.lower() for name in names)})


def can_show(environ: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether a graphical browser can open; in a terminal, webbrowser would start lynx."""
    if platform in ("darwin", "win32") or environ.get("BROWSER"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))
