"""The output of `kubectl edl teams`."""

from collections.abc import Mapping, Sequence
from typing import Final

from edl.parsing.team_fields import resource_name
from edl.quantities import Resources, number_text
from edl.visibility.team_figures import TeamFigures
from kubectl_edl.output.cell_quantities import fine_percent, quantities
from kubectl_edl.output.documents.team_documents import TeamDocument
from kubectl_edl.output.report import Report, documents
from kubectl_edl.output.table import Column, Table

RESOURCE: Final = "team.edl.dev"


def teams_report(teams: Sequence[TeamFigures], namespaces: Mapping[str, int]) -> Report:
    """One row per team, below its parent's. `namespaces`: the number of each team's, by team."""
    return Report(
        sections=(Table.of(_columns(namespaces), teams),),
        objects=documents("Team", (_document(figures, namespaces) for figures in teams)),
        names=tuple(f"{RESOURCE}/{figures.team.name}" for figures in teams),
        list_kind="TeamList",
        nothing="No teams are configured.",
    )


def _columns(namespaces: Mapping[str, int]) -> tuple[Column[TeamFigures], ...]:
    return (
        Column("TEAM", lambda row: "  " * row.level + row.team.name),
        Column("NAMESPACES", lambda row: str(namespaces.get(row.team.name, 0)), spare=2),
        Column("GUARANTEED", lambda row: _amounts(row.guaranteed), shrinks=True),
        Column("USED", lambda row: _amounts(row.used), shrinks=True),
        Column("BORROWED", lambda row: _amounts(row.borrowed), shrinks=True),
        Column("LENT", lambda row: _amounts(row.lent), shrinks=True, spare=1),
        Column("LIMIT", lambda row: _amounts(Resources.of(dict(row.team.limit))), wide=True),
        Column("WEIGHT", lambda row: f"{row.team.weight:g}", wide=True),
        Column("SHARE", lambda row: fine_percent(row.share), wide=True),
        Column("LEND", lambda row: "yes" if row.team.lend else "no", wide=True),
        Column("RECLAIM", lambda row: row.team.reclaim.value, wide=True),
        Column("QUEUED", lambda row: str(row.waiting)),
    )


def _amounts(given: Resources) -> str:
    """Amounts in the format of `teams set`: `cpu=800,nvidia.com/gpu=64`."""
    return ",".join(f"{resource_name(name)}={number_text(name, amount)}" for name, amount in given)


def _document(figures: TeamFigures, namespaces: Mapping[str, int]) -> TeamDocument:
    team = figures.team
    return {
        "metadata": {"name": team.name},
        "parent": team.parent or None,
        "namespaces": namespaces.get(team.name, 0),
        "guaranteed": quantities(figures.guaranteed),
        "limit": quantities(team.limit),
        "weight": team.weight,
        "lend": team.lend,
        "reclaim": team.reclaim.value,
        "used": quantities(figures.used),
        "borrowed": quantities(figures.borrowed),
        "lent": quantities(figures.lent),
        "share": round(figures.share, 4),
        "queuedTrainingJobs": figures.waiting,
    }
