"""One word, one meaning: each module, public class and type alias has a name of its own.

`REJECTED` are names that this project once invented for things that have a usual one.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("edl", "webhook", "reconciler", "kubectl_edl", "certs", "manifests")
VAGUE = {"at", "found", "kept", "known", "one", "own"}
"""Names that no function binds, but in a comprehension of one line."""
IN_EVERY_COMMAND = {"command", "view", "options"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
ENTRY_POINTS = {"__init__", "__main__"}
MODULES_PER_FOLDER = 14
REJECTED = {
    "actuator": "patcher, executor",
    "asks": "requests, provisioning",
    "census": "incremental state",
    "complaints": "rejection log",
    "deciders": "completion roles",
    "keeper": "reloader, owner",
    "legacy": "notes",
    "measures": "metrics",
    "stand_on": "set_nodes",
    "tenants": "evictable pods",
    "unsaid": "default",
    "world": "cli, scenario, context",
}
TYPE = re.compile(
    r"^(?:class ([A-Z]\w*)|([A-Z]\w*): TypeAlias\b|([A-Z]\w*[a-z]\w*) = (?!TypeVar|ParamSpec))",
    re.MULTILINE,
)


def modules() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def types(source: str) -> Iterator[str]:
    """Names of the public classes and type aliases of a module."""
    return (name for found in TYPE.findall(source) for name in found if name)


def identifiers(source: str) -> Iterator[str]:
    """Names of variables, arguments, attributes, functions and classes, in lower case."""
    for node in ast.walk(ast.parse(source)):
        for field in ("id", "attr", "arg", "name"):
            if isinstance(name := getattr(node, field, None), str):
                yield name.lower().strip("_")


def parameters(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, FUNCTIONS):
            yield from (one.arg.strip("_") for one in (*node.args.args, *node.args.kwonlyargs))


def bindings(source: str) -> Iterator[str]:
    """Parameters, variables and loop targets of functions, without comprehensions of one line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, FUNCTIONS):
            yield from parameters(ast.unparse(node))
            yield from (name for statement in node.body for name in targets(statement))


def targets(node: ast.AST) -> Iterator[str]:
    """The names that a statement assigns, in it and below it."""
    if isinstance(node, COMPREHENSIONS) and node.lineno == node.end_lineno:
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from targets(child)


def twice(names: Counter[str]) -> list[str]:
    return sorted(name for name, count in names.items() if count > 1)


def test_no_two_modules_have_one_name() -> None:
    names = Counter(path.stem for path in modules())
    assert set(twice(names)) <= IN_EVERY_COMMAND | ENTRY_POINTS


def test_no_two_public_types_have_one_name() -> None:
    names = Counter(name for path in modules() for name in types(path.read_text()))
    assert names["Plan"] == 1
    assert twice(names) == []


def test_classes_and_aliases_are_types() -> None:
    source = (
        "class Plan: ...\nclass _Own: ...\nNames: TypeAlias = list[str]\nMOST: Final = 5\n"
        'Ints = NDArray[np.int64]\n_Json = dict[str, Any]\nKind = TypeVar("Kind")\nMOST = 9\n'
    )
    assert list(types(source)) == ["Plan", "Names", "Ints"]


def test_no_identifier_is_a_rejected_name() -> None:
    rejected = [
        f"{path.relative_to(ROOT)}: {name}; better: {REJECTED[name]}"
        for path in modules()
        for name in sorted({*identifiers(path.read_text())} & REJECTED.keys())
    ]
    assert rejected == []


def test_identifiers_are_names_of_any_kind() -> None:
    source = "class _Keeper:\n    def asks(self, world): self.measures = tenants\n"
    found = {"keeper", "asks", "self", "world", "measures", "tenants"}
    assert {*identifiers(source)} == found


@pytest.mark.parametrize("package", PACKAGES)
def test_a_variable_is_named_after_what_it_is(package: str) -> None:
    paths = [*(ROOT / package).rglob("*.py")]
    vague = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in paths
        for name in bindings(path.read_text())
        if name in VAGUE
    }
    assert paths
    assert vague == set()


def test_bindings_are_parameters_variables_and_loop_targets() -> None:
    source = """
class Fields:
    at: float
    def f(_kept, *, known):
        found = {short for short in known}
        for one, (two, _) in found:
            if own := [
                each
                for each in one
            ]: ...
async def g(at): ...
"""
    expected = {"kept", "known", "found", "one", "two", "_", "own", "each", "at"}
    assert {*bindings(source)} == expected


def test_parameters_are_those_of_functions() -> None:
    source = "def f(_found, *, one): return lambda other: other"
    assert {*parameters(source)} == {"found", "one"}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_folder_can_be_read_at_a_glance(package: str) -> None:
    folders = Counter(
        str(path.relative_to(ROOT).parent)
        for path in (ROOT / package).rglob("*.py")
        if path.stem != "__init__"
    )
    assert [name for name, count in folders.items() if count > MODULES_PER_FOLDER] == []
