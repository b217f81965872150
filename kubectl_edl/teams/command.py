"""`kubectl edl teams`: lists teams; one subcommand per change."""

from collections import Counter
from typing import TYPE_CHECKING, Final

import click

from edl.kube.option_group import group
from kubectl_edl.cli.completion_candidates import namespaces
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.lazy_group import Listed
from kubectl_edl.cli.options import ConfirmOptions, OutputOptions, cluster_options, print_options
from kubectl_edl.teams.options import TeamFields

if TYPE_CHECKING:
    from kubectl_edl.output.report import Report

_HELP: Final = """Show what teams are guaranteed, use, borrow and lend, and their queued jobs.

The figures of a team include those of the teams below it. BORROWED is usage beyond the guarantee;
LENT is the team's part of what others borrow of guarantees. USED counts requests, as kube-scheduler
does; kubectl edl top shows real usage. QUEUED counts queued jobs. -o wide adds SHARE, the largest
part of the cluster that a team borrows, by its weight: among siblings, the team with the smallest
share is next. Teams are stored in the ConfigMap edl-teams in edl-system; change them with set and
delete, or kubectl edit.
The figures are computed from all nodes, pods and Jobs: you need the ClusterRole edl-viewer in the
whole cluster, also with -n.

\b
Examples:
  # List the teams
  kubectl edl teams
  # Add limits, weights and reclaim settings
  kubectl edl teams -o wide
  # Guarantee 32 GPUs to a team
  kubectl edl teams set vision --namespace 'vision-*' --guaranteed nvidia.com/gpu=32

-o json prints a TeamList; its fields: docs/reference/outputs.md
"""
_SET_HELP: Final = """Create a team, or change its fields; fields that are not named are kept.

An empty value removes a field: --limit "" removes the limit. The result is validated before it is
written, and concurrent changes are not overwritten. You are asked for confirmation if something is
taken away. Comments in the document are kept, except those inside the changed team. A dry run
prints the changed lines.

\b
Examples:
  kubectl edl teams set research --guaranteed nvidia.com/gpu=64,cpu=800
  kubectl edl teams set vision --parent research --namespace vision-prod --namespace 'vision-*'
  # Double the weight, and limit the team to 48 GPUs
  kubectl edl teams set vision --weight 2 --limit nvidia.com/gpu=48
  # Let its guarantee reclaim whole jobs from borrowers
  kubectl edl teams set vision --reclaim jobs
"""
_DELETE_HELP: Final = """Delete a team. Its namespaces then belong to the team default.

No job is stopped. The ConfigMap edl-teams stays; without a team, its list is empty.

\b
Examples:
  kubectl edl teams delete vision
  kubectl edl teams delete vision --yes
"""


@click.command("set", short_help="Create a team, or change its fields.", help=_SET_HELP)
@click.argument("name")
@group(TeamFields, "fields")
@group(ConfirmOptions, "writing")
@cluster_options
@click.pass_obj
def set_team(
    cli: CliContext, name: str, fields: TeamFields, writing: ConfirmOptions, scope: Scope
) -> None:
    from edl.parsing.team_edits import with_team
    from kubectl_edl.teams.team_changes import change_teams

    changes = fields.changes()
    done = change_teams(cli, scope, writing, lambda text: with_team(text, name, changes))
    cli.say(f"team {name} {done}")


@click.command("delete", short_help="Delete a team.", help=_DELETE_HELP)
@click.argument("name")
@group(ConfirmOptions, "writing")
@cluster_options
@click.pass_obj
def delete_team(cli: CliContext, name: str, writing: ConfirmOptions, scope: Scope) -> None:
    from edl.parsing.team_edits import without_team
    from kubectl_edl.teams.team_changes import change_teams

    done = change_teams(cli, scope, writing, lambda text: without_team(text, name))
    cli.say(f"team {name} {done.replace('written', 'deleted')}")


@click.option(
    "-n", "--namespace", shell_complete=namespaces, help="Only show the team of this namespace."
)
@cluster_options
@print_options
@click.pass_context
def _show(ctx: click.Context, scope: Scope, output: OutputOptions) -> None:
    if ctx.invoked_subcommand is not None:
        return
    from kubectl_edl.cli.watch_report import show

    cli = ctx.ensure_object(CliContext)
    show(cli, output, lambda: _report(cli, scope))


def _report(cli: CliContext, scope: Scope) -> "Report":
    from edl.planner.decide import decide
    from edl.visibility.queue_order import waiting
    from edl.visibility.team_figures import team_figures
    from kubectl_edl.client.cluster_view import survey_cluster
    from kubectl_edl.client.reconciler_settings import deciding
    from kubectl_edl.teams.team_changes import hints_about_document
    from kubectl_edl.teams.view import teams_report

    connection, now = cli.connect(scope), cli.now()
    settings = deciding(connection, now).settings
    state, missing = survey_cluster(connection.cluster, now, settings)
    hints = (*missing, *hints_about_document(connection))
    plan = decide(state, settings.policy_to_apply(), settings.limits)
    figures = team_figures(state, (entry.job for entry in waiting(state, plan)))
    if scope.namespace:
        figures = tuple(row for row in figures if row.team.name == state.team_of(scope.namespace))
        if figures and scope.namespace not in state.namespace_teams:
            absent = f"namespace {scope.namespace} does not exist; it would belong to this team"
            hints = (*hints, f"hint: {absent}")
    return teams_report(figures, Counter(state.namespace_teams.values())).with_hints(hints)


teams: Final = click.command(
    "teams", cls=Listed, commands=(set_team, delete_team), help=_HELP, invoke_without_command=True
)(_show)
