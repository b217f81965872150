"""Gauges of teams, computed from the last decision when `/metrics` is scraped."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from prometheus_client.core import GaugeMetricFamily

from edl import contract
from edl.model import ClusterState, JobKey
from edl.quantities import CPU, MEMORY, PODS, SHARED_GPU
from edl.visibility.team_figures import TeamFigures, team_figures

RESOURCES: Final[Mapping[str, tuple[str, float]]] = {
    CPU: ("cpu", 1e-3),
    MEMORY: ("memory", 1.0),
    PODS: ("pods", 1.0),
    contract.GPU_RESOURCE: (contract.GPU_RESOURCE, 1.0),
    "amd.com/gpu": ("amd.com/gpu", 1.0),
    "ephemeral-storage": ("ephemeral-storage", 1.0),
    SHARED_GPU: ("shared-gpu", 1e-3),
}
"""By our names: the label, and the factor from our integers to cores, bytes and whole GPUs."""
MAX_TEAMS: Final = 100
"""Teams with gauges, from the top of the tree: their names are label values."""


def team_gauges(state: ClusterState, waiting: Iterable[JobKey]) -> Iterator[GaugeMetricFamily]:
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
        for labels, value in _amounts(team):
            amounts.add_metric([team.team.name, *labels], value)
    yield amounts
    yield queued


def _amounts(team: TeamFigures) -> Iterator[tuple[tuple[str, str], float]]:
    """Each resource that the team is guaranteed or uses; zeros keep the series continuous."""
    parts = {
        "guaranteed": team.guaranteed,
        "used": team.used,
        "borrowed": team.borrowed,
        "lent": team.lent,
    }
    for name, (label, scale) in RESOURCES.items():
        if team.guaranteed.get(name) or team.used.get(name):
            for state, amounts in parts.items():
                yield (label, state), amounts.get(name) * scale
