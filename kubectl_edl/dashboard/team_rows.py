"""Teams as a tree of rows, with a bar per resource. Values for the page and the terminal."""

from collections.abc import Sequence
from typing import Final

import msgspec

from edl.quantities import Resources, amount_text
from edl.visibility.team_figures import TeamFigures

MOST_TEAMS: Final = 100
"""The most teams that are shown, from the top of the tree."""
_MOST_RESOURCES: Final = 4


class TeamBar(msgspec.Struct, frozen=True):
    """One resource of a team; parts are percent of the larger of its guarantee and its usage.

    The parts are drawn in this order: used within the guarantee, borrowed, lent. The rest up to 100
    is idle and not lent.
    """

    resource: str
    text: str
    """`40 of 32 nvidia.com/gpu, 8 borrowed`."""
    within: float
    borrowed: float
    lent: float


def shown(teams: Sequence[TeamFigures]) -> tuple[TeamFigures, ...]:
    """The topmost `MOST_TEAMS` teams, in their order."""
    first = sorted(range(len(teams)), key=lambda place: (teams[place].level, place))
    kept = set(first[:MOST_TEAMS])
    return tuple(one for place, one in enumerate(teams) if place in kept)


def bars(one: TeamFigures) -> tuple[TeamBar, ...]:
    """Bars of the resources that the team is guaranteed, then of others that it uses."""
    owed = [name for name, _ in one.guaranteed]
    others = [name for name, _ in one.used if name not in owed]
    return tuple(_bar(one, name) for name in (*owed, *others)[:_MOST_RESOURCES])


def _bar(one: TeamFigures, name: str) -> TeamBar:
    owed, used = one.guaranteed.get(name), one.used.get(name)
    borrowed, lent = one.borrowed.get(name), one.lent.get(name)
    whole = max(owed, used, 1)
    parts = [f"{_figure(name, used)} of {amount_text(name, owed)}"]
    parts += [f"{_figure(name, borrowed)} borrowed"] * bool(borrowed)
    parts += [f"{_figure(name, lent)} lent"] * bool(lent)
    return TeamBar(
        resource=name,
        text=", ".join(parts),
        within=_percent(used - borrowed, whole),
        borrowed=_percent(borrowed, whole),
        lent=_percent(lent, whole),
    )


def _percent(amount: int, whole: int) -> float:
    return round(100 * amount / whole, 1)


def _figure(name: str, amount: int) -> str:
    """An amount without the resource's name, which follows the guarantee."""
    return amount_text(name, amount).partition(" ")[0]


def amounts(found: Resources) -> str:
    """`400 CPU, 32 nvidia.com/gpu`; empty for nothing."""
    return str(found) if found else ""
