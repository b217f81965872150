"""`kubectl edl install` and `upgrade`: render, apply, prune, wait."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

import click

from edl import contract
from edl.kube.cluster import PluginCluster, find
from edl.kube.option_group import group, option, option_group, shared_option
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.cli.command_errors import Exit, Misused, Refused, exit_codes
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.interaction import print_changed
from kubectl_edl.cli.options import TIME_LIMIT, TIMEOUT, WriteOptions, cluster_options
from kubectl_edl.cli.suggested_commands import with_flags
from kubectl_edl.client.certificate_store import served_outside
from kubectl_edl.client.patcher import REMARKS
from kubectl_edl.install import installation_values, prune, rollout
from kubectl_edl.install.installation_values import InstallationChoice
from kubectl_edl.install.installer import (
    Installer,
    installer_of,
    readable_elsewhere,
    refuse_elsewhere,
    webhook_deployment,
)
from kubectl_edl.install.server_side_apply import Applied, Apply, check_rights, name_of

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
"""
_EXIT_CODES: Final = exit_codes({Exit.TIMED_OUT: "installed but not ready in time"})


@option_group
class InstallOptions(WriteOptions):
    """Options of an installation; `timeout` limits the wait."""

    wait: bool = option(
        default=True, show_default=True, help="Wait until webhook and reconciler are ready."
    )
    timeout: timedelta = shared_option(TIMEOUT, TIME_LIMIT)
    force_conflicts: bool = option(help="Take ownership of fields that other clients have set.")
    take_ownership: bool = option(
        help="Take over what other manifests installed, with these values alone, and their fields."
    )


@click.command("install", help=_INSTALL_HELP, epilog=_EXIT_CODES)
@group(InstallationChoice, "asked")
@group(InstallOptions, "how", without=("take_ownership",))
@cluster_options
@click.pass_obj
def install(cli: CliContext, asked: InstallationChoice, how: InstallOptions, scope: Scope) -> None:
    """Install, or complete an installation. Raises Misused without an image: none is public."""
    given = installation_values.chosen(asked, {}, cli.stdin)
    if how.dry_run == "client":
        _check_image(given, "install", scope)
        namespace = scope.system_namespace or contract.SYSTEM_NAMESPACE
        documents = installation_values.documents(given, namespace)
        print_changed(cli, how.output or "yaml", (), documents)
        return
    cluster = cli.connect(scope).cluster
    if find(cluster, webhook_deployment(cluster)) is not None:
        by = installer_of(cluster)
        if by.refusal:
            raise Refused(_ways(by, scope))
        raise Refused(
            "kubectl-edl is installed already; another image or other values: "
            f"kubectl edl upgrade{scope.edl_flags}"
        )
    if outside := served_outside(cluster):
        home = readable_elsewhere(cluster) or scope.system_namespace
        there = replace(scope, system_namespace=home)
        raise Refused(
            f"kubectl-edl is installed already: the webhook is served from {outside}, by no "
            "Deployment of this cluster; to run it in the cluster, first: "
            f"kubectl edl uninstall{there.edl_flags}"
        )
    refuse_elsewhere(cluster, scope)
    _check_image(given, "install", scope)
    _put(cli, scope, cluster, given, how)


def _check_image(given: Json, verb: str, scope: Scope) -> None:
    if "image" not in given:
        remedy = rollout.image_remedy(verb, scope.edl_flags)
        raise Misused(f"--image is missing: {remedy}")


@click.command("upgrade", help=_UPGRADE_HELP, epilog=_EXIT_CODES)
@group(InstallationChoice, "asked")
@group(InstallOptions, "how")
@cluster_options
@click.pass_obj
def upgrade(cli: CliContext, asked: InstallationChoice, how: InstallOptions, scope: Scope) -> None:
    """Upgrade to this plugin's version; values that are not given keep their previous setting."""
    cluster = cli.connect(scope).cluster
    refuse_elsewhere(cluster, scope)
    by = installer_of(cluster)
    if by.refusal and not (by.takeover and how.take_ownership):
        raise Refused(_ways(by, scope))
    before = installation_values.previous(cluster)
    given = installation_values.chosen(asked, before or {}, cli.stdin)
    if before is None:
        _check_image(given, "upgrade --take-ownership", scope)
    _put(cli, scope, cluster, given, how)


def _ways(by: Installer, scope: Scope) -> str:
    """Why the plugin does not apply, and the commands of what installed kubectl-edl."""
    leave = "; to leave it to the plugin, with all values that are not the default: "
    takeover = f"{leave}{with_flags(by.takeover, scope)}" if by.takeover else ""
    return f"{by.refusal}: {with_flags(by.again, scope)}{takeover}"


def _put(
    cli: CliContext, scope: Scope, cluster: PluginCluster, given: Json, how: InstallOptions
) -> None:
    documents = installation_values.documents(given, cluster.system_namespace)
    if how.dry_run == "client":
        print_changed(cli, how.output or "yaml", (), documents)
        return
    if unchecked := check_rights(cluster, documents):
        cli.warn(unchecked)
    force = how.force_conflicts or how.take_ownership
    rehearsal = Apply(cluster, dry_run=True, force=force)
    apply = replace(rehearsal, dry_run=how.dry_run == "server")
    if not apply.dry_run:  # a server dry run first, so that an error occurs before any write
        for document in documents:
            rehearsal(document)
    sentences = not how.output
    done = [_announce(cli, one, how) if sentences else one for one in map(apply, documents)]
    _delete_others(cli, scope, cluster, [applied.target for applied in done], how)
    if not sentences:
        print_changed(cli, how.output, (), [applied.after for applied in done])
    if how.wait and not apply.dry_run:
        rollout.wait(cli, cluster, how.timeout, scope)
        if sentences:
            cli.say(f"kubectl-edl is ready: kubectl edl status -A{scope.edl_flags}")


def _delete_others(
    cli: CliContext,
    scope: Scope,
    cluster: PluginCluster,
    wanted: Sequence[ObjectRef],
    how: InstallOptions,
) -> None:
    """Delete what the installation no longer has, and name what only looks like a part of it."""
    old = prune.superseded(cluster, wanted)
    for target in old if how.dry_run == "server" else prune.remove(cluster, old):
        if not how.output:
            cli.say(f"{name_of(target)} deleted{REMARKS[how.dry_run]}")
    cli.warn(*prune.others_stay(cluster, scope.cluster_flags, wanted))


def _announce(cli: CliContext, applied: Applied, how: InstallOptions) -> Applied:
    cli.say(f"{name_of(applied.target)} {applied.verb}{REMARKS[how.dry_run]}")
    for difference in applied.differences:
        cli.say(f"  {difference}")
    return applied
