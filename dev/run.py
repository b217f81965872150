"""`python -m dev.run webhook|reconciler`: runs it in this shell, for $KUBECONFIG's cluster.

The cluster's API server must run on this machine, such as the sandbox's.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from dev.installation import (
    Installation,
    apply_manifests,
    issue_certificates,
    reconciler_command,
    webhook_command,
    write_reconciler_kubeconfig,
    write_webhook_kubeconfig,
)
from edl import contract
from sandbox.errors import SandboxError
from sandbox.existing_cluster import ExistingCluster
from sandbox.layout import free_ports

NAME: Final = "reconciler"


_HELP: Final = """Run one of our processes in this shell until Ctrl-C; its log goes to stderr.

The webhook gets a certificate of its own, and the configurations that make the API server call
it. Each runs as its ServiceAccount, under the manifests' rights and no others.

\b
Examples:
  python -m sandbox up --name dev && export KUBECONFIG=…
  python -m dev.run webhook &
  python -m dev.run reconciler
"""


@click.command(help=_HELP)
@click.argument("which", type=click.Choice(["webhook", NAME]))
@click.option("--kubeconfig", envvar="KUBECONFIG", required=True, help="Default: $KUBECONFIG.")
def beside(which: str, kubeconfig: str) -> None:
    with tempfile.TemporaryDirectory(prefix="kubectl-edl-") as folder:
        place = Path(folder)
        cluster = ExistingCluster(Path(kubeconfig).expanduser(), place, os.environ)
        webhook_port, probe_port, metrics_port = free_ports(3)
        reconcilers = {NAME: metrics_port}
        installation = Installation(cluster, place, webhook_port, probe_port, reconcilers)
        try:
            command = _COMMANDS[which](installation)
        except SandboxError as error:
            raise click.ClickException(str(error)) from error
        click.echo(f"{which}: Ctrl-C ends it", err=True)
        sys.exit(_run(command))


def _run(command: list[str]) -> int:
    """Run it and return its exit code; Ctrl-C reaches it directly, and we pass SIGTERM on."""
    with subprocess.Popen(command) as child:
        signal.signal(signal.SIGTERM, lambda *_: child.terminate())
        while True:
            try:
                return child.wait()
            except KeyboardInterrupt:
                continue


def _webhook(installation: Installation) -> list[str]:
    issue_certificates(installation)
    apply_manifests(installation)
    write_webhook_kubeconfig(installation)
    return webhook_command(installation)


def _reconciler(installation: Installation) -> list[str]:
    namespace = ("namespace", contract.SYSTEM_NAMESPACE)
    if not installation.cluster.kubectl("get", *namespace, "--ignore-not-found", "-o", "name"):
        raise SandboxError(
            "kubectl-edl is not in this cluster yet: first, in a shell of its own, make run-webhook"
        )
    write_reconciler_kubeconfig(installation)
    return reconciler_command(installation, NAME)


_COMMANDS: Final[dict[str, Callable[[Installation], list[str]]]] = {
    "webhook": _webhook,
    NAME: _reconciler,
}


if __name__ == "__main__":
    beside(prog_name="python -m dev.run")
