"""Teams as a tree of rows, with a bar per resource. Values for the page and the terminal."""

from collections.abc import Sequence
from typing import Final

from edl.quantities import amount_text
from edl.visibility.team_figures import TeamFigures
from edl.writes import Json

MOST_TEAMS: Final = 100
"""The most teams that are shown, from the top of the tree."""
_MOST_RESOURCES: Final = 4


def shown(teams: Sequence[TeamFigures]) -> tuple[TeamFigures, ...]:
    """The topmost `MOST_TEAMS` teams, in their order."""
    first = sorted(range(len(teams)), key=lambda place: (teams[place].level, place))
    kept = set(first[:MOST_TEAMS])
    return tuple(one for place, one in enumerate(teams) if place in kept)


def bars(one: TeamFigures) -> list[Json]:
    """Bars of the resources that the team is guaranteed, then of others that it uses."""
    owed = [name for name, _ in one.guaranteed]
    others = [name for name, _ in one.used if name not in owed]
    return [_bar(one, name) for name in (*owed, *others)[:_MOST_RESOURCES]]


def _bar(one: TeamFigures, name: str) -> Json:
    """One resource; parts are percent of the larger of its guarantee and its usage.

    The parts are drawn in this order: used within the guarantee, borrowed, lent. The rest up to 100
    is idle and not lent. The text is `40 of 32 nvidia.com/gpu, 8 borrowed`.
    """
    owed, used = one.guaranteed.get(name), one.used.get(name)
    borrowed, lent = one.borrowed.get(name), one.lent.get(name)
    whole = max(owed, used, 1)
    parts = [f"{_figure(name, used)} of {amount_text(name, owed)}"]
    parts += [f"{_figure(name, borrowed)} borrowed"] * bool(borrowed)
    parts += [f"{_figure(name, lent)} lent"] * bool(lent)
    shares = {"within": used - borrowed, "borrowed": borrowed, "lent": lent}
    return {
        "resource": name,
        "text": ", ".join(parts),
        **{part: round(100 * amount / whole, 1) for part, amount in shares.items()},
    }


def _figure(name: str, amount: int) -> str:
    """An amount without the resource's name, which follows the guarantee."""
    return amount_text(name, amount).partition(" ")[0]
