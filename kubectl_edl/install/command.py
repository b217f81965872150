"""`kubectl edl install`, `upgrade` and `uninstall`."""

from typing import Final

import click

from kubectl_edl.cli.command_errors import EXIT_CODES_TIMED_HELP
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import Deleting, a_cluster, group
from kubectl_edl.install import install_release, uninstall_release
from kubectl_edl.install.install_release import InstallOptions
from kubectl_edl.install.installation_values import InstallationChoice

_INSTALL_HELP: Final = """Install kubectl-edl into a cluster: webhook, reconciler and their RBAC.

Everything is installed into the namespace edl-system by server-side apply, after a check of your
rights; then the command waits until webhook and reconciler are ready. The chosen values are stored
in the cluster for the next upgrade. They are those of the Helm chart: manifests/chart/README.md.

\b
Examples:
  # Install with an image that the cluster can pull
  kubectl edl install --image registry.example/kubectl-edl:0.1.0
  # Choose another policy, and add a NetworkPolicy
  kubectl edl install --image registry.example/kubectl-edl:0.1.0 \\
    --set reconciler.planning.policy=throughput --set networkPolicy.enabled=true
  # Write the manifests, e.g. for git
  kubectl edl install -f values.yaml --dry-run client -o yaml > edl.yaml

\b
Exit code 5: installed, but not ready in time.
"""
_UPGRADE_HELP: Final = """Upgrade an installation to this plugin's version, or to other values.

Previous values are kept; --set NAME= restores a default. Each change is shown; objects that the new
version no longer has are deleted. Running jobs are not affected: webhook and reconciler are
replaced one pod at a time.

\b
Examples:
  # Show what would change
  kubectl edl upgrade --image registry.example/kubectl-edl:0.2.0 --dry-run server
  # Change only the image
  kubectl edl upgrade --image registry.example/kubectl-edl:0.2.0
  # Restore the default policy
  kubectl edl upgrade --set reconciler.planning.policy=
  # Show what taking over an installation by kustomize would change
  kubectl edl upgrade --take-ownership -f values.yaml --dry-run server

\b
Exit code 5: installed, but not ready in time.
"""
_UNINSTALL_HELP: Final = """Uninstall kubectl-edl; Jobs are kept.

Running Jobs keep their size. Queued Jobs stay suspended: their number, and how to start one by
hand, is printed first. Each Job gets its own ttlSecondsAfterFinished back. If new pods of a Job
would have a scheduling gate of kubectl-edl, a hint shows how to remove it. The namespace is kept if
it contains objects of others, such as the teams; everything else is deleted.

\b
Examples:
  # Show what would be deleted, and what happens to the Jobs
  kubectl edl uninstall --dry-run client
  # Only let the API server check it
  kubectl edl uninstall --dry-run server
  # Uninstall without confirmation
  kubectl edl uninstall --yes

Exit code 5: deleted, but some objects were still there when the time was up.
"""


@click.command("install", help=_INSTALL_HELP, epilog=EXIT_CODES_TIMED_HELP)
@group(InstallationChoice, "asked")
@group(InstallOptions, "how", without=("take_ownership",))
@a_cluster
@click.pass_obj
def install(
    world: CliContext, asked: InstallationChoice, how: InstallOptions, scope: Scope
) -> None:
    install_release.install(world, scope, asked, how)


@click.command("upgrade", help=_UPGRADE_HELP, epilog=EXIT_CODES_TIMED_HELP)
@group(InstallationChoice, "asked")
@group(InstallOptions, "how")
@a_cluster
@click.pass_obj
def upgrade(
    world: CliContext, asked: InstallationChoice, how: InstallOptions, scope: Scope
) -> None:
    install_release.upgrade(world, scope, asked, how)


@click.command("uninstall", help=_UNINSTALL_HELP, epilog=EXIT_CODES_TIMED_HELP)
@group(Deleting, "how")
@a_cluster
@click.pass_obj
def uninstall(world: CliContext, how: Deleting, scope: Scope) -> None:
    uninstall_release.uninstall(world, scope, how)
