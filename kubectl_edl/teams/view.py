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


def teams_report(found: Sequence[TeamFigures], namespaces: Mapping[str, int]) -> Report:
    """One row per team, below its parent's. `namespaces`: the number of each team's, by team."""
    return Report(
        sections=(Table.of(_columns(namespaces), found),),
        objects=documents("Team", (_document(one, namespaces) for one in found)),
        names=tuple(f"{RESOURCE}/{one.team.name}" for one in found),
        list_kind="TeamList",
        nothing="No teams are configured.",
    )


def _columns(namespaces: Mapping[str, int]) -> tuple[Column[TeamFigures], ...]:
    return (
        Column("TEAM", lambda one: "  " * one.level + one.team.name),
        Column("NAMESPACES", lambda one: str(namespaces.get(one.team.name, 0)), spare=2),
        Column("GUARANTEED", lambda one: _amounts(one.guaranteed), shrinks=True),
        Column("USED", lambda one: _amounts(one.used), shrinks=True),
        Column("BORROWED", lambda one: _amounts(one.borrowed), shrinks=True),
        Column("LENT", lambda one: _amounts(one.lent), shrinks=True, spare=1),
        Column("LIMIT", lambda one: _amounts(Resources.of(dict(one.team.limit))), wide=True),
        Column("WEIGHT", lambda one: f"{one.team.weight:g}", wide=True),
        Column("SHARE", lambda one: fine_percent(one.share), wide=True),
        Column("LEND", lambda one: "yes" if one.team.lend else "no", wide=True),
        Column("RECLAIM", lambda one: one.team.reclaim.value, wide=True),
        Column("QUEUED", lambda one: str(one.waiting)),
    )


def _amounts(found: Resources) -> str:
    """Amounts in the format of `teams set`: `cpu=800,nvidia.com/gpu=64`."""
    return ",".join(f"{resource_name(name)}={number_text(name, amount)}" for name, amount in found)


def _document(one: TeamFigures, namespaces: Mapping[str, int]) -> TeamDocument:
    team = one.team
    return {
        "metadata": {"name": team.name},
        "parent": team.parent or None,
        "namespaces": namespaces.get(team.name, 0),
        "guaranteed": quantities(one.guaranteed),
        "limit": quantities(team.limit),
        "weight": team.weight,
        "lend": team.lend,
        "reclaim": team.reclaim.value,
        "used": quantities(one.used),
        "borrowed": quantities(one.borrowed),
        "lent": quantities(one.lent),
        "share": round(one.share, 4),
        "queuedTrainingJobs": one.waiting,
    }
