"""Edits one team in a document; the rest of the text stays as it is, including comments."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import yaml

from edl.errors import Denied, Finding
from edl.model.teams import DEFAULT_TEAM, Reclaim, Team, Teams
from edl.parsing.strict_yaml import load
from edl.parsing.team_document import BOUNDS, parse_teams, render_teams
from edl.parsing.yaml_edits import EditError, edited

_TEAMS: Final = "teams"
_WILDCARD: Final = "*"


def with_team(text: str, name: str, changes: Mapping[str, object]) -> str:
    """The document with these fields of a team set; a team that does not exist is added.

    An empty value removes its field. Raises Denied if the document before or after the change is
    invalid.
    """
    teams = _listed(parse_teams(text))
    fields = next((team for team in teams if team["name"] == name), None)
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
    left = [team for team in teams if team["name"] != name]
    if len(left) == len(teams):
        names = ", ".join(team["name"] for team in teams) or "there are none"
        raise Denied([Finding("teams", f'no team is named "{name}"', names)])
    below = [str(team["name"]) for team in left if team.get("parent") == name]
    if below:
        what = f"{', '.join(below)} {'is' if len(below) == 1 else 'are'} below it"
        raise Denied([Finding(f"team {name}", what, "delete these first, or give them a parent")])
    return _written(text, left)


def _listed(teams: Teams) -> list[dict[str, Any]]:
    """The teams of a document, each as a mapping of its fields."""
    listed: list[dict[str, Any]] = yaml.safe_load(render_teams(teams))[_TEAMS] or []
    return listed


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
    names = [entry.get("name") for entry in listed or () if isinstance(entry, dict)]
    place = {name: number for number, name in enumerate(names)}
    return sorted(teams, key=lambda team: place.get(team["name"], len(place)))


def taken_away(before: Teams, after: Teams) -> tuple[str, ...]:
    """What the change takes from teams, as sentences for a confirmation prompt.

    Only the documents are compared: a new pattern may also match namespaces of other teams.
    """
    deleted = [team.name for team in before if team.name not in after]
    losses = [f"team {name} is deleted" for name in deleted if name != DEFAULT_TEAM]
    for team in before:
        if team.name in after:
            losses += _amounts_lost(team.name, before, after)
            losses += _settings_lost(team, after[team.name])
            gone = _namespaces_lost(team.name, before, after)
            if gone and team.name != DEFAULT_TEAM:  # which has what no other team has
                losses.append(f"{', '.join(gone)} leaves team {team.name}")
    return tuple(losses)


def _amounts_lost(name: str, before: Teams, after: Teams) -> Iterator[str]:
    for resource, amount in before.guaranteed[name]:
        if after.guaranteed[name].get(resource) < amount:
            yield f"team {name} is guaranteed less {resource}"
    limits = dict(before[name].limit)
    for resource, most in after[name].limit:
        if most < limits.get(resource, most + 1):
            yield f"team {name} may use less {resource}"


def _settings_lost(before: Team, after: Team) -> Iterator[str]:
    if before.parent and after.parent != before.parent:
        yield f"team {before.name} leaves its parent {before.parent}"
    elif after.parent != before.parent:
        yield f"team {before.name} gets the parent {after.parent}"
    if after.weight < before.weight:
        yield f"team {before.name} has a lower weight"
    if before.lend and not after.lend:
        yield f"team {before.name} stops lending"
    if (before.reclaim, after.reclaim) == (Reclaim.JOBS, Reclaim.REPLICAS):
        yield f"team {before.name} reclaims only replicas"
    if before.selector and not (after.selector and {*after.selector} <= {*before.selector}):
        yield f"team {before.name} no longer has the namespaces that its labels select"


def _namespaces_lost(name: str, before: Teams, after: Teams) -> list[str]:
    """The patterns that a team loses, and the namespaces of either document that change team."""
    patterns = {*before[name].namespaces} - {*after[name].namespaces}
    listed = (one for teams in (before, after) for team in teams for one in team.namespaces)
    moved = {
        entry
        for entry in listed
        if _WILDCARD not in entry and before.team_of(entry, {}) == name != after.team_of(entry, {})
    }
    return sorted(moved | {pattern for pattern in patterns if _WILDCARD in pattern})
