"""Gauges of teams, computed from the last decision when `/metrics` is scraped."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from prometheus_client.core import GaugeMetricFamily

from edl.model import ClusterState, JobKey
from edl.visibility.team_figures import TeamFigures, team_figures

MAX_TEAMS: Final = 100
"""Teams with gauges, from the top of the tree: their names are label values."""


def team_gauges(
    state: ClusterState, waiting: Iterable[JobKey], resources: Mapping[str, tuple[str, float]]
) -> Iterator[GaugeMetricFamily]:
    """`resources` maps our names to a label and the factor to cores, bytes or units."""
    figures = sorted(team_figures(state, waiting), key=lambda team: (team.level, team.team.name))
    amounts = GaugeMetricFamily(
        "edl_team_resources",
        "Resources that a team is guaranteed, uses, borrows and lends, in cores, bytes and units.",
        labels=["team", "resource", "state"],
    )
    queued = GaugeMetricFamily(
        "edl_team_queued_jobs", "Queued training jobs of a team.", labels=["team"]
    )
    for team in figures[:MAX_TEAMS]:
        queued.add_metric([team.team.name], team.waiting)
        for labels, value in _amounts(team, resources):
            amounts.add_metric([team.team.name, *labels], value)
    yield amounts
    yield queued


def _amounts(
    team: TeamFigures, resources: Mapping[str, tuple[str, float]]
) -> Iterator[tuple[tuple[str, str], float]]:
    """Each resource that the team is guaranteed or uses; zeros keep the series continuous."""
    parts = {
        "guaranteed": team.guaranteed,
        "used": team.used,
        "borrowed": team.borrowed,
        "lent": team.lent,
    }
    for name, (label, scale) in resources.items():
        if team.guaranteed.get(name) or team.used.get(name):
            for state, amounts in parts.items():
                yield (label, state), amounts.get(name) * scale
