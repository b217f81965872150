"""Edits one team in a document; the rest of the text stays as it is, including comments."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import yaml

from edl.errors import Denied, Finding
from edl.model.teams import DEFAULT_TEAM, Teams
from edl.parsing.strict_yaml import load
from edl.parsing.team_document import BOUNDS, parse_teams, render_teams
from edl.parsing.yaml_edits import EditError, edited

_TEAMS: Final = "teams"


def with_team(text: str, name: str, changes: Mapping[str, object]) -> str:
    """The document with these fields of a team set; a team that does not exist is added.

    An empty value removes its field. Raises Denied if the document before or after the change is
    invalid.
    """
    teams = _listed(parse_teams(text))
    fields = next((one for one in teams if one["name"] == name), None)
    if fields is None:
        fields = {"name": name}
        teams.append(fields)
    fields.update(changes)
    for field in [field for field, value in changes.items() if value in ("", [], {})]:
        del fields[field]
    return _written(text, teams)


def without_team(text: str, name: str) -> str:
    """The document without a team. Raises Denied if the team does not exist, or has child teams."""
    teams = _listed(parse_teams(text))
    left = [one for one in teams if one["name"] != name]
    if len(left) == len(teams):
        known = ", ".join(one["name"] for one in teams) or "there are none"
        raise Denied([Finding("teams", f'no team is named "{name}"', known)])
    below = [str(one["name"]) for one in left if one.get("parent") == name]
    if below:
        what = f"{', '.join(below)} {'is' if len(below) == 1 else 'are'} below it"
        raise Denied([Finding(f"team {name}", what, "delete these first, or give them a parent")])
    return _written(text, left)


def _listed(teams: Teams) -> list[dict[str, Any]]:
    """The teams of a document, each as a mapping of its fields."""
    found: list[dict[str, Any]] = yaml.safe_load(render_teams(teams))[_TEAMS] or []
    return found


def _written(text: str, teams: list[dict[str, Any]]) -> str:
    """The text with as few changes as possible; rendered anew if it cannot be edited in place."""
    whole = yaml.safe_dump({_TEAMS: teams}, sort_keys=False, width=100)
    wanted = parse_teams(whole)
    before = {_TEAMS: _in_order_of(text, _listed(parse_teams(text)))}
    after = {_TEAMS: _in_order_of(text, teams)}
    with suppress(Denied, *EditError):
        changed = edited(text, before, after)
        if parse_teams(changed) == wanted:
            return changed
    return whole


def _in_order_of(text: str, teams: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The teams in the order of the text, new ones at the end."""
    document = load(text, BOUNDS)
    listed = document.get(_TEAMS) if isinstance(document, dict) else None
    names = [one.get("name") for one in listed or () if isinstance(one, dict)]
    place = {name: number for number, name in enumerate(names)}
    return sorted(teams, key=lambda one: place.get(one["name"], len(place)))


def taken_away(before: Teams, after: Teams) -> tuple[str, ...]:
    """What the change takes from teams, as sentences for a confirmation prompt."""
    losses = []
    for name in sorted({team.name for team in before} - {DEFAULT_TEAM}):
        if name not in after:
            losses.append(f"team {name} is deleted")
            continue
        for resource, amount in before.guaranteed[name]:
            if after.guaranteed[name].get(resource) < amount:
                losses.append(f"team {name} is guaranteed less {resource}")
        limits = dict(before[name].limit)
        for resource, most in after[name].limit:
            if most < limits.get(resource, most + 1):
                losses.append(f"team {name} may use less {resource}")
        if gone := set(before[name].namespaces) - set(after[name].namespaces):
            losses.append(f"{', '.join(sorted(gone))} leaves team {name}")
    return tuple(losses)
