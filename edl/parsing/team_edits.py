"""One team of a document changed: whatever else stands there stays, its comments too."""

from collections.abc import Mapping
from typing import Any, Final

import yaml

from edl.errors import Denied, Finding
from edl.model.teams import DEFAULT_TEAM, Teams
from edl.parsing.team_document import parse_teams, render_teams

_TEAMS: Final = "teams"


def with_team(text: str, name: str, changes: Mapping[str, object]) -> str:
    """The document with these fields of a team, which is new where there is none of this name.

    An empty value takes a field out. Raises Denied where the document is not read then.
    """
    teams = _listed(parse_teams(text))
    fields = next((one for one in teams if one["name"] == name), None)
    if fields is None:
        fields = {"name": name}
        teams.append(fields)
    fields.update(changes)
    for field in [field for field, value in changes.items() if value in ("", [], {})]:
        del fields[field]
    return _written(text, name, fields, teams)


def without_team(text: str, name: str) -> str:
    """The document without a team. Raises Denied where there is none, or it has teams below it."""
    teams = _listed(parse_teams(text))
    left = [one for one in teams if one["name"] != name]
    if len(left) == len(teams):
        known = ", ".join(one["name"] for one in teams) or "there are none"
        raise Denied([Finding("teams", f'no team is named "{name}"', known)])
    below = [str(one["name"]) for one in left if one.get("parent") == name]
    if below:
        what = f"{', '.join(below)} {'is' if len(below) == 1 else 'are'} below it"
        raise Denied([Finding(f"team {name}", what, "delete these first, or give them a parent")])
    return _written(text, name, None, left)


def _listed(teams: Teams) -> list[dict[str, Any]]:
    """The teams of a document as its fields."""
    found: list[dict[str, Any]] = yaml.safe_load(render_teams(teams))[_TEAMS] or []
    return found


def _written(
    text: str, name: str, fields: Mapping[str, Any] | None, teams: list[dict[str, Any]]
) -> str:
    """As little of the text as possible differs; where that goes wrong, all is written anew."""
    whole = yaml.safe_dump({_TEAMS: teams}, sort_keys=False, width=100)
    wanted = parse_teams(whole)
    try:
        edited = _replaced(text, name, fields)
        if edited is not None and parse_teams(edited) == wanted:
            return edited
    except (Denied, yaml.YAMLError):
        pass
    return whole


def _replaced(text: str, name: str, fields: Mapping[str, Any] | None) -> str | None:
    """None where the document is not written as a list of blocks."""
    entries = _entries(text)
    if entries is None or not entries.value:
        return None
    items: list[yaml.MappingNode] = entries.value
    dash = entries.start_mark.column
    block = _block(fields, dash) if fields else ""
    for item in items:
        if any(key.value == "name" and value.value == name for key, value in item.value):
            start = text.rindex("\n", 0, item.start_mark.index) + 1
            return text[:start] + block + text[_end(text, item) :]
    end = _end(text, items[-1])
    before = text[:end] if text[:end].endswith("\n") else f"{text[:end]}\n"
    return before + block + text[end:]


def _entries(text: str) -> yaml.SequenceNode | None:
    document = yaml.compose(text, Loader=yaml.SafeLoader)
    pairs = document.value if isinstance(document, yaml.MappingNode) else ()
    for key, value in pairs:
        if key.value == _TEAMS and isinstance(value, yaml.SequenceNode) and not value.flow_style:
            return value
    return None


def _block(fields: Mapping[str, Any], dash: int) -> str:
    lines = yaml.safe_dump([dict(fields)], sort_keys=False, width=100).splitlines(keepends=True)
    return "".join(" " * dash + line for line in lines)


def _end(text: str, item: yaml.Node) -> int:
    """Behind the line with the last value of an entry: comments below it belong to the next."""
    node = item
    while isinstance(node, yaml.MappingNode | yaml.SequenceNode) and node.value:
        if node.flow_style:
            break
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    end = text.find("\n", node.end_mark.index - 1)
    return len(text) if end < 0 else end + 1


def has_comments(text: str) -> bool:
    """Whether something may be lost where a document is written anew."""
    return any(line.lstrip().startswith("#") or " #" in line for line in text.splitlines())


def taken_away(before: Teams, after: Teams) -> tuple[str, ...]:
    """What teams have less of than before, for a question."""
    told = []
    for name in sorted({team.name for team in before} - {DEFAULT_TEAM}):
        if name not in after:
            told.append(f"team {name} is deleted")
            continue
        for resource, amount in before.guaranteed[name]:
            if after.guaranteed[name].get(resource) < amount:
                told.append(f"team {name} is guaranteed less {resource}")
        limits = dict(before[name].limit)
        for resource, most in after[name].limit:
            if most < limits.get(resource, most + 1):
                told.append(f"team {name} may use less {resource}")
        if gone := set(before[name].namespaces) - set(after[name].namespaces):
            told.append(f"{', '.join(sorted(gone))} leaves team {name}")
    return tuple(told)
