"""`kubectl edl teams`: lists teams; one subcommand per change."""

from collections import Counter
from typing import TYPE_CHECKING, Final

import click

from kubectl_edl.cli.candidates import namespaces
from kubectl_edl.cli.command_errors import EXIT_CODES_HELP
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.lazy_group import Listed
from kubectl_edl.cli.options import OutputOptions, a_cluster, group, printing
from kubectl_edl.teams.options import TeamFields, TeamWriting

if TYPE_CHECKING:
    from kubectl_edl.output.report import Report

_HELP: Final = """Show what teams are guaranteed, use, borrow and lend, and their waiting jobs.

A team stands below its parent, whose figures count it in. BORROWED is what a team uses beyond its
guarantee; LENT is its part of what others borrow of guarantees. USED counts requests, as
kube-scheduler does; what pods really use is in kubectl edl top. -o wide adds SHARE, the largest
part of the cluster that a team borrows, by its weight: beside each other the team with the least is
next. Teams are one document, the ConfigMap edl-teams in edl-system; set and delete change it, and
so does kubectl edit.

\b
Examples:
  # The teams
  kubectl edl teams
  # With limits, weights, and what they may take back
  kubectl edl teams -o wide
  # A team with 32 guaranteed GPUs
  kubectl edl teams set vision --namespace 'vision-*' --guaranteed nvidia.com/gpu=32

-o json prints a TeamList; its fields: docs/reference/outputs.md
"""
_SET_HELP: Final = """Make a team, or change fields of one; what is not named stays.

An empty value takes a field out: --limit "" removes the limit. Everything is checked before it is
written, and nothing is written over another's change. It asks where something is taken away.
Comments in the document stay, but for those inside the team that is changed.

\b
Examples:
  kubectl edl teams set research --guaranteed nvidia.com/gpu=64,cpu=800
  kubectl edl teams set vision --parent research --namespace vision-prod --namespace 'vision-*'
  # Twice the part of idle capacity, and never more than 48 GPUs
  kubectl edl teams set vision --weight 2 --limit nvidia.com/gpu=48
  # Its guarantee may take whole jobs of borrowers
  kubectl edl teams set vision --reclaim jobs
"""
_DELETE_HELP: Final = """Delete a team. Its namespaces belong to the team default then.

No job is stopped by that.

\b
Examples:
  kubectl edl teams delete vision
  kubectl edl teams delete vision --yes
"""


@click.command(
    "set",
    short_help="Make a team, or change fields of one.",
    help=_SET_HELP,
    epilog=EXIT_CODES_HELP,
)
@click.argument("name")
@group(TeamFields, "fields")
@group(TeamWriting, "writing")
@a_cluster
@click.pass_obj
def set_team(
    world: CliContext, name: str, fields: TeamFields, writing: TeamWriting, scope: Scope
) -> None:
    from edl.parsing.team_edits import with_team  # noqa: PLC0415 (not for --help)
    from kubectl_edl.teams.team_changes import change_teams  # noqa: PLC0415 (the same)

    changes = fields.changes()
    done = change_teams(world, scope, writing, lambda text: with_team(text, name, changes))
    world.say(f"team {name} {done}")


@click.command(
    "delete",
    short_help="Delete a team.",
    help=_DELETE_HELP,
    epilog=EXIT_CODES_HELP,
)
@click.argument("name")
@group(TeamWriting, "writing")
@a_cluster
@click.pass_obj
def delete_team(world: CliContext, name: str, writing: TeamWriting, scope: Scope) -> None:
    from edl.parsing.team_edits import without_team  # noqa: PLC0415 (not for --help)
    from kubectl_edl.teams.team_changes import change_teams  # noqa: PLC0415 (the same)

    done = change_teams(world, scope, writing, lambda text: without_team(text, name))
    world.say(f"team {name} {'deleted' if done.startswith('written') else done}")


@click.option(
    "-n", "--namespace", shell_complete=namespaces, help="The team of this namespace alone."
)
@a_cluster
@printing
@click.pass_context
def _show(ctx: click.Context, scope: Scope, reading: OutputOptions) -> None:
    if ctx.invoked_subcommand is not None:
        return
    from kubectl_edl.cli.watch_report import show  # noqa: PLC0415 (not for --help)

    world = ctx.ensure_object(CliContext)
    show(world, reading, lambda: _report(world, scope))


def _report(world: CliContext, scope: Scope) -> "Report":
    from edl.planner.decide import decide  # noqa: PLC0415 (numpy)
    from edl.visibility.queue_order import waiting  # noqa: PLC0415 (the same)
    from edl.visibility.team_figures import team_figures  # noqa: PLC0415 (the same)
    from kubectl_edl.client.cluster_view import survey_cluster  # noqa: PLC0415 (the same)
    from kubectl_edl.client.reconciler_settings import (  # noqa: PLC0415 (the same)
        SettingsOverrides,
        deciding,
    )
    from kubectl_edl.teams.view import teams_report  # noqa: PLC0415 (the same)

    connection, now = world.connect(scope), world.now()
    hints: list[str] = []
    state = survey_cluster(connection.cluster, now, hints)
    settings = deciding(connection, SettingsOverrides(), now).settings
    plan = decide(state, settings.value(), settings.limits)
    found = team_figures(state, (one.job for one in waiting(state, plan)))
    if scope.namespace:
        found = tuple(one for one in found if one.team.name == state.team_of(scope.namespace))
    return teams_report(found, Counter(state.namespace_teams.values())).with_hints(hints)


teams: Final = click.command(
    "teams",
    cls=Listed,
    commands=(set_team, delete_team),
    help=_HELP,
    epilog=EXIT_CODES_HELP,
    invoke_without_command=True,
)(_show)
