import copy
import json
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edl.patches import json_patch
from edl.writes import Json

KEYS = st.one_of(
    st.text(max_size=4), st.sampled_from(["a", "b", "", "~", "/", "~1", "a/b", "0", "-", "ü"])
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0.0, 1.0, -0.5]),
    st.text(max_size=3),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


@st.composite
def edited_objects(draw: st.DrawFn) -> tuple[Json, Json]:
    """An object, and the same one with a few places changed: what a webhook does."""
    before = draw(OBJECTS)
    after = copy.deepcopy(before)
    for _ in range(draw(st.integers(0, 3))):
        _edit(draw, after)
    return before, after


def _edit(draw: st.DrawFn, value: object) -> None:
    if isinstance(value, dict):
        _edit_member(draw, value)
    elif isinstance(value, list) and value and draw(st.booleans()):
        value.pop(draw(st.integers(0, len(value) - 1)))
    elif isinstance(value, list):
        value.insert(draw(st.integers(0, len(value))), draw(VALUES))


def _edit_member(draw: st.DrawFn, value: Json) -> None:
    known = draw(st.booleans()) and bool(value)
    key = draw(st.sampled_from(sorted(value)) if known else KEYS)
    if isinstance(value.get(key), dict | list) and draw(st.booleans()):
        _edit(draw, value[key])
    elif draw(st.booleans()):
        value[key] = draw(VALUES)
    else:
        value.pop(key, None)


def spelled(value: object) -> str:
    """JSON text: in Python true == 1 == 1.0, in an API server they are different values."""
    return json.dumps(value, sort_keys=True)


def followed(document: object, pointer: str) -> object:
    """What a JSON pointer names, followed strictly; KeyError or IndexError where nothing stands."""
    for part in pointer.split("/")[1:]:
        if isinstance(document, list):
            document = document[int(part)]
        elif isinstance(document, dict):
            document = document[part.replace("~1", "/").replace("~0", "~")]
        else:
            raise KeyError(pointer)
    return document


@pytest.mark.slow
@given(edited_objects())
def test_applying_the_difference_gives_the_edited_object(pair: tuple[Json, Json]) -> None:
    before, after = pair
    applied = jsonpatch.apply_patch(copy.deepcopy(before), json_patch.diff(before, after))
    assert spelled(applied) == spelled(after)


@pytest.mark.slow
@given(OBJECTS, OBJECTS)
def test_applying_the_difference_of_two_unrelated_documents_gives_the_second(
    before: Json, after: Json
) -> None:
    applied = jsonpatch.apply_patch(copy.deepcopy(before), json_patch.diff(before, after))
    assert spelled(applied) == spelled(after)


@pytest.mark.slow
@given(OBJECTS)
def test_nothing_changed_means_no_operation(value: Json) -> None:
    assert json_patch.diff(value, copy.deepcopy(value)) == []


@pytest.mark.slow
@given(edited_objects())
def test_every_operation_stands_on_something_that_is_there(pair: tuple[Json, Json]) -> None:
    """An API server refuses the patch otherwise, and the user reads an error 500."""
    document, after = pair
    for operation in json_patch.diff(document, after):
        path = operation["path"]
        parent = followed(document, path.rpartition("/")[0])
        assert isinstance(parent, dict | list)
        if operation["op"] == "remove":
            followed(document, path)
        if operation["op"] == "replace" and isinstance(parent, dict):
            assert followed(document, path) is not None
        document = jsonpatch.apply_patch(document, [operation])


@pytest.mark.slow
@given(edited_objects())
def test_both_sides_stay_as_they_were(pair: tuple[Json, Json]) -> None:
    before, after = pair
    written = spelled(before), spelled(after)
    json_patch.diff(before, after)
    assert (spelled(before), spelled(after)) == written


@pytest.mark.parametrize(
    ("before", "after", "operations"),
    [
        ({"a": 1}, {"a": 2}, [("replace", "/a", 2)]),
        ({"a": 1}, {"a": True}, [("replace", "/a", True)]),
        ({"a": None}, {"a": {}}, [("add", "/a", {})]),
        ({}, {"a": {"b": 1}}, [("add", "/a", {"b": 1})]),
        ({"m/n": {"~x": 1}}, {"m/n": {"~x": 2}}, [("replace", "/m~1n/~0x", 2)]),
        ({"env": [2, 3]}, {"env": [1, 2, 3, 4]}, [("add", "/env/0", 1), ("add", "/env/3", 4)]),
        ({"c": [{"i": 1}, {}]}, {"c": [{"i": 2}, {}]}, [("replace", "/c/0/i", 2)]),
        ({"c": [1, 2]}, {"c": [2]}, [("replace", "/c", [2])]),
        ({"c": [None, 1]}, {"c": [1, 1]}, [("replace", "/c/0", 1)]),
    ],
)
def test_the_patch_says_what_a_reader_would_say(
    before: Json, after: Json, operations: list[tuple[str, str, Any]]
) -> None:
    said = [(each["op"], each["path"], each["value"]) for each in json_patch.diff(before, after)]
    assert said == operations
