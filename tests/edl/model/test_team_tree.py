"""A namespace has one team, and a team's figures count those below it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edl.model import Requirement, Team, Teams
from edl.quantities import Resources


def named(*namespaces: str) -> Teams:
    return Teams.of([Team("t", namespaces=namespaces)])


@pytest.mark.parametrize(
    ("pattern", "namespace", "fits"),
    [
        ("a-*", "a-1", True),
        ("a-*", "a-", True),
        ("a-*", "b-a-1", False),
        ("*-a", "b-a", True),
        ("*", "x", True),
        ("a*a", "a", False),
        ("a*b*c", "a-b-c", True),
        ("a*b*b*c", "a-b-c", False),
        ("a*bc*c", "abc", False),
    ],
)
def test_an_asterisk_stands_for_any_characters(pattern: str, namespace: str, *, fits: bool) -> None:
    assert named(pattern).team_of(namespace, {}) == ("t" if fits else "default")


def test_a_name_comes_before_a_pattern_and_a_pattern_before_labels() -> None:
    teams = Teams.of(
        [
            Team("exact", namespaces=("a-1",)),
            Team("pattern", namespaces=("a-*",)),
            Team("labels", selector=(Requirement("team", "In", ("x",)),)),
        ]
    )
    labels = {"team": "x"}
    found = [teams.team_of(one, labels) for one in ("a-1", "a-2", "b")]
    assert found == ["exact", "pattern", "labels"]
    assert teams.team_of("b", {}) == "default"


def test_a_namespace_of_two_teams_is_found_and_the_first_by_name_has_it() -> None:
    teams = Teams.of([Team("b", namespaces=("x-*",)), Team("a", namespaces=("*-y",))])
    assert teams.matches("x-y", {}) == ("a", "b")
    assert teams.team_of("x-y", {}) == "a"


def test_without_teams_a_namespace_has_none() -> None:
    assert Teams().team_of("a", {}) == ""
    assert Teams.of([]) == Teams()


def test_a_guarantee_that_a_team_does_not_state_is_the_sum_of_those_below() -> None:
    teams = Teams.of(
        [
            Team("top"),
            Team("a", "top", guaranteed=Resources.of({"cpu": 3})),
            Team("b", "top", guaranteed=Resources.of({"cpu": 5, "memory": 2})),
            Team("c", "b", guaranteed=Resources.of({"cpu": 1, "pods": 4})),
        ]
    )
    assert dict(teams.guaranteed["top"]) == {"cpu": 8, "memory": 2, "pods": 4}
    assert dict(teams.guaranteed["b"]) == {"cpu": 5, "memory": 2, "pods": 4}
    assert teams.top_down == ("default", "top", "a", "b", "c")
    assert teams.path("c") == ("c", "b", "top")
    assert teams.path("unknown") == ()


@given(st.permutations([Team("a"), Team("b", "a"), Team("c", "a", namespaces=("x",))]))
def test_the_order_of_teams_is_irrelevant(teams: list[Team]) -> None:
    assert Teams.of(teams) == Teams.of([Team("a"), Team("b", "a"), Team("c", "a", ("x",))])
