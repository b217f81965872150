"""Reads `Teams` from the `data` of the ConfigMap `edl-teams`, or reports every finding."""

from collections.abc import Mapping
from itertools import combinations, islice, product
from typing import Final

from edl import contract
from edl.errors import Denied, Finding, refuse
from edl.model.teams import Teams
from edl.parsing.team_document import parse_teams

PATH: Final = f"data[{contract.TEAMS_KEY}]"
_LONGEST: Final = 63
_MAX_COMPARED_PAIRS: Final = 200_000
"""Pairs of patterns, as a review has to be answered within seconds: all pairs of 600 patterns."""
_MAX_WARNINGS: Final = 8


def teams_of(data: Mapping[str, str]) -> Teams:
    """The teams in the ConfigMap's data; no teams if it is empty. Raises Denied."""
    if not data:
        return Teams()
    other = sorted(data.keys() - {contract.TEAMS_KEY})
    findings = [
        Finding(f"data[{name[:_LONGEST]}]", "unknown key", f"the only one is {contract.TEAMS_KEY}")
        for name in other[:10]
    ]
    try:
        teams = parse_teams(data.get(contract.TEAMS_KEY, ""))
    except Denied as denied:
        findings += [
            Finding(f"{PATH}: {finding.path}", finding.what, finding.allowed)
            for finding in denied.findings
        ]
        raise Denied(findings) from None
    refuse(findings)
    return teams


def check(manifest: Mapping[str, object]) -> Teams:
    """The teams in a manifest of the ConfigMap, as a client sent it. Raises Denied."""
    data = manifest.get("data") or {}
    if manifest.get("binaryData"):
        raise Denied([Finding("binaryData", "is not read", f"write {PATH}")])
    if not isinstance(data, Mapping) or not all(isinstance(text, str) for text in data.values()):
        raise Denied([Finding("data", "is not a mapping of strings", f"write {PATH}")])
    return teams_of(data)


def overlaps(teams: Teams) -> tuple[str, ...]:
    """Warnings about patterns of two teams that match the same namespaces; the first few.

    A namespace with a name that a team lists is not concerned.
    """
    pairs = (
        (team, first, other, second)
        for (team, patterns), (other, others) in combinations(teams.patterns, 2)
        for first, second in product(patterns, others)
    )
    warnings = (
        f'the teams "{team}" and "{other}" both claim namespaces that match "{first.text}" and '
        f'"{second.text}": of these teams, each belongs to "{team}", the first by name'
        for team, first, other, second in islice(pairs, _MAX_COMPARED_PAIRS)
        if first.overlaps(second)
    )
    return tuple(islice(warnings, _MAX_WARNINGS))
