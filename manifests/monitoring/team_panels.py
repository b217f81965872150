"""The dashboard's row on teams; it is empty if no teams are configured."""

from typing import Final

from manifests.monitoring.panel_model import Panel, Query, Row


def _share(state: str) -> str:
    """The largest used share of a team's guarantee, over all resources."""
    owed = 'max by (team, resource) (edl_team_resources{state="guaranteed"}) > 0'
    has = f'max by (team, resource) (edl_team_resources{{state="{state}"}})'
    return f"max by (team) ({has} / ({owed}))"


TEAMS: Final = Row(
    "Teams",
    (
        Panel(
            "Used of the guarantee",
            "The resource that a team uses most; above 1 the team borrows.",
            "percentunit",
            (Query(_share("used"), "{{team}}"),),
        ),
        Panel(
            "Borrowed by resource",
            "What a team uses beyond its guarantee, in cores, bytes and pieces.",
            "short",
            (
                Query(
                    'max by (team, resource) (edl_team_resources{state="borrowed"}) > 0',
                    "{{team}} {{resource}}",
                ),
            ),
        ),
        Panel(
            "Lent of the guarantee",
            "What others use of what a team is guaranteed.",
            "percentunit",
            (Query(_share("lent"), "{{team}}"),),
        ),
        Panel(
            "Jobs that wait, by team",
            "Training jobs in the queue, those of the teams below counted in.",
            "short",
            (Query("max by (team) (edl_team_queued_jobs)", "{{team}}"),),
        ),
    ),
)
