"""kubectl-edl beside a cluster: its RBAC, and the webhook and reconciler as local processes.

Both run as their ServiceAccounts under the rules of `manifests/`, so that they fail here if a right
is missing there.
"""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import yaml

from edl import contract
from manifests import render
from manifests.documents import Documents
from sandbox.cluster import Cluster
from sandbox.errors import SandboxError
from sandbox.layout import free_ports
from sandbox.processes.components import LOOPBACK
from sandbox.processes.readiness import http_gap, wait_for

IMAGE: Final = "kubectl-edl:0.1.0"
_WEBHOOK: Final = "webhook"
_RECONCILER: Final = "reconciler"
_TOKEN_LIFETIME: Final = "8760h"  # noqa: S105 - a duration: `up` restarts the processes with the same token
_PATIENCE: Final = 120.0
"""The seconds within which a started process must become ready."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The running processes; `reconcilers` maps the name of each to its port."""

    cluster: Cluster
    folder: Path
    webhook_port: int
    probe_port: int
    """The webhook's port for probes and metrics."""
    reconcilers: Mapping[str, int]
    image: str = IMAGE
    namespace: str = contract.SYSTEM_NAMESPACE

    @property
    def authority(self) -> Path:
        """The file of the CA certificate by which the API server trusts the webhook."""
        return self.folder / "webhook" / "ca.crt"


def install(
    cluster: Cluster, folder: Path, reconcilers: Sequence[str] = ("reconciler",), *options: str
) -> Installation:
    """Create rights, certificates and configurations; start the processes, until all are ready.

    `folder` receives certificates and kubeconfigs; `options` are passed to each reconciler.
    Raises SandboxError.
    """
    port, probes, *metrics = free_ports(2 + len(reconcilers))
    of_reconcilers = dict(zip(reconcilers, metrics, strict=True))
    installation = Installation(cluster, folder, port, probes, of_reconcilers)
    issue_certificates(installation)
    apply_manifests(installation)
    write_webhook_kubeconfig(installation)
    start_webhook(installation)
    write_reconciler_kubeconfig(installation)
    for name in reconcilers:
        start_reconciler(installation, name, *options)
    return installation


def apply_manifests(
    installation: Installation, rendered: Documents | None = None, *, force: bool = False
) -> None:
    """Apply all manifests but the workloads; the webhook's address is on this machine.

    `rendered`: documents that a chart made for the installation's namespace, instead of the base;
    `force`: take the fields that other clients have changed.
    """
    documents = render.without_workloads(rendered or render.load())
    url = f"https://{installation.cluster.address}:{installation.webhook_port}"
    local = render.with_webhook_url(documents, url, installation.authority.read_bytes())
    flags = ["--force-conflicts"] if force else []
    installation.cluster.kubectl(
        "apply", "--server-side", *flags, "-f", "-", input=yaml.safe_dump_all(local)
    )


def start_webhook(installation: Installation, name: str = "webhook") -> None:
    port = installation.webhook_port
    installation.cluster.launch(name, webhook_command(installation), port=port)
    _await_ready(installation.probe_port, name, installation)


def webhook_command(installation: Installation) -> list[str]:
    """The webhook's command line, with the kubeconfig that `write_webhook_kubeconfig` wrote."""
    directory = installation.folder / "webhook"
    return [
        *(sys.executable, "-m", "webhook", "--cert-dir", str(directory)),
        *("--kubeconfig", str(_kubeconfig(installation, _WEBHOOK))),
        *("--port", str(installation.webhook_port), "--image", installation.image),
        *("--probe-port", str(installation.probe_port)),
        *("--trusted", f"system:serviceaccount:{installation.namespace}:edl-reconciler"),
        *("--host", LOOPBACK if installation.cluster.address == LOOPBACK else "0.0.0.0"),  # noqa: S104 - a node of kind must reach it
    ]


def start_reconciler(installation: Installation, name: str, *options: str) -> None:
    """Start another reconciler, which holds the Lease by its name; all of them compete for it."""
    port = installation.reconcilers[name]
    command = [*reconciler_command(installation, name), "--identity", name, *options]
    installation.cluster.launch(name, command, port=port)
    _await_ready(port, name, installation)


def reconciler_command(installation: Installation, name: str) -> list[str]:
    """A reconciler's command line, with the kubeconfig that `write_reconciler_kubeconfig` wrote."""
    kubeconfig = _kubeconfig(installation, _RECONCILER)
    return [
        *(sys.executable, "-m", "reconciler", "--kubeconfig", str(kubeconfig)),
        *("--namespace", installation.namespace),
        *("--metrics-port", str(installation.reconcilers[name])),
    ]


def issue_certificates(installation: Installation) -> None:
    directory = installation.folder / "webhook"
    directory.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "certs", "issue", "--dir", str(directory)]
    command += ["--ip", LOOPBACK, "--ip", installation.cluster.address]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SandboxError(f"no certificate for the webhook: {done.stderr.strip()}")


def write_webhook_kubeconfig(installation: Installation) -> None:
    _write_kubeconfig(installation, _WEBHOOK)


def write_reconciler_kubeconfig(installation: Installation) -> None:
    _write_kubeconfig(installation, _RECONCILER)


def _kubeconfig(installation: Installation, name: str) -> Path:
    return installation.folder / f"{name}.kubeconfig"


def _write_kubeconfig(installation: Installation, name: str) -> None:
    """Write a kubeconfig with a token of the ServiceAccount edl-NAME and no other credentials."""
    cluster = installation.cluster
    namespace = ("-n", installation.namespace)
    token = cluster.kubectl(
        *namespace, "create", "token", f"edl-{name}", f"--duration={_TOKEN_LIFETIME}"
    )
    server = {"server": cluster.server, "certificate-authority": str(cluster.ca)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": server}],
        "users": [{"name": name, "user": {"token": token.strip()}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    path = _kubeconfig(installation, name)
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config))


def _await_ready(port: int, name: str, installation: Installation) -> None:
    log = f"{name}; its log: {installation.cluster.log(name)}"
    wait_for(partial(http_gap, log, port), installation.cluster.check, _PATIENCE)
