"""A change of one team leaves everything else of the document as it is written."""

from typing import Any

import pytest
from hypothesis import strategies as st

from edl.errors import Denied
from edl.parsing.team_document import parse_teams
from edl.parsing.team_edits import taken_away, with_team, without_team
from tests.edl.manifests import refusals
from tests.edl.reached import Reached, drawn

TEXT = """\
# Who may use what
teams:
  # the whole institute
  - name: research
    guaranteed: {nvidia.com/gpu: 40}   # until June
  # people who see
  - name: vision
    parent: research
    namespaces: [vision-prod, "vision-*"]
    guaranteed: {nvidia.com/gpu: 32}
  # people who speak
  - name: speech
    parent: research
# the end
"""


def test_only_the_lines_of_the_team_differ() -> None:
    new = with_team(TEXT, "vision", {"weight": 2, "guaranteed": {"nvidia.com/gpu": 30}})
    before, after = TEXT.splitlines(), new.splitlines()
    assert after[:6] == before[:6]
    assert after[-3:] == before[-3:]
    assert parse_teams(new)["vision"].weight == 2
    assert "# people who speak" in new


def test_a_new_team_stands_at_the_end() -> None:
    new = with_team(TEXT, "audio", {"parent": "research"})
    assert new == TEXT.replace(
        "    parent: research\n# the end",
        "    parent: research\n  - name: audio\n    parent: research\n# the end",
    )


def test_a_deleted_team_takes_no_comment_of_others_along() -> None:
    new = without_team(TEXT, "vision")
    assert [team.name for team in parse_teams(new)] == ["default", "research", "speech"]
    for comment in ("# Who may", "# the whole", "# until June", "# people who speak", "# the end"):
        assert comment in new


@pytest.mark.parametrize("text", ["", "teams:\n", "teams: []\n", "{}\n"])
def test_the_first_team_of_all(text: str) -> None:
    assert [team.name for team in parse_teams(with_team(text, "a", {"weight": 2}))] == [
        "a",
        "default",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "teams: [{name: a, weight: 2}, {name: b}]\n",
        "teams:\n- {name: a, weight: 2}\n- {name: b}\n",
        "teams:\n- weight: 2\n  name: a\n- name: b",
    ],
)
def test_documents_of_other_forms_are_changed_too(text: str) -> None:
    new = parse_teams(with_team(text, "b", {"lend": False}))
    assert (new["a"].weight, new["b"].lend) == (2, False)
    assert "a" not in parse_teams(without_team(text, "a"))


def test_an_empty_value_takes_a_field_out() -> None:
    new = parse_teams(with_team(TEXT, "vision", {"guaranteed": {}, "parent": ""}))
    assert not new["vision"].guaranteed
    assert new["vision"].parent == ""


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("vision", {"weight": "heavy"}, "weight"),
        ("vision", {"guaranteed": {"nvidia.com/gpu": 41}}, "guaranteed"),
        ("vision", {"parent": "nobody"}, "no parent"),
        ("Vision", {}, "name"),
    ],
)
def test_what_would_not_be_read_is_refused(name: str, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(Denied, match=said):
        with_team(TEXT, name, changes)


def test_a_team_with_others_below_it_is_not_deleted() -> None:
    with pytest.raises(Denied, match="speech, vision are below it"):
        without_team(TEXT, "research")


def test_a_team_that_is_not_there_is_not_deleted() -> None:
    with pytest.raises(Denied, match='no team is named "audio"'):
        without_team(TEXT, "audio")


NAMES = st.sampled_from(["research", "vision", "speech", "audio", "default"])
CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "weight": st.sampled_from(["2", 3, "0.5", ""]),
        "lend": st.booleans(),
        "limit": st.sampled_from([{"cpu": "500m"}, {"nvidia.com/gpu": 90}, {}]),
        "namespaces": st.sampled_from([["a", "b-*"], []]),
        "parent": st.sampled_from(["", "research", "speech"]),
    },
)


@pytest.mark.slow
@drawn(100, name=NAMES, changes=CHANGES)
def test_an_edit_is_whole_and_touches_one_team(
    reached: Reached, name: str, changes: dict[str, Any]
) -> None:
    refused = refusals(with_team, TEXT, name, changes)
    reached(not refused)
    if not refused:
        new, before = parse_teams(with_team(TEXT, name, changes)), parse_teams(TEXT)
        assert {one.name: one for one in new if one.name != name} == {
            one.name: one for one in before if one.name != name
        }


def test_what_is_taken_away_is_named() -> None:
    before = parse_teams(TEXT)
    less = with_team(TEXT, "vision", {"guaranteed": {"nvidia.com/gpu": 8}, "namespaces": ["x"]})
    assert taken_away(before, parse_teams(less)) == (
        "team vision is guaranteed less nvidia.com/gpu",
        "vision-*, vision-prod leaves team vision",
    )
    assert taken_away(before, parse_teams(without_team(TEXT, "speech"))) == (
        "team speech is deleted",
    )
    limited = parse_teams(with_team(TEXT, "speech", {"limit": {"nvidia.com/gpu": 4}}))
    assert taken_away(before, limited) == ("team speech may use less nvidia.com/gpu",)
    assert taken_away(limited, before) == ()
    moved = parse_teams(with_team(TEXT, "speech", {"parent": ""}))
    assert taken_away(before, moved) == ("team speech leaves its parent research",)
    assert taken_away(moved, before) == ("team speech gets the parent research",)


@pytest.mark.parametrize(
    ("fields", "changes", "loss"),
    [
        ({"weight": 2}, {"weight": 1}, "team a has a lower weight"),
        ({}, {"lend": False}, "team a stops lending"),
        ({"reclaim": "jobs"}, {"reclaim": "replicas"}, "team a reclaims only replicas"),
        (
            {"namespaces": {"matchLabels": {"team": "a"}}},
            {"namespaces": ["x"]},
            "team a no longer has the namespaces that its labels select",
        ),
    ],
)
def test_a_weaker_field_is_taken_away(
    fields: dict[str, Any], changes: dict[str, Any], loss: str
) -> None:
    text = with_team("", "a", fields)
    before, after = parse_teams(text), parse_teams(with_team(text, "a", changes))
    assert taken_away(before, after) == (loss,)
    assert taken_away(after, before) in ((), ("x leaves team a",))


def test_a_namespace_that_another_team_names_is_taken_away() -> None:
    """A name comes before a pattern."""
    named = parse_teams(with_team(TEXT, "speech", {"namespaces": ["vision-lab", "speech"]}))
    assert taken_away(parse_teams(TEXT), named) == ("vision-lab leaves team vision",)


def test_a_name_that_a_pattern_of_the_team_still_matches_is_not_taken_away() -> None:
    shorter = parse_teams(with_team(TEXT, "vision", {"namespaces": ["vision-*"]}))
    assert taken_away(parse_teams(TEXT), shorter) == ()


def test_a_lower_limit_of_the_team_default_is_taken_away() -> None:
    before, after = (
        parse_teams(with_team(TEXT, "default", {"limit": {"cpu": cpu}})) for cpu in (8, 4)
    )
    assert taken_away(before, after) == ("team default may use less cpu",)
