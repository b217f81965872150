"""The cluster that is tortured: a sandbox, kubectl-edl twice, and a proxy on each way between them.

    webhook-a, webhook-b ◄── front ◄── API server ◄── api ◄── reconciler-a, reconciler-b, webhooks

Users and the observer go around both. Each process of ours has a wall clock that can be set.
"""

import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from dev.installation import (
    Installation,
    apply_manifests,
    issue_certificates,
    reconciler_command,
    webhook_command,
    write_reconciler_kubeconfig,
    write_webhook_kubeconfig,
)
from sandbox import NodeGroup, Sandbox
from sandbox.builds import debian
from sandbox.builds.build import BuildEnvironment
from sandbox.files import write_whole
from sandbox.layout import free_ports
from sandbox.paths import places
from sandbox.processes.pki import SERVER
from sandbox.temporary import ended_with_process
from tests.torture.proxy import Proxy

NODES: Final = NodeGroup(count=10, cpu="8", memory="32Gi")
WEBHOOKS: Final = ("webhook-a", "webhook-b")
RECONCILERS: Final = ("reconciler-a", "reconciler-b")
OURS: Final = (*WEBHOOKS, *RECONCILERS)
GANG_LIMIT: Final = 30.0
"""Seconds; shorter than usual, as is the rest, so that more of it happens in a run."""
LEASE: Final = 4.0
_OPTIONS: Final = (
    *("--lease-duration", f"{LEASE:g}", "--renew-deadline", "3", "--retry-period", "0.5"),
    *("--gang-limit", f"{GANG_LIMIT:g}", "--restart-cooldown", "15"),
)
_LIBRARY: Final = "libfaketimeMT.so.1"


@dataclass(frozen=True, slots=True)
class Scene:
    """`ports` of our processes: where each answers /healthz. `clocks`: the files that set them."""

    sandbox: Sandbox
    api: Proxy
    front: Proxy
    ports: Mapping[str, int]
    clocks: Mapping[str, Path]

    def set_clock(self, name: str, seconds: float) -> None:
        """Put a process's wall clock so far off the true time."""
        write_whole(self.clocks[name], f"{seconds:+.3f}\n")


@contextmanager
def scene(name: str, folder: Path) -> Iterator[Scene]:
    """Everything up, and down again. `folder` takes certificates, kubeconfigs and clocks."""
    with ended_with_process(Sandbox(name)) as sandbox:
        sandbox.up(NODES)
        made = _scene(sandbox, folder)
        yield made
        for proxy in (made.front, made.api):
            proxy.stop()


def _scene(sandbox: Sandbox, folder: Path) -> Scene:
    api_port, front_port, *own = free_ports(2 + len(OURS) + len(WEBHOOKS))
    ports, serving = dict(zip(OURS, own, strict=False)), own[len(OURS) :]
    reviews = dict(zip(WEBHOOKS, serving, strict=True))
    reconcilers = {name: ports[name] for name in RECONCILERS}
    installation = Installation(sandbox, folder, front_port, 0, reconcilers)
    issue_certificates(installation)
    api = Proxy((api_port, _port(sandbox.server)), *_api_sides(sandbox))
    front = Proxy((front_port, *reviews.values()), *_front_sides(installation))
    for proxy in (api, front):
        proxy.start()
    apply_manifests(installation)
    write_webhook_kubeconfig(installation)
    write_reconciler_kubeconfig(installation)
    for kubeconfig in folder.glob("*.kubeconfig"):
        kubeconfig.write_text(kubeconfig.read_text().replace(sandbox.server, api.url))
    clocks = {name: folder / f"{name}.clock" for name in OURS}
    made = Scene(sandbox, api, front, ports, clocks)
    for name in OURS:
        made.set_clock(name, 0)
        at = replace(installation, webhook_port=reviews.get(name, 0), probe_port=ports[name])
        sandbox.launch(name, _command(at, name), _clock_at(clocks[name]))
    return made


def _command(installation: Installation, name: str) -> list[str]:
    if name in RECONCILERS:
        named = (*reconciler_command(installation, name), "--identity", name)
        return _clocked([*named, *_OPTIONS])
    return _clocked(webhook_command(installation))


def _clocked(command: list[str]) -> list[str]:
    """`python -m MODULE …` with a clock that can be set."""
    python, _, module, *options = command
    return [python, "-m", "tests.torture.clocked", module, *options]


def clock_library() -> Path:
    """libfaketime, of the distribution's package. Raises BuildError where there is none."""
    build_env = BuildEnvironment(places(os.environ).cache, os.environ)
    prefix = debian.unpacked("faketime", build_env, print)
    (library,) = prefix.rglob(_LIBRARY)
    return library


def _clock_at(clock: Path) -> dict[str, str]:
    """An environment in which a file decides what time it is; monotonic time goes on as ever."""
    return {
        "LD_PRELOAD": str(clock_library()),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


def _api_sides(sandbox: Sandbox) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The API server's own certificate, so that nobody notices who answers."""
    pki = sandbox.folder / "pki"
    return _serving(pki / f"{SERVER}.crt", pki / f"{SERVER}.key"), _trusting(sandbox.ca)


def _front_sides(installation: Installation) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    own = installation.folder / "webhook"
    return _serving(own / "tls.crt", own / "tls.key"), _trusting(installation.authority)


def _serving(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def _trusting(authority: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority))


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])
