"""A hostile document costs bounded work and loses nothing silently."""

import pytest

from edl.errors import Denied
from edl.parsing.strict_yaml import YamlBounds, YamlValue, load

BOUNDS = YamlBounds(size=10_000, depth=4)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        (
            "a: 1\nb: [yes, 1.5, 'x', null, ~]\nc: {}",
            {"a": "1", "b": ["yes", "1.5", "x", None, None], "c": {}},
        ),
        ('{"a": {"b": [true]}}', {"a": {"b": ["true"]}}),
        ('a: "null"', {"a": "null"}),
        ("--- \na: 1\n...\n", {"a": "1"}),
    ],
)
def test_values_stay_as_they_are_written(text: str, value: YamlValue) -> None:
    assert load(text, BOUNDS) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", 'line 2: duplicate key "a"; keep one of them'),
        ("a: &x [1]\nb: *x", "line 1: anchors and aliases are not read; write the value itself"),
        ("b: *x", "line 1: anchors and aliases are not read; write the value itself"),
        ("a: !!python/name:os.system x", "line 1: the tag tag:yaml.org,2002:python/name:os.system"),
        ("a: {<<: {b: 1}}", "line 1: merge keys are not read; write the values themselves"),
        ("a: 1\n---\nb: 1", "line 2: a second document begins; write one"),
        ("? [a]\n: 1", "line 1: a key is not a string; name a field"),
        ("[" * 9000, "line 1: it is nested deeper than any field; 4 levels"),
        ("a: [[[[1]]]]", "line 1: it is nested deeper than any field; 4 levels"),
        ("a: [1", "line 2: is not YAML: "),
        ("a: \x07", "is not YAML: "),
        ("a: \ud800", "is not YAML"),
        ("a" * 10_001, "the document: it has 10001 bytes; at most 10000"),
    ],
)
def test_what_is_refused_names_its_line(text: str, message: str) -> None:
    with pytest.raises(Denied) as error:
        load(text, BOUNDS)
    assert message in str(error.value)
