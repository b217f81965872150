"""`kubectl edl install`, `upgrade` and `uninstall`."""

from typing import Final

import click

from kubectl_edl.cli.command_errors import EXIT_CODES_TIMED_HELP
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import Deleting, a_cluster, group
from kubectl_edl.install import install_release, uninstall_release
from kubectl_edl.install.install_release import InstallOptions
from kubectl_edl.install.installation_values import InstallationChoice

_INSTALL_HELP: Final = """Install kubectl-edl into a cluster: webhook, reconciler, their rights.

Everything goes into the namespace edl-system, by server-side apply, in order; then both are waited
for. Your rights are checked first. What you chose is kept in the cluster, for the
next upgrade. The values are those of the Helm chart: manifests/chart/README.md.

\b
Examples:
  # With an image that the cluster can pull
  kubectl edl install --image registry.example/kubectl-edl:0.1.0
  # Another policy, and a NetworkPolicy
  kubectl edl install --image registry.example/kubectl-edl:0.1.0 \\
    --set reconciler.planning.policy=throughput --set networkPolicy.enabled=true
  # The manifests, for git
  kubectl edl install -f values.yaml --dry-run client -o yaml > edl.yaml

\b
Exit code 5: installed, but not ready in time; it may still become so.
"""
_UPGRADE_HELP: Final = """Bring an installation to this plugin's version, or to other values.

Values of before stay, NAME= takes one back to its default. Each change is shown; objects of ours
that the new version lacks are deleted. Running jobs do not notice: webhook and reconciler are
replaced one pod at a time.

\b
Examples:
  # What would change
  kubectl edl upgrade --image registry.example/kubectl-edl:0.2.0 --dry-run server
  # A new image, everything else as before
  kubectl edl upgrade --image registry.example/kubectl-edl:0.2.0
  # The policy's default again
  kubectl edl upgrade --set reconciler.planning.policy=
  # What kustomize installed, by these values from now on: see first what goes with its own
  kubectl edl upgrade --take-ownership -f values.yaml --dry-run server

\b
Exit code 5: installed, but not ready in time; it may still become so.
"""
_UNINSTALL_HELP: Final = """Take kubectl-edl out of a cluster: everything but your Jobs.

Running Jobs keep their size. Queued Jobs stay suspended: their number, and
how to start one by hand, is printed first. Each has its own ttlSecondsAfterFinished again. Where
pods that replace others would wait for a scheduling gate of ours, it says how to remove it. The
namespace stays where others keep something in it, such as the teams; nothing else of ours does.

\b
Examples:
  # What would go, and what becomes of the Jobs
  kubectl edl uninstall --dry-run client
  # Whether the API server would let you
  kubectl edl uninstall --dry-run server
  # In a script
  kubectl edl uninstall --yes

Exit code 5: deleted, but something is still there when the time is up; it may still go.
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
