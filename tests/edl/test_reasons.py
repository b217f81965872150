"""Reasons are codes; their sentences are made at the edge, and never read again."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from edl import messages, reasons_markdown
from edl.model import Code, JobKey, Reason, Restart
from edl.model.last_changes import read_reason, text_of
from edl.model.reasons import Minimum, code_of

ROOT = Path(__file__).parents[2]
PACKAGES = ("edl", "reconciler", "kubectl_edl", "webhook", "certs")
SENTENCES = {"message", "messages", "lasting"}
READERS = {"startswith", "endswith", "partition", "rpartition", "split", "removeprefix", "find"}


_TEXTS = some.text(max_size=20)


def test_docs_have_the_table() -> None:
    text = (ROOT / "docs" / "reasons.md").read_text()
    shown = text.partition("<!-- reasons:begin -->")[2].partition("<!-- reasons:end -->")[0]
    assert shown.strip() == reasons_markdown.table().strip(), "run python -m edl.reasons_markdown"


def test_every_code_is_camel_case_and_explained() -> None:
    assert all(code.isalnum() and code[0].isupper() for code in Code)
    assert set(reasons_markdown.MEANINGS) == set(Code)


@given(
    some.sampled_from(Code),
    some.builds(Minimum, some.builds(JobKey, _TEXTS, _TEXTS)),
    some.sampled_from(Restart),
)
def test_what_is_remembered_is_read_again(code: Code, about: Minimum, restart: Restart) -> None:
    reason = Reason(code, about, restart)
    assert read_reason(text_of(reason)) == reason


@pytest.mark.parametrize(
    "text", ["", "idle room", "{}", "[" * 5_000, '{"code":"Odd"}', '{"code":1}']
)
def test_what_others_wrote_is_no_reason(text: str) -> None:
    assert read_reason(text) is None
    assert code_of(text) is None


def test_no_decision_reads_a_sentence() -> None:
    """Not even where it is known to be ours: words may change with every release."""
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for line in readings(ast.parse(path.read_text()))
    ]
    assert found == []


def test_the_search_finds_what_it_is_for() -> None:
    wrong = (
        "role.message == 'paused'",
        "role.message.startswith('restarts: ')",
        "message(held.reason) == text",
        "'budget' in view.why.message",
        "messages.lasting(reason).partition(';')",
    )
    assert all(list(readings(ast.parse(line))) for line in wrong)


def readings(tree: ast.AST) -> Iterator[int]:
    """Lines that compare a sentence, search in it, or take it apart."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            if any(map(is_sentence, operands)):
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            reads = node.func.attr in READERS and node.args and is_sentence(node.func.value)
            yield from [node.lineno] if reads else []


def is_sentence(node: ast.expr) -> bool:
    """A field `message`, or what the renderer returns."""
    if isinstance(node, ast.Attribute):
        return node.attr == "message"
    if isinstance(node, ast.Call):
        name = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        return name in SENTENCES
    return False


def test_a_restart_says_how_far_it_has_come() -> None:
    paused = Reason(Code.MANUAL_SIZE)
    said = [messages.message(Reason(paused.code, restart=restart)) for restart in Restart]
    assert said == ["manual size", "restarts: manual size", "restarted: manual size"]
