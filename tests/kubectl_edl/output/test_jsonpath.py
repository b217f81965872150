import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_edl.output import jsonpath
from kubectl_edl.output.jsonpath import TemplateError

DOCUMENT: dict[str, Any] = {
    "kind": "List",
    "items": [
        {
            "metadata": {"name": "mnist", "annotations": {"edl.dev/reason": "a < b & c"}},
            "phase": "Running",
            "size": 3,
            "share": 0.5,
            "paused": False,
            "roles": [{"name": "chief", "max": 1}, {"name": "worker", "max": 12}],
            "startedAt": None,
        },
        {"metadata": {"name": "bert"}, "phase": "Queued", "size": 0, "paused": True, "roles": []},
    ],
}


def printed(template: str) -> str:
    return jsonpath.execute(jsonpath.template(template), DOCUMENT)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("plain text", "plain text"),
        ("{.kind}", "List"),
        ("{$.kind} and {@.kind}", "List and List"),
        ("{['kind']}", "List"),
        ("{.items[*].metadata.name}", "mnist bert"),
        ("{.items[*]['metadata.name','phase']}", "mnist bert Running Queued"),
        ("{.items[0,1].size}", "3 0"),
        ("{.items[-1].phase}{.items[-2:].size}", "Queued3 0"),
        ("{.items[:1].size}{.items[::2].size}{.items[1:1].size}", "33"),
        ("{..name}", "mnist chief worker bert"),
        ("{.items[0].roles[1]}", '{"max":12,"name":"worker"}'),
        (r"{.items[0].metadata.annotations.edl\.dev/reason}", "a < b & c"),
        (r"{.items[0].metadata['annotations.edl\.dev/reason']}", "a < b & c"),
        ("{.items[0].metadata.annotations}", '{"edl.dev/reason":"a \\u003c b \\u0026 c"}'),
        ("{.items[*].paused} {.items[0].share}", "false true 0.5"),
        ("{.items[0].startedAt}", "null"),
        ("{.nothing}{.items[*].nothing.at.all}", ""),
        ('{.items[?(@.phase=="Running")].metadata.name}', "mnist"),
        ("{.items[?(@.phase!='Running')].metadata.name}", "bert"),
        ("{.items[?(@.size>0)].size}{.items[?(@.size <= 0)].size}", "30"),
        ("{.items[?(@.paused==true)].metadata.name}", "bert"),
        ("{.items[?(@.metadata.annotations)].metadata.name}", "mnist"),
        ("{.items[0].roles[?(@.max>=12)].name}", "worker"),
        (
            '{range .items[*]}{.metadata.name}{"\\t"}{.phase}{"\\n"}{end}',
            "mnist\tRunning\nbert\tQueued\n",
        ),
        ("{range .items[*]}{range .roles[*]}{.name},{end};{end}.", "chief,worker,;;."),
        ("{range .nothing[*]}never{end}always", "always"),
        ("{range .items[*]}{.size}", "30"),
        ('{"quoted \\"text\\" \\u00e9"}', 'quoted "text" é'),
    ],
)
def test_a_template_prints_what_kubectl_prints(template: str, text: str) -> None:
    assert printed(template) == text


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{.items", 'a "{" is never closed (character 8 of {.items)'),
        ("{range .a}" * 3000, "more than 100 ranges inside each other"),
        ("{.items[0}", "a [ that is never closed"),
        ("{items}", 'unknown word "items"; range, end, or .items for a field'),
        ("{end}", "{end} without {range …}: there is nothing to end"),
        ("{.items[first]}", "[first] is none of [0], [-1], [0:3], [*], ['name'], [?(…)]"),
        ("{.items[?(@.a==1]}", "a [?( that is never closed by )]"),
        ("{.items[?(@.a=~1)]}", 'unknown operator "="; one of == != < <= > >='),
        ("{.items[?(@.a===1)]}", 'unknown operator "==="; one of == != < <= > >='),
        ('{"text}', "a quoted text that never ends"),
        ("{....a}", "two .. in a row"),
        ("{.a(}{#}", '"#" is not allowed here'),
        ("{1.2.3}", '"1.2.3" is not a number'),
        ('{"\\U00110000"}', r"\U00110000 is not a character"),
        ('{"\\ud800"}', r"\ud800 is not a character (character 10 of "),
    ],
)
def test_a_wrong_template_is_refused_with_the_place(template: str, problem: str) -> None:
    with pytest.raises(TemplateError) as found:
        jsonpath.template(template)
    assert problem in str(found.value)


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{.items[5]}", "[5] is out of bounds: the list has 2"),
        ("{.items[0:9]}", "[8] is out of bounds: the list has 2"),
        ("{.kind[0]}", "a string is not a list, so it has no [0]"),
        ("{.items[0:2:0]}", "a slice's step is above 0, not 0"),
        ("{.items[0][?(@.a==1)]}", "an object is not a list, so [?(…)] cannot choose from it"),
        ("{.items[?(@.size>'3')].size}", "cannot compare an integer with a string"),
        ("{.items[?(@.roles=='x')].size}", "cannot compare a list with a string"),
        ("{.items[?(@.paused>false)].size}", "cannot compare a boolean with a boolean"),
        ("{.items[?(@.roles[*].max>3)].size}", "compares one value with one, not several"),
    ],
)
def test_a_template_that_cannot_be_applied_is_refused_with_the_reason(
    template: str, problem: str
) -> None:
    with pytest.raises(TemplateError) as found:
        printed(template)
    assert problem in str(found.value)


def test_as_json_each_part_is_a_list() -> None:
    text = jsonpath.as_json(jsonpath.template("{.items[*].size}{.kind}"), DOCUMENT)
    assert text == '[\n    3,\n    0\n]\n[\n    "List"\n]\n'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "<nil>"),
        (True, "true"),
        (3.0, "3"),
        (0.25, "0.25"),
        ({"b": [1, "x"], "a": {}}, "map[a:map[] b:[1 x]]"),
    ],
)
def test_values_in_custom_columns_read_as_go_prints_them(value: object, text: str) -> None:
    assert jsonpath.go_text(value) == text


@given(st.text("{}[]().,:'\"@$*?=<>!\\ range end items name 0-1\n", max_size=40))
def test_any_text_is_a_template_or_an_error_that_we_know(text: str) -> None:
    try:
        found = jsonpath.execute(jsonpath.template(text), DOCUMENT)
    except TemplateError as error:
        assert str(error)  # noqa: PT017 - either is right
    else:
        assert "{" in text or found == text


_NAMES = st.text("abcxyz-_/", min_size=1, max_size=8).filter(lambda name: name != "*")


@given(st.dictionaries(_NAMES, st.integers() | st.text(max_size=5) | st.booleans(), min_size=1))
def test_every_field_of_an_object_is_found_by_its_name(document: dict[str, object]) -> None:
    for name, value in document.items():
        path = jsonpath.relaxed(name)
        assert jsonpath.selected(path, document) == [value]
        assert jsonpath.selected(jsonpath.relaxed(f"{{.{name}}}"), document) == [value]


def test_the_whole_document_survives_as_json() -> None:
    text = jsonpath.execute(jsonpath.template("{@}"), DOCUMENT)
    assert json.loads(text) == DOCUMENT
