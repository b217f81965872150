"""The fields of `-o json` are those that docs/reference/outputs.md lists."""

# ruff: noqa: ANN401 - shapes are types, for which typing has no type

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NotRequired, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from dev.reference.outputs import OUTPUTS
from kubectl_edl.output.documents import API_VERSION
from tests.kubectl_edl.test_snapshots import SCENARIO, scene

HEAD = {"apiVersion", "kind"}
SHAPES: Mapping[str, Any] = {one.kind: one.shape for one in OUTPUTS}
COMMANDS = (
    ("status", "mnist"),
    ("status", "bert"),
    ("queue",),
    ("plan",),
    ("explain", "mnist"),
    ("explain", "bert"),
    ("history", "mnist"),
    ("top", "jobs"),
    ("top", "jobs", "mnist"),
    ("top", "nodes"),
    ("top", "cluster"),
    ("simulate", "-f", "SCENARIO", "--policy", "fair"),
    ("simulate", "--live", "--until", "10s"),
    ("doctor",),
    ("version",),
)


def surplus_fields(at: str, document: Any, shape: Any) -> Iterator[str]:
    """Fields that the shape does not name."""
    shape = get_args(shape)[0] if get_origin(shape) in (Annotated, NotRequired) else shape
    if isinstance(document, list):
        for one in document:
            yield from surplus_fields(f"{at}[]", one, items_of(shape))
    elif isinstance(document, dict) and hasattr(shape, "__required_keys__"):
        hints = get_type_hints(shape, include_extras=True)
        yield from (f"{at}.{name}" for name in document.keys() - hints)
        for name in document.keys() & hints:
            yield from surplus_fields(f"{at}.{name}", document[name], not_null(hints[name]))
    elif isinstance(document, dict) and shape is not Any:
        for one in document.values():
            yield from surplus_fields(f"{at}.KEY", one, get_args(shape)[1])


def not_null(shape: Any) -> Any:
    while get_origin(shape) in (Annotated, NotRequired):
        shape = get_args(shape)[0]
    alternatives = [one for one in get_args(shape) if one is not type(None)]
    nullable = type(None) in get_args(shape)
    return alternatives[0] if nullable else shape


def items_of(shape: Any) -> Any:
    return (get_args(shape) or (Union,))[0]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_document_has_the_fields_that_are_defined(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    (file := tmp_path / "scenario.yaml").write_text(SCENARIO)
    line = [str(file) if word == "SCENARIO" else word for word in command]
    found = json.loads(scene().run(*line, "-o", "json").out)
    documents = found["items"] if found["kind"].endswith("List") else [found]
    assert documents
    assert {found["apiVersion"], *(one["apiVersion"] for one in documents)} == {API_VERSION}
    for one in documents:
        shape, body = SHAPES[one["kind"]], {name: one[name] for name in one.keys() - HEAD}
        msgspec.convert(body, shape, strict=True)
        assert list(surplus_fields(one["kind"], body, shape)) == []


def test_the_list_has_the_fields_of_status_without_those_of_one_job() -> None:
    (item, *_) = json.loads(scene().run("status", "-o", "json").out)["items"]
    detail = {"topology", "events", "operations", "blockers"}
    assert item.keys() - HEAD == get_type_hints(SHAPES["TrainingJob"]).keys() - detail


@pytest.mark.parametrize("command", [("status",), ("queue",), ("plan",), ("history", "bert")])
def test_names_are_those_of_jobs(command: tuple[str, ...]) -> None:
    stage = scene()
    names = stage.run(*command, "-o", "name").out.splitlines()
    assert names
    for name in names:
        kind, _, job = name.partition("/")
        assert kind == "job.batch"
        assert stage.job(job)["metadata"]["name"] == job
