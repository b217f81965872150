"""Documents that stay unchanged are printed as they were read."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edl.parsing.yaml_edits import edited
from kubectl_edl.output.yaml_writer import dump, joined
from kubectl_edl.resources.manifest_sources import LARGEST_FILE, ManifestSource, Unreadable, sources
from kubectl_edl.resources.yaml_reader import documents

_KEYS = st.text(alphabet="ab-: #", min_size=1, max_size=4)
_VALUES = st.none() | st.booleans() | st.integers() | st.text(alphabet="a-.# \n", max_size=12)
_NUMBER_LIKE = st.text(alphabet="0189_.eExXoObB+-:yn", min_size=1, max_size=6)
_OBJECTS = st.dictionaries(_KEYS, _VALUES, max_size=3)


def texts(text: str, name: str = "jobs.yaml") -> list[str]:
    return [document.origin.text for document in documents(ManifestSource(name, text))]


def values(text: str, name: str = "jobs.yaml") -> list[Any]:
    return [document.value for document in documents(ManifestSource(name, text))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: 1", ["a: 1\n"]),
        ("# of a\na: 1 # one\n---\n\n# of b\nb: 2\n", ["# of a\na: 1 # one\n", "\n# of b\nb: 2\n"]),
        ("  a: 1\n  b: 2\n---\n  c: 3\n", ["  a: 1\n  b: 2\n", "  c: 3\n"]),
        ("--- {a: 1}\n--- # two\nb: 2\n", ["{a: 1}\n", "# two\nb: 2\n"]),
        ("---\na: 1\n...\n---\n# of b\nb: 2\n...\n", ["a: 1\n", "# of b\nb: 2\n"]),
        ("%YAML 1.1\n---\na: 1\n", ["a: 1\n"]),
        ("---\r\na: 1\r\n---\r\nb: 2\r\n", ["a: 1\r\n", "b: 2\r\n"]),
        ("a: |\n  ---\n  x\n---\n# nothing\n---\n", ["a: |\n  ---\n  x\n"]),
        ('{"a": 1} {"b": 2}\n', ['{"a": 1}\n', '{"b": 2}\n']),
    ],
)
def test_each_document_has_its_own_text(text: str, found: list[str]) -> None:
    assert texts(text) == found
    assert values(joined(found)) == values(text)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(_OBJECTS, max_size=4))
def test_original_texts_parse_as_the_documents(objects: list[Any]) -> None:
    text = joined(map(dump, objects))
    assert values(text) == objects
    assert values(joined(texts(text))) == objects
    assert values("\n".join(map(json.dumps, objects)), "jobs.json") == objects


def test_a_name_that_occurs_twice_is_found_among_many() -> None:
    """In one pass: a comparison of all names with each other would take hours."""
    members = ",".join(f'"k{number}":1' for number in range(200_000))
    with pytest.raises(Unreadable, match='"k7" occurs twice in an object'):
        texts(f'{{{members},"k7":1}}', "jobs.json")


@given(_NUMBER_LIKE)
@example("08")
@example("0X1F")
@example("1_0e3")
@example("0_9")
@example("-.5")
def test_a_text_that_looks_like_a_number_stays_a_text(text: str) -> None:
    value = {"v": text, text: "w", "list": [text]}
    assert values(dump(value)) == [value]
    assert values(edited("a: b\n", {"a": "b"}, {"a": "b"} | value)) == [{"a": "b"} | value]


@pytest.mark.parametrize(
    ("plain", "value"),
    [("08", 8), ("010", 8), ("0X1F", 31), ("-0B11", -3), ("0O17", 15), ("0_9", 9), ("1_0e3", 1e4)],
)
def test_numbers_have_the_values_that_kubectl_reads(plain: str, value: float) -> None:
    assert values(f"a: {plain}\nb: [y, N, 2020-01-01, 1:30]\n") == [
        {"a": value, "b": [True, False, "2020-01-01", "1:30"]}
    ]


def test_a_document_has_its_position() -> None:
    *_, second = documents(ManifestSource("jobs.yaml", "a: 1\n---\nb:\n- c\n- d: 2\n"))
    assert str(second.origin) == "jobs.yaml: document 2"
    assert second.at(("b", 1, "d")) == "jobs.yaml: document 2, line 5"
    assert second.at(("b", 7)) == "jobs.yaml: document 2, line 3"


def test_a_binary_file_is_unreadable() -> None:
    source = ManifestSource("jobs.yaml", Unreadable("jobs.yaml: document 1, line 1: not UTF-8"))
    with pytest.raises(Unreadable, match="not UTF-8"):
        list(documents(source))


@pytest.mark.parametrize("depth", [150, 500, 99_999])
@pytest.mark.parametrize("name", ["jobs.json", "jobs.yaml"])
def test_deep_nesting_is_refused_in_one_line(name: str, depth: int) -> None:
    text = f'{{"a": 1}}\n{{"a": {"[" * depth}{"]" * depth}}}\n'.replace("\n{", "\n---\n{")
    text = text.replace("---\n", "") if name == "jobs.json" else text
    with pytest.raises(Unreadable, match=r"document 2, line \d: nested too deeply"):
        values(text, name)
    assert values('{"a": [[[[[[[[[[]]]]]]]]]]}', name) == [{"a": [[[[[[[[[[]]]]]]]]]]}]


@pytest.mark.parametrize(
    "last", ["b: [*v, *v]", "b: {c: *v}", "<<: [*v, *v]"], ids=["in a list", "in a map", "merged"]
)
def test_exponential_aliases_are_refused(last: str) -> None:
    levels = "".join(f"v{n}: &v{n} [{', '.join([f'*v{n - 1}'] * 9)}]\n" for n in range(1, 12))
    text = f"v0: &v0 {{x: lol}}\n{levels}{last.replace('*v', '*v11')}\n"
    with pytest.raises(Unreadable, match=r"document 1, line 1: more than 1000000 values \("):
        values(text)
    assert values("a: &a [1, 2]\nb: [*a, *a]\n") == [{"a": [1, 2], "b": [[1, 2], [1, 2]]}]


def test_a_map_that_is_merged_into_itself_over_and_over_is_refused() -> None:
    levels = "".join(f"v{n}: &v{n}\n  <<: [*v{n - 1}, *v{n - 1}]\n" for n in range(1, 40))
    with pytest.raises(Unreadable, match="more than 1000000 values"):
        values(f"v0: &v0 {{x: lol}}\n{levels}")


def test_a_value_that_json_lacks_is_one_line() -> None:
    with pytest.raises(Unreadable, match=r"a\.yaml: document 1, line 2: not YAML: .*2002:binary"):
        list(documents(ManifestSource("a.yaml", "kind: Secret\ndata: {a: !!binary aGk=}\n")))


@pytest.mark.parametrize("value", ["!!bool x", "!!int ''", "!!float x", f"0x{'f' * 5000}"])
def test_a_value_that_does_not_fit_its_tag_is_named_with_its_line(value: str) -> None:
    with pytest.raises(Unreadable, match="line 3: not YAML: the value does not fit its tag !!"):
        values(f"a: 1\nb:\n- {value}\n")


def test_a_time_is_refused_with_its_line() -> None:
    with pytest.raises(Unreadable, match=r"line 2: not YAML: .*2002:timestamp"):
        values("a: 1\nb: !!timestamp x\n")


@pytest.mark.parametrize("text", ["&a zzz{0}", "&a {{? zzz{0} : 1}}"], ids=["value", "key"])
def test_aliases_of_long_texts_are_refused(text: str) -> None:
    long = text.format("z" * 2**16)
    with pytest.raises(Unreadable, match="more than 67108864 characters"):
        values(f"a: {long}\nb: [{', '.join(['*a'] * 1100)}]\n")
    assert len(values(f"a: {long}\nb: [{', '.join(['*a'] * 900)}]\n")[0]["b"]) == 900


@pytest.mark.parametrize("text", ["a: &x [*x]\n", "a: &x {b: [*x]}\n", "a: &x {<<: *x}\n"])
def test_an_alias_inside_its_own_anchor_is_refused(text: str) -> None:
    with pytest.raises(Unreadable, match="line 1: not YAML: an alias is inside its own anchor"):
        values(text)


def test_a_file_beyond_all_sizes_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "jobs.yaml"
    path.touch()
    with path.open("r+b") as file:
        file.truncate(LARGEST_FILE + 2**30)
    (found,) = sources((str(path),), io.StringIO())
    with pytest.raises(Unreadable, match=r"jobs\.yaml: larger than 16 MiB; split it"):
        list(documents(found))
    (found,) = sources(("-",), io.StringIO("#" * (LARGEST_FILE + 1)))
    with pytest.raises(Unreadable, match="stdin: larger than 16 MiB"):
        list(documents(found))


def test_stdin_is_utf8_in_any_locale() -> None:
    def stdin(content: bytes) -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(content), "latin-1", errors="surrogateescape")

    (good,) = sources(("-",), stdin("\ufeffa: café\n".encode()))
    assert good.text == "a: café\n"
    (bad,) = sources(("-",), stdin(b"a: 1\nb: caf\xe9\n"))
    with pytest.raises(Unreadable, match="stdin: document 1, line 2: not UTF-8"):
        assert bad.text
