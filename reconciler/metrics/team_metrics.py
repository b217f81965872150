"""Gauges of teams, computed from the last decision when `/metrics` is scraped."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from prometheus_client.core import GaugeMetricFamily

from edl.model import ClusterState, JobKey
from edl.visibility.team_figures import TeamFigures, team_figures

MOST: Final = 100
"""Teams with gauges, from the top of the tree: their names are label values."""


def team_gauges(
    state: ClusterState, waiting: Iterable[JobKey], resources: Mapping[str, tuple[str, float]]
) -> Iterator[GaugeMetricFamily]:
    """`resources` maps our names to a label and the factor to cores, bytes or units."""
    figures = sorted(team_figures(state, waiting), key=lambda one: (one.level, one.team.name))
    amounts = GaugeMetricFamily(
        "edl_team_resources",
        "Resources that a team is guaranteed, uses, borrows and lends, in cores, bytes and units.",
        labels=["team", "resource", "state"],
    )
    queued = GaugeMetricFamily(
        "edl_team_queued_jobs", "Queued training jobs of a team.", labels=["team"]
    )
    for one in figures[:MOST]:
        queued.add_metric([one.team.name], one.waiting)
        for labels, value in _amounts(one, resources):
            amounts.add_metric([one.team.name, *labels], value)
    yield amounts
    yield queued


def _amounts(
    one: TeamFigures, resources: Mapping[str, tuple[str, float]]
) -> Iterator[tuple[tuple[str, str], float]]:
    """Each resource that the team is guaranteed or uses; zeros keep the series continuous."""
    parts = {
        "guaranteed": one.guaranteed,
        "used": one.used,
        "borrowed": one.borrowed,
        "lent": one.lent,
    }
    for name, (label, scale) in resources.items():
        if one.guaranteed.get(name) or one.used.get(name):
            for state, amounts in parts.items():
                yield (label, state), amounts.get(name) * scale
