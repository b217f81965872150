"""No module and no folder imports itself by way of others, type hints included."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("edl", "webhook", "reconciler", "kubectl_edl", "certs", "manifests")
TYPES_ALONE = {
    "edl.planner.packing.best_fit": "edl.planner.packing.pod_class",
    "edl.planner.packing.node_capacity": "edl.planner.packing.pod_class",
    "edl.planner.snapshot.quota_balance": "edl.planner.snapshot.role_allocation",
    "edl.planner.snapshot.role_allocation": "edl.planner.snapshot.restarts.job_restart",
}
"""Imports under TYPE_CHECKING of values that each know the other."""

Graph = Mapping[str, set[str]]


def modules() -> dict[str, Path]:
    paths = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {named(path): path for path in paths}


def named(path: Path) -> str:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name.removesuffix(".__init__")


def imported(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def imports(known: Mapping[str, Path]) -> Graph:
    return {
        name: {
            other
            for other in imported(path, known)
            if other in known and other != name and TYPES_ALONE.get(name) != other
        }
        for name, path in known.items()
    }


@cache
def ours() -> Graph:
    return imports(modules())


def folders(graph: Graph, known: Mapping[str, Path]) -> Graph:
    """By folder; what a folder imports of those that it lies in, or that lie in it, aside."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for name, others in graph.items():
        folder = known[name].parent
        for other in (known[other].parent for other in others):
            if not (folder.is_relative_to(other) or other.is_relative_to(folder)):
                found[str(folder.relative_to(ROOT))].add(str(other.relative_to(ROOT)))
    return found


def cycle(graph: Graph) -> list[str]:
    """One cycle, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


@pytest.mark.parametrize("graph", [{"a": {"b"}, "b": {"c"}, "c": {"a"}}])
def test_a_cycle_is_found(graph: Graph) -> None:
    assert set(cycle(graph)) == {"a", "b", "c"}


def test_no_module_imports_itself_through_others() -> None:
    assert len(ours()) > 400
    assert cycle(ours()) == []


def test_no_folder_imports_itself_through_others() -> None:
    assert cycle(folders(ours(), modules())) == []
