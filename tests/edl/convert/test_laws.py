"""What holds for every document: nothing is lost in silence, and nothing breaks."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from edl.convert import convert
from edl.convert.diagnostics import Malformed
from edl.convert.source_kind import Converted
from edl.writes import Json
from tests.edl.convert import full
from tests.edl.convert.documents import admitted, leaves, objects, with_value

EXAMPLES = Path(__file__).parents[3] / "examples" / "convert"
FROM_EXAMPLES: list[Json] = [
    document
    for path in sorted(EXAMPLES.glob("*.yaml"))
    if not path.name.endswith(".jobs.yaml")
    for document in yaml.safe_load_all(path.read_text())
    if document is not None and convert(document) is not None
]
DOCUMENTS = [*FROM_EXAMPLES, *full.documents()]
LAW = settings(max_examples=150, deadline=None)
MARK = "marked-7f3a"
JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 2.5, "", "x", [], {}, [1], {"a": "b"}, [{}], ["x"]]
)


def _id(document: Json) -> str:
    return f"{document['kind']}-{document['metadata'].get('name')}"


def _value(document: Any, place: tuple[str | int, ...]) -> Any:  # noqa: ANN401 - JSON
    inner: Any = document
    for step in place:
        inner = inner[step]
    return inner


def _is_told(found: Converted, place: tuple[str | int, ...]) -> bool:
    """Something is said about the field, or about what it is a part of."""
    places = [remark.place for remark in (*found.dropped, *found.notes)]
    # Of the document as a whole only where nothing came of it: then it is an operation.
    return any(place[: len(said)] == said for said in places if said or not found.manifests)


def test_there_are_examples() -> None:
    assert FROM_EXAMPLES


@pytest.mark.parametrize("document", DOCUMENTS, ids=_id)
def test_an_unknown_field_is_carried_or_named(document: Json) -> None:
    for place in objects(document):
        unknown = (*place, "unheardOf")
        try:
            found = convert(with_value(document, unknown, MARK))
        except Malformed as malformed:
            assert "unheardOf" in str(malformed)  # noqa: PT017 - any of its reasons
            continue
        assert found is not None
        assert MARK in json.dumps(found.manifests) or _is_told(found, unknown), unknown


@pytest.mark.parametrize("document", DOCUMENTS, ids=_id)
def test_no_known_field_can_change_without_being_carried_or_named(document: Json) -> None:
    before = convert(document)
    assert before is not None
    for place in leaves(document):
        if place[0] not in ("metadata", "spec"):
            continue
        try:
            found = convert(with_value(document, place, _another(_value(document, place))))
        except Malformed:
            continue
        assert found is not None
        assert _said(found) != _said(before) or _is_told(found, place), place


def _another(value: object) -> object:
    if isinstance(value, bool):
        return not value
    return 7919 if isinstance(value, int) else MARK


def _said(found: Converted) -> tuple[str, list[str]]:
    remarks = [str(remark) for remark in (*found.dropped, *found.notes)]
    return json.dumps(found.manifests), remarks


@LAW
@given(st.data())
def test_nonsense_is_refused_or_converted_and_never_breaks(data: st.DataObject) -> None:
    changed = data.draw(st.sampled_from(DOCUMENTS))
    for _ in range(data.draw(st.integers(1, 3))):
        places = [*leaves(changed), *objects(changed)]
        known = [place for place in places if place and place[0] not in ("kind", "apiVersion")]
        place = data.draw(st.sampled_from([("spec",), *known]))
        changed = with_value(changed, place, data.draw(JUNK))
    try:
        convert(changed)
    except Malformed as malformed:
        assert malformed.remarks  # noqa: PT017 - any of them


@pytest.mark.parametrize("document", DOCUMENTS, ids=_id)
def test_converting_twice_is_converting_once(document: Json) -> None:
    found = convert(document)
    assert found is not None
    assert [convert(manifest) for manifest in found.manifests] == [None] * len(found.manifests)


@pytest.mark.parametrize("document", DOCUMENTS, ids=_id)
def test_nothing_is_shared_between_the_results(document: Json) -> None:
    first, second = convert(document), convert(document)
    assert first is not None
    assert second is not None
    before = copy.deepcopy(second.manifests)
    for place in objects(list(first.manifests)):
        _value(first.manifests, place)["changed"] = True
    assert second.manifests == before
    assert convert(document) == second


@pytest.mark.parametrize("document", DOCUMENTS, ids=_id)
def test_the_webhook_takes_every_result_and_the_document_stays(document: Json) -> None:
    before = copy.deepcopy(document)
    found = convert(document)
    assert document == before
    assert found is not None
    for manifest in found.manifests:
        assert admitted(manifest)["spec"]["suspend"] is True


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    ),
    st.sampled_from(["", "v1", "apps/v1", "kubeflow.org/v1", "example.com/v1"]),
    st.sampled_from(["Deployment", "Job", "ConfigMap", "TFJobs", "", None]),
)
def test_other_kinds_are_not_ours(spec: object, version: str, kind: object) -> None:
    assert convert({"apiVersion": version, "kind": kind, "spec": spec}) is None
