"""A law that may leave before its assertions counts how often it comes to them."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
DECORATORS = frozenset({"given", "drawn", "law"})


def laws(source: str) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and any(map(_is_law, node.decorator_list)):
            yield node


def _is_law(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Name) and called.id in DECORATORS


def uncounted(law: ast.FunctionDef) -> bool:
    """Whether a draw may come to its end with nothing asserted, and no count of such draws."""
    return "reached" not in {one.arg for one in law.args.args} and _may_leave(law.body)


def _may_leave(body: Iterable[ast.stmt]) -> bool:
    """Up to the first statement that asserts something whatever is drawn."""
    for statement in body:
        match statement:
            case ast.If(body=then, orelse=other):
                if other and _asserts(then) and _asserts(other):
                    return False
                if _leaves(then) or _leaves(other):
                    return True
            case ast.Try(handlers=handlers):
                if any(_leaves(one.body) for one in handlers):
                    return True
            case _ if _asserts([statement]) and not isinstance(statement, ast.If):
                return False
    return any(isinstance(one, ast.If) for one in body)


def _leaves(body: Iterable[ast.stmt]) -> bool:
    return any(isinstance(one, ast.Return | ast.Continue) for one in body) and not _asserts(body)


def _asserts(body: Iterable[ast.stmt]) -> bool:
    nodes = [node for one in body for node in ast.walk(one)]
    return any(isinstance(node, ast.Assert | ast.With) for node in nodes)


def test_every_law_that_may_leave_early_counts_its_draws() -> None:
    found = [
        f"{path.relative_to(TESTS)}::{law.name}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for law in laws(path.read_text())
        if law.name.startswith("test_") and uncounted(law)
    ]
    assert found == []


@pytest.mark.parametrize(
    "body",
    [
        "if bad: return\n assert good",
        "try: x()\n except E: return\n assert good",
        "if good: assert better",
    ],
)
def test_the_search_finds(body: str) -> None:
    (law,) = laws(f"@given(st.none())\ndef test_it(one):\n {body}\n")
    assert uncounted(law)


@pytest.mark.parametrize(
    "body", ["assert good\n if bad: return", "if bad: assert a\n else: assert b", "assert good"]
)
def test_the_search_leaves(body: str) -> None:
    (law,) = laws(f"@given(st.none())\ndef test_it(one):\n {body}\n")
    assert not uncounted(law)
