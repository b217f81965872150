"""`kubectl edl uninstall`: deletes everything of kubectl-edl and keeps all Jobs."""

from collections.abc import Sequence
from typing import Final

import click

from certs.secrets import WEBHOOK_KINDS
from edl.kube.cluster import PluginCluster
from edl.kube.option_group import group, option, option_group
from edl.model import ObjectRef
from kubectl_edl.cli.command_errors import Exit, Misused, Refused, exit_codes
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.interaction import confirmed
from kubectl_edl.cli.options import DeletionOptions, cluster_options
from kubectl_edl.cli.suggested_commands import FixCommand, with_flags
from kubectl_edl.client.patcher import REMARKS
from kubectl_edl.install import job_restore, prune, uninstall_summary
from kubectl_edl.install.installer import applies_in, elsewhere, helm_release
from kubectl_edl.install.prune import created
from kubectl_edl.install.server_side_apply import name_of

_HELP: Final = """Uninstall kubectl-edl; Jobs are kept.

Running Jobs keep their size, without PodDisruptionBudgets. Queued Jobs stay suspended: their
number, and commands that start them by hand, are printed first. Each Job gets its own
ttlSecondsAfterFinished back. If new pods of a Job would have a scheduling gate of kubectl-edl, a
hint shows how to remove it. The namespace is kept with what others have put into it, such as the
teams, and its deletion is left to you; everything else is deleted.

An installation by Helm is uninstalled by helm uninstall, and then by this command: Helm leaves what
the reconciler created, such as PodDisruptionBudgets, which would block drains.

\b
Examples:
  # Show what would be deleted, and what happens to the Jobs
  kubectl edl uninstall --dry-run client
  # Only let the API server check it
  kubectl edl uninstall --dry-run server
  # Uninstall without confirmation
  kubectl edl uninstall --yes
  # Write commands that start the suspended Jobs by hand, once kubectl-edl is uninstalled
  kubectl edl uninstall --start-commands > start-jobs.sh
"""
_EXIT_CODES: Final = exit_codes({Exit.TIMED_OUT: "deleted but some objects were not gone in time"})


@option_group
class UninstallOptions(DeletionOptions):
    """How everything is deleted, or how Jobs run without it."""

    start_commands: bool = option(
        help="Only print the commands that start the suspended Jobs by hand; delete nothing."
    )


@click.command("uninstall", help=_HELP, epilog=_EXIT_CODES)
@group(UninstallOptions, "how")
@cluster_options
@click.pass_obj
def uninstall(cli: CliContext, how: UninstallOptions, scope: Scope) -> None:
    """Uninstall. Raises Refused without confirmation, TimedOut if an object remains."""
    if how.start_commands and (how.yes or how.dry_run != "none"):
        raise Misused("--start-commands deletes nothing: leave out --yes and --dry-run")
    cluster = cli.connect(scope).cluster
    if how.start_commands:
        jobs = uninstall_summary.elastic_jobs(cluster)
        cli.say(*uninstall_summary.start_script(jobs, scope.cluster_flags))
        return
    _check_installer(cluster, scope)
    installed = prune.installed(cluster)
    targets = tuple(dict.fromkeys((*installed, *created(cluster))))
    others = tuple(prune.others_stay(cluster, scope.cluster_flags, targets))
    cli.warn(*uninstall_summary.teams_stay(cluster, scope.cluster_flags), *others)
    if not targets:
        if not others:
            cli.say("nothing of kubectl-edl is installed in this cluster")
        return
    cli.warn(*uninstall_summary.sentences(cluster, scope.cluster_flags))
    cli.warn(*uninstall_summary.namespace_stays(cluster, scope.cluster_flags))
    if how.dry_run != "none":
        client = how.dry_run == "client"
        for target in targets if client else prune.remove(cluster, targets, dry_run=True):
            cli.say(f"{_text(cluster, target)} deleted{REMARKS[how.dry_run]}")
        return
    if not how.yes and not confirmed(
        cli, f"Delete kubectl-edl, {len(targets)} objects, from this cluster?"
    ):
        cli.warn("kubectl-edl was not uninstalled")
        return
    webhooks = [target for target in targets if target.kind in WEBHOOK_KINDS]
    _remove(cli, cluster, webhooks)
    _give_back(cli, cluster, scope.cluster_flags)
    _remove(cli, cluster, installed[len(webhooks) :])
    # Once more at the end: the reconciler may have created others until its rights were deleted.
    targets = tuple(dict.fromkeys((*targets, *created(cluster))))
    _remove(cli, cluster, targets[len(installed) :])
    if how.wait:
        ours = [target for target in targets if _is_waited_for(cluster, target)]
        prune.wait_until_gone(cli, cluster, ours, how.timeout, scope.cluster_flags)


def _check_installer(cluster: PluginCluster, scope: Scope) -> None:
    """Raise Refused for an installation by Helm, or in another namespace.

    Half of an installation is cluster-wide: it is not deleted if its namespace cannot be read.
    Raises ClusterError.
    """
    if helm := helm_release(cluster):
        release = f"{helm.name} -n {helm.namespace}"
        steps = FixCommand(f"helm uninstall {release}; kubectl edl uninstall")
        raise Refused(
            "Helm installed kubectl-edl here, and leaves what the reconciler created (such as "
            f"PodDisruptionBudgets, which would block drains); in two steps: "
            f"{with_flags(steps, scope)}"
        )
    if where := elsewhere(cluster):
        raise Refused(applies_in(where, "uninstall", scope))


def _remove(cli: CliContext, cluster: PluginCluster, targets: Sequence[ObjectRef]) -> None:
    for target in prune.remove(cluster, targets):
        cli.say(f"{_text(cluster, target)} deleted")


def _text(cluster: PluginCluster, target: ObjectRef) -> str:
    name = name_of(target)
    return name if _is_waited_for(cluster, target) else f"{name} in {target.namespace}"


def _is_waited_for(cluster: PluginCluster, target: ObjectRef) -> bool:
    """Whether to wait for it; in users' namespaces, a pod of a lost node may remain long."""
    return target.namespace in ("", cluster.system_namespace)


def _give_back(cli: CliContext, cluster: PluginCluster, flags: str) -> None:
    """Restore the Jobs' time to live and gates: nothing else would."""
    for job in filter(job_restore.asked_fields, uninstall_summary.elastic_jobs(cluster)):
        seen, why = job_restore.give_back(cluster, job, cli.sleep)
        if why:
            cli.warn(uninstall_summary.unrestored(seen, why, flags))
