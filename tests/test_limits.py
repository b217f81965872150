"""The limits of CONTRIBUTING.md hold: a file is read in one sitting, a function on one screen."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = (
    *("edl", "webhook", "reconciler", "kubectl_edl", "certs", "manifests"),
    *("sandbox", "dev", "benchmarks"),
)
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
LINES_PER_FILE: Final = 300
LINES_PER_FUNCTION: Final = 40
FIELDS: Final = 15
MANY_FIELDS: Final = {
    "BlockerDocument",
    "QueuedTrainingJobDocument",
    "SimulatedJobDocument",
    "SimulationDocument",
    "TrainingJobExplanationDocument",
    "Planning",
    "PodSpec",
    "JobFacts",
    "PodFacts",
    "Track",
    "Figures",
    "RoleAllocation",
}
"""JSON objects, chart values with their options, records of benchmarks and fields of the API, which
are flat where they are read; facts that are decoded once per object; the stores, one per kind; and
the working state of one plan or simulation."""


def modules() -> Iterator[tuple[str, str]]:
    """Path and source of each module but tests."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield str(path.relative_to(ROOT)), path.read_text()


@cache
def nodes() -> tuple[tuple[str, Definition], ...]:
    """Path and node of each class and function; functions have lost their bodies."""
    trees = ((path, ast.parse(source)) for path, source in modules())
    return tuple((path, node) for path, tree in trees for node in definitions(tree))


def definitions(node: ast.AST) -> Iterator[Definition]:
    """They are statements: expressions are not searched for them."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.stmt | ast.excepthandler | ast.match_case):
            yield from definitions(inner)
        if isinstance(inner, Definition):
            if not isinstance(inner, ast.ClassDef):
                inner.body.clear()
            yield inner


def fields(found: ast.ClassDef) -> int:
    return sum(
        isinstance(one, ast.AnnAssign) and "ClassVar" not in ast.unparse(one.annotation)
        for one in found.body
    )


def test_a_file_is_read_in_one_sitting() -> None:
    long = [path for path, source in modules() if len(source.splitlines()) > LINES_PER_FILE]
    assert long == []


def test_a_function_fits_on_a_screen() -> None:
    long = [
        f"{path}:{node.lineno} {node.name}"
        for path, node in nodes()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= LINES_PER_FUNCTION
    ]
    assert long == []


def test_a_struct_has_few_fields() -> None:
    many = {
        node.name for _, node in nodes() if isinstance(node, ast.ClassDef) and fields(node) > FIELDS
    }
    assert many <= MANY_FIELDS


def test_capacity_is_asked_of_a_view_and_not_with_a_flag() -> None:
    """`Horizon` and the views of a `PodClass` say whether capacity is idle now or later."""
    flags = [
        f"{path}:{node.lineno} {node.name}"
        for path, node in nodes()
        if isinstance(node, ast.FunctionDef)
        for one in (*node.args.args, *node.args.kwonlyargs)
        if one.arg in {"now", "soon"} and one.annotation and ast.unparse(one.annotation) == "bool"
    ]
    assert flags == []


@pytest.mark.parametrize(("text", "count"), [("x: int\n y: int = 0", 2), ("x: ClassVar[int]", 0)])
def test_fields_are_counted(text: str, count: int) -> None:
    [found] = ast.parse(f"class Value:\n {text}\n").body
    assert isinstance(found, ast.ClassDef)
    assert fields(found) == count
