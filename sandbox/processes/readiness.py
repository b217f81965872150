"""Waits until the control plane can be used."""

import socket
import time
from collections.abc import Callable
from http import HTTPStatus
from http.client import HTTPException
from urllib.request import urlopen

from sandbox.errors import SandboxError
from sandbox.objects.api import Api
from sandbox.objects.nodes import unready
from sandbox.processes.components import LOOPBACK

PAUSE = 0.05  # seconds between checks, at first
API_WITHIN = 120.0
NODES_WITHIN = 120.0
HTTP_WITHIN = 2.0
NAMED = 3  # the most node names in a message


def wait_for(missing: Callable[[], str], check: Callable[[], None], within: float) -> None:
    """Wait until `missing` returns an empty text; `check` raises if waiting is pointless.

    Raises SandboxError after `within` seconds, with what was still missing.
    """
    begun = time.monotonic()
    while gap := missing():
        check()
        waited = time.monotonic() - begun
        if waited > within:
            raise SandboxError(f"not ready after {within:.0f} s: {gap}")
        # A check costs processor time, of which what starts needs all.
        time.sleep(max(PAUSE, waited / 20))


def api_gap(api: Api) -> str:
    """Why the API server is not ready yet; empty if it is."""
    for path in ("/readyz", "/api/v1/namespaces/default"):
        answer = api.get(path)
        if answer.status != HTTPStatus.OK:
            return f"kube-apiserver: {path}: {answer.status or answer.body.decode()}"
    return ""


def port_gap(name: str, port: int, host: str = LOOPBACK) -> str:
    """Why the program cannot be reached on its port, if it has one; empty if it can."""
    try:
        if port:
            socket.create_connection((host, port), timeout=1).close()
    except OSError as error:
        return f"{name}: no connection to port {port}: {error}"
    return ""


def http_gap(name: str, port: int) -> str:
    """Why the program's /readyz on a port of this machine does not answer 200; empty if it does."""
    try:
        with urlopen(f"http://{LOOPBACK}:{port}/readyz", timeout=HTTP_WITHIN) as said:
            return "" if said.status == HTTPStatus.OK else f"{name}: {said.status}"
    except (OSError, HTTPException) as error:
        return f"{name}: {error}"


def account_gap(api: Api) -> str:
    """Whether the default ServiceAccount is missing, without which a namespace takes no pods."""
    path = "/api/v1/namespaces/default/serviceaccounts/default"
    return (
        ""
        if api.get(path).status == HTTPStatus.OK
        else "kube-controller-manager: no default service account"
    )


def nodes_gap(api: Api, wanted: set[str]) -> str:
    """Which of the wanted nodes cannot take pods yet; empty if all can."""
    answer = api.get("/api/v1/nodes?resourceVersion=0")
    if answer.status != HTTPStatus.OK:
        return "kube-apiserver: cannot list nodes"
    nodes = answer.json()["items"]
    ready = {node["metadata"]["name"] for node in nodes}.difference(unready(nodes))
    late = sorted(wanted - ready)
    return f"{len(late)} nodes are not Ready: {', '.join(late[:NAMED])}" if late else ""
