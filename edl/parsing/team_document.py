"""Parses the document of the ConfigMap `edl-teams` into `Teams`, and renders it."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from heapq import nsmallest
from typing import Final, TypeAlias

import yaml
from msgspec.structs import replace

from edl.dns_names import is_dns_label
from edl.errors import Denied, Findings, refuse
from edl.model.teams import DEFAULT_TEAM, Reclaim, Team, Teams
from edl.parsing.strict_yaml import YamlBounds, YamlValue, load
from edl.parsing.team_fields import TeamReader, quoted, resource_name
from edl.quantities import CPU, MEMORY, SHARED_GPU, amount_text, number_text

BOUNDS: Final = YamlBounds(size=512 * 1024, depth=7)
MAX_TEAMS: Final = 2000
MAX_LEVELS: Final = 32
MAX_PATTERNS: Final = 2000
"""Patterns of all teams together: each new namespace is matched against each of them."""
MAX_RESOURCES: Final = 256
"""Resources that all teams name together: each level of the tree sums up those below it."""
_SHOWN: Final = 8
_THOUSAND: Final = 1000


def parse_teams(text: str) -> Teams:
    """The teams of a document.

    Raises Denied with every finding, each with the path of its field.
    """
    document = load(text, BOUNDS)
    findings = Findings()
    if document is None:
        return Teams()
    if not isinstance(document, dict):
        findings.found("the document", quoted(document), "`teams:` and a list")
        raise Denied(findings)
    for name in sorted(document.keys() - {"teams"}):
        findings.found(name[:63], "unknown field", "teams")
    listed = document.get("teams")
    if listed is not None and not isinstance(listed, list):
        findings.found("teams", quoted(listed), "a list")
    entries = listed if isinstance(listed, list) else []
    if len(entries) > MAX_TEAMS:
        findings.found("teams", f"it has {len(entries)} entries", f"at most {MAX_TEAMS}")
        entries = []
    teams: list[tuple[int, Team]] = []
    for place, entry in enumerate(entries):
        if isinstance(entry, dict):
            path = _path(place, entry.get("name"))
            teams.append((place, TeamReader(path, entry, findings).team()))
        else:
            findings.found(_path(place), quoted(entry), "the fields of a team")
    named = [(place, team) for place, team in teams if team.name]
    _check(named, findings, complete=len(named) == len(entries))
    refuse(findings)
    return Teams.of(team for _, team in named)


def _path(place: int, name: YamlValue = "") -> str:
    """`teams[2] (vision)`, or `teams[2]` if its name cannot be read."""
    named = isinstance(name, str) and is_dns_label(name)
    return f"teams[{place}] ({name})" if named else f"teams[{place}]"


_Placed: TypeAlias = Sequence[tuple[int, Team]]
"""Teams with their place in the document."""


def _check(teams: _Placed, findings: Findings, *, complete: bool) -> None:
    """Checks across teams, as far as each was read; `complete`: all their names are known.

    What is unreadable is absent from its team, which adds nothing to the findings. Sums are skipped
    where their cost has no bound.
    """
    unique = _check_names(teams, findings)
    names = {team.name for _, team in unique}
    if complete:
        _check_parents(teams, names, findings)
    _check_namespaces(teams, findings)
    few_resources = _check_resources(teams, findings)
    tree = [
        (place, team if team.parent in names else replace(team, parent=""))
        for place, team in unique
    ]
    if _check_levels(tree, findings) and few_resources:
        _check_sums(tree, findings)


def _check_names(teams: _Placed, findings: Findings) -> _Placed:
    """The first team of each name; the others are findings."""
    first: dict[str, int] = {}
    for place, team in teams:
        before = first.setdefault(team.name, place)
        if before != place:
            what = f'"{team.name}" is the name of teams[{before}], too'
            findings.found(f"{_path(place, team.name)}.name", what, "each name once")
    return [(place, team) for place, team in teams if first[team.name] == place]


def _check_parents(teams: _Placed, names: Collection[str], findings: Findings) -> None:
    shown = nsmallest(_SHOWN + 1, {*names} - {DEFAULT_TEAM})
    for place, team in teams:
        if team.parent == DEFAULT_TEAM or (team.parent and team.parent not in names):
            others = [name for name in shown if name != team.name][:_SHOWN]
            allowed = f"one of {', '.join(others)}" if others else "leave it out"
            findings.found(
                f"{_path(place, team.name)}.parent", f'no parent is named "{team.parent}"', allowed
            )


def _check_namespaces(teams: _Placed, findings: Findings) -> None:
    """Whether two teams claim the same namespace.

    Overlapping patterns are allowed: `team_config_map.overlaps` warns of them.
    """
    first: dict[object, Team] = {}
    left = MAX_PATTERNS
    for place, team in teams:
        path = f"{_path(place, team.name)}.namespaces"
        patterns = sum(not pattern.is_name for pattern in team.namespace_patterns)
        if left >= 0 > left - patterns:
            what = f"with these, teams have more than {MAX_PATTERNS} patterns"
            allowed = f"at most {MAX_PATTERNS} in all: name namespaces, or select them by labels"
            findings.found(path, what, allowed)
        left -= patterns
        for namespace in team.namespaces:
            if (before := first.setdefault(namespace, team)) is not team:
                what = f'"{namespace}" is of the team "{before.name}", too'
                findings.found(path, what, "a namespace has one team")
        if team.selector and (before := first.setdefault(team.selector, team)) is not team:
            what = f'the same labels select for the team "{before.name}"'
            findings.found(path, what, "a namespace has one team")


def _check_resources(teams: _Placed, findings: Findings) -> bool:
    """Whether the teams name few enough resources."""
    named: set[str] = set()
    for place, team in teams:
        for field, amounts in (("guaranteed", team.guaranteed.items), ("limit", team.limit)):
            named.update(name for name, _ in amounts)
            if len(named) > MAX_RESOURCES:
                what = f"with these, teams name more than {MAX_RESOURCES} resources"
                findings.found(
                    f"{_path(place, team.name)}.{field}", what, f"at most {MAX_RESOURCES} in all"
                )
                return False
    return True


def _check_levels(teams: _Placed, findings: Findings) -> bool:
    """Whether the teams outside circles have few enough levels."""
    parents = {team.name: team.parent for _, team in teams}
    levels: dict[str, int] = {"": 0}
    few = True
    for place, team in teams:
        path: list[str] = []
        name = team.name
        while name not in levels and name not in path and len(path) <= MAX_LEVELS:
            path.append(name)
            name = parents[name]
        if name in path:
            circle = " → ".join([*path[path.index(name) :], name])
            findings.found(
                f"{_path(place, team.name)}.parent", f"a circle: {circle}", "leave one of them out"
            )
            continue
        above = levels.get(name, MAX_LEVELS)
        levels |= {ancestor: above + depth for depth, ancestor in enumerate(reversed(path), 1)}
        if levels[team.name] > MAX_LEVELS:
            what = f"it has {levels[team.name] - 1} teams above it, or more"
            findings.found(
                f"{_path(place, team.name)}.parent", what, f"at most {MAX_LEVELS} levels"
            )
            few = False
    return few


def _check_sums(teams: _Placed, findings: Findings) -> None:
    """Compares guarantees and limits of the teams that no circle contains."""
    tree = Teams.of(team for _, team in teams)
    for place, team in teams:
        if findings.full:
            return
        if (owed := tree.guaranteed.get(team.name)) is None:
            continue
        below = _below(tree, team.name)
        for resource, amount in team.guaranteed:
            total = sum(part for _, part in below.get(resource, ()))
            if total > amount:
                path = f"{_path(place, team.name)}.guaranteed[{resource_name(resource)}]"
                allowed = f"raise it to {quantity_text(resource, total)}, or lower theirs"
                findings.found(path, _over_committed(resource, amount, below[resource]), allowed)
        for resource, most in team.limit:
            if owed.get(resource) > most:
                owes = amount_text(resource, owed.get(resource))
                what = f"{amount_text(resource, most)}, and {owes} are guaranteed"
                path = f"{_path(place, team.name)}.limit[{resource_name(resource)}]"
                findings.found(path, what, "raise the limit, or lower the guarantee")


def _over_committed(resource: str, amount: int, owed: Sequence[tuple[str, int]]) -> str:
    first = (f"{child} {quantity_text(resource, part)}" for child, part in owed[:_SHOWN])
    more = f" and {len(owed) - _SHOWN} more" if len(owed) > _SHOWN else ""
    total, mine = (
        amount_text(resource, sum(part for _, part in owed)),
        amount_text(resource, amount),
    )
    children = f"{', '.join(first)}{more}"
    return f"{mine}, and the teams below it are guaranteed {total}: {children}"


def _below(tree: Teams, name: str) -> Mapping[str, Sequence[tuple[str, int]]]:
    """For each resource, the children of a team and what each of them is guaranteed."""
    children: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for child in tree.children.get(name, ()):
        for resource, amount in tree.guaranteed[child]:
            children[resource].append((child, amount))
    return children


def quantity_text(resource: str, amount: int) -> str:
    """An amount exactly, in the notation of documents: `400`, `0.5`, `64Gi`."""
    if resource in (CPU, SHARED_GPU):
        return f"{Decimal(amount) / _THOUSAND:f}"
    whole_mebibytes = resource == MEMORY and amount % 1024**2 == 0
    return number_text(resource, amount) if whole_mebibytes else str(amount)


def _written(resource: str, amount: int) -> str | int:
    text = quantity_text(resource, amount)
    return int(text) if text.isdigit() else text


def render_teams(teams: Teams) -> str:
    """The document of these teams. `parse_teams` reads it back as the same teams."""
    listed = [dict(_fields(team)) for team in teams if team != Team(DEFAULT_TEAM)]
    if not listed and teams:
        listed = [{"name": DEFAULT_TEAM}]
    return yaml.safe_dump({"teams": listed}, sort_keys=False, width=100)


def _fields(team: Team) -> Iterator[tuple[str, object]]:
    """The fields of a team that differ from their defaults."""
    yield "name", team.name
    if team.parent:
        yield "parent", team.parent
    if team.selector:
        yield "namespaces", _selector(team)
    elif team.namespaces:
        yield "namespaces", list(team.namespaces)
    for field, amounts in (("guaranteed", team.guaranteed.items), ("limit", team.limit)):
        if amounts:
            yield field, {resource_name(name): _written(name, amount) for name, amount in amounts}
    if team.weight != 1:
        yield "weight", int(team.weight) if team.weight.is_integer() else team.weight
    if not team.lend:
        yield "lend", False
    if team.reclaim is not Reclaim.REPLICAS:
        yield "reclaim", team.reclaim.value


def _selector(team: Team) -> Mapping[str, object]:
    labels: dict[str, str] = {}
    expressions: list[Mapping[str, object]] = []
    for entry in team.selector:
        if entry.operator == "In" and len(entry.values) == 1 and entry.key not in labels:
            labels[entry.key] = entry.values[0]
        else:
            values = {"values": list(entry.values)} if entry.values else {}
            expressions.append({"key": entry.key, "operator": entry.operator, **values})
    selector = {"matchLabels": labels, "matchExpressions": expressions}
    return {name: part for name, part in selector.items() if part}
