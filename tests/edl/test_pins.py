"""Pins replace one part of an affinity; afterwards it is as it was, to the last field."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edl import pins
from edl.writes import Json

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ZONE = {"key": "zone", "operator": "In", "values": ["a", "b"]}
FIELD = {"key": "metadata.name", "operator": "NotIn", "values": ["bad"]}
WISH = [{"weight": 1, "preference": {"matchExpressions": [ZONE]}}]


def required(*terms: Json) -> Json:
    return {REQUIRED: {"nodeSelectorTerms": [*terms]}}


OWN: list[Json | None] = [
    None,
    {},
    {"podAffinity": {PREFERRED: []}},
    {"nodeAffinity": {}},
    {"nodeAffinity": {PREFERRED: WISH}},
    {"nodeAffinity": required({"matchExpressions": [ZONE]})},
    {
        "nodeAffinity": required({"matchFields": [FIELD]}, {"matchExpressions": [ZONE]})
        | {PREFERRED: WISH},
        "podAntiAffinity": {REQUIRED: []},
    },
]


def merged(body: Json | None, patch: Json | None) -> Json | None:
    """JSON merge patch (RFC 7386)."""
    if patch is None:
        return None
    found = copy.deepcopy(body) or {}
    for name, part in patch.items():
        if part is None:
            found.pop(name, None)
        elif isinstance(part, dict):
            found[name] = merged(found.get(name) or {}, part)
        else:
            found[name] = part
    return found


def names(term: Json) -> list[str]:
    return next(one["values"] for one in term["matchFields"] if one["operator"] == "In")


@pytest.mark.parametrize("own", OWN)
def test_what_stood_there_comes_back_exactly(own: Json | None) -> None:
    text = pins.kept(own)
    there = merged(own, pins.pinned(text, ["n1", "n2"]))
    assert there != own
    assert pins.own(there, text) == own
    assert merged(there, pins.unpinned(text)) == own


@pytest.mark.parametrize("own", OWN)
def test_pinned_anew_it_still_knows_what_stood_there(own: Json | None) -> None:
    text = pins.kept(own)
    once = merged(own, pins.pinned(text, ["n1"]))
    again = merged(once, pins.pinned(text, ["n2", "n3"]))
    assert merged(again, pins.unpinned(text)) == own
    assert again == merged(own, pins.pinned(text, ["n2", "n3"]))


@pytest.mark.parametrize("own", OWN)
def test_every_alternative_names_one_node_and_keeps_the_users_own(own: Json | None) -> None:
    found = merged(own, pins.pinned(pins.kept(own), ["n1", "n2"]))
    assert found is not None
    terms = found["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    mine = (((own or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}).get("nodeSelectorTerms")
    assert sorted(map(names, terms)) == sorted([["n1"], ["n2"]] * len(mine or [{}]))
    for term in mine or ():
        kept = [one for one in terms if one.get("matchExpressions") == term.get("matchExpressions")]
        assert {tuple(names(one)) for one in kept} == {("n1",), ("n2",)}
        assert all(one["matchFields"][:-1] == term.get("matchFields", []) for one in kept)


def test_an_alternative_that_matches_no_node_does_not_match_one_when_pinned() -> None:
    own = {"nodeAffinity": required({}, {"matchExpressions": [ZONE]})}
    found = pins.pinned(pins.kept(own), ["n1"])
    assert len(found["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]) == 1


TERMS = st.lists(
    st.sampled_from([{"matchExpressions": [ZONE]}, {"matchFields": [FIELD]}]), min_size=1
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "nodeAffinity": st.fixed_dictionaries(
                {},
                optional={
                    REQUIRED: st.builds(lambda terms: {"nodeSelectorTerms": terms}, TERMS),
                    PREFERRED: st.just(WISH),
                },
            ),
            "podAffinity": st.just({PREFERRED: []}),
        },
    ),
    st.lists(st.text("abc", min_size=1), min_size=1, max_size=3, unique=True),
)
def test_pins_leave_no_trace(own: Json, nodes: list[str]) -> None:
    text = pins.kept(own)
    assert merged(merged(own, pins.pinned(text, nodes)), pins.unpinned(text)) == own


@pytest.mark.parametrize("text", ["", "All", "3", "[]", '{"nodeAffinity": 3}', '{"other": {}}'])
def test_a_text_that_nobody_of_ours_wrote_keeps_nothing(text: str) -> None:
    affinity: Json = {"nodeAffinity": {"a": 1}, "podAffinity": {}}
    assert pins.own(affinity, text) == {"podAffinity": {}}
    assert pins.unpinned(text) == {"nodeAffinity": None}
    assert pins.pinned(text, ["n1"]) == pins.pinned("null", ["n1"])
