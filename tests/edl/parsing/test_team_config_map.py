"""The ConfigMap with the teams is read as a whole, and every finding names its place in it."""

from collections.abc import Sequence

import pytest
import yaml

from edl import contract
from edl.errors import Denied
from edl.inject.handlers import AdmissionRequest, Context, validate
from edl.model import Team, Teams
from edl.parsing.team_config_map import teams_of
from edl.writes import Json

GOOD = "teams:\n- name: vision\n  namespaces: [vision]\n"
CONTEXT = Context(frozenset(), "kubectl-edl:test")


def manifest(data: object, **fields: object) -> Json:
    metadata = {"name": contract.TEAMS_CONFIG_MAP, "namespace": contract.SYSTEM_NAMESPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data, **fields}


def review(body: Json) -> tuple[str, ...]:
    """The warnings of a review."""
    return validate(AdmissionRequest("CREATE", body, None, "ann"), CONTEXT).warnings


def findings(body: Json) -> list[str]:
    with pytest.raises(Denied) as denied:
        review(body)
    return [str(one) for one in denied.value.findings]


def test_the_document_becomes_teams() -> None:
    teams = teams_of({contract.TEAMS_KEY: GOOD})
    assert teams == Teams.of([Team("vision", namespaces=("vision",))])
    review(manifest({contract.TEAMS_KEY: GOOD}))


@pytest.mark.parametrize("data", [{}, None])
def test_without_data_there_are_no_teams(data: object) -> None:
    assert teams_of({}) == Teams()
    review(manifest(data))


def test_every_finding_is_told_with_its_path() -> None:
    text = "teams:\n- name: Vision\n  weight: -1\n  size: 3\n"
    said = findings(manifest({contract.TEAMS_KEY: text, "teams.yml": GOOD}))
    assert [line.split(":")[0] + line.split(":")[1] for line in said] == [
        "data[teams.yml] unknown key; the only one is teams.yaml",
        "data[teams.yaml] teams[0].size",
        "data[teams.yaml] teams[0].name",
        "data[teams.yaml] teams[0].weight",
    ]


def test_malformed_yaml_is_reported_with_its_line() -> None:
    (said,) = findings(manifest({contract.TEAMS_KEY: "teams: [\n"}))
    assert said.startswith("data[teams.yaml]: line 2: is not YAML")


@pytest.mark.parametrize("data", [["a"], "text", {contract.TEAMS_KEY: 3}, {contract.TEAMS_KEY: {}}])
def test_data_of_another_type_is_refused(data: object) -> None:
    (said,) = findings(manifest(data))
    assert said == "data: is not a mapping of strings; write data[teams.yaml]"


def test_binary_data_is_refused() -> None:
    (said,) = findings(manifest({}, binaryData={contract.TEAMS_KEY: "AA=="}))
    assert said.startswith("binaryData: is not read")


def warned(first: str, second: str) -> tuple[str, ...]:
    both = ("vision", [first, "lab"]), ("audio", [second])
    return warnings([{"name": name, "namespaces": found} for name, found in both])


def warnings(teams: Sequence[object]) -> tuple[str, ...]:
    return review(manifest({contract.TEAMS_KEY: yaml.safe_dump({"teams": [*teams]})}))


@pytest.mark.parametrize(
    ("first", "second", "witness"),
    [
        ("ml-*", "ml-audio-*", "ml-audio-x"),
        ("*", "ml-*", "ml-x"),
        ("ml-*", "*-dev", "ml-dev"),
        ("a*b*c", "a-x*y-c", "a-xbyy-c"),
        ("ml-*", "web-*", ""),
        ("*-dev", "*-prod", ""),
        ("ml-*", "ml-lab", ""),
    ],
)
def test_patterns_of_two_teams_that_match_the_same_namespaces_are_a_warning(
    first: str, second: str, witness: str
) -> None:
    said = (
        f'the teams "audio" and "vision" both claim namespaces that match "{second}" and '
        f'"{first}": of these teams, each belongs to "audio", the first by name'
    )
    assert warned(first, second) == ((said,) if witness else ())
    both = [Team("vision", namespaces=(first,)), Team("audio", namespaces=(second,))]
    assert not witness or Teams.of(both).matches(witness, {}) == ("audio", "vision")


def test_patterns_of_one_team_may_overlap_and_the_first_few_warnings_suffice() -> None:
    many = [{"name": f"t{number}", "namespaces": [f"{'a' * number}*"]} for number in range(40)]
    own = {"name": "own", "namespaces": ["b*", "bb*"]}
    wide = {"name": "a", "namespaces": [f"w{number:03}-*" for number in range(1000)]}
    for teams, count in ([own], 0), (many[1:], 8), ([wide, *many[1:3]], 1):
        assert len(warnings(teams)) == count
