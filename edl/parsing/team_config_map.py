"""Reads `Teams` from the `data` of the ConfigMap `edl-teams`, or reports every finding."""

from collections.abc import Mapping
from typing import Final

from edl import contract
from edl.errors import Denied, Finding, refuse
from edl.model.teams import Teams
from edl.parsing.team_document import parse_teams

PATH: Final = f"data[{contract.TEAMS_KEY}]"
_LONGEST: Final = 63


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
        found = parse_teams(data.get(contract.TEAMS_KEY, ""))
    except Denied as denied:
        findings += [
            Finding(f"{PATH}: {one.path}", one.what, one.allowed) for one in denied.findings
        ]
        raise Denied(findings) from None
    refuse(findings)
    return found


def check(manifest: Mapping[str, object]) -> None:
    """Checks a manifest of the ConfigMap, as a client sent it. Raises Denied."""
    data = manifest.get("data") or {}
    if manifest.get("binaryData"):
        raise Denied([Finding("binaryData", "is not read", f"write {PATH}")])
    if not isinstance(data, Mapping) or not all(isinstance(text, str) for text in data.values()):
        raise Denied([Finding("data", "is not a mapping of strings", f"write {PATH}")])
    teams_of(data)
