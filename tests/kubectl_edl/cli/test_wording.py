"""Texts for users use the words of Kubernetes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[3] / "kubectl_edl"
PATTERNS = (
    r"nobody|somebody|anybody|everybody|who|whom|whoever|he|his|him",
    r"(?<!there )is no (?!longer)\w+",
    r"so many|way out|idle room|cast|held at|holds? a (held )?size|gives? it back|given back",
    r"goes on|go on|one's|What\?|Which\?",
)
READ = re.compile("|".join(rf"\b(?:{one})(?!\w)" for one in PATTERNS), re.IGNORECASE)


def texts(path: Path) -> Iterator[str]:
    """String constants with a blank in them, the parts of f-strings too; no docstring."""
    tree = ast.parse(path.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
        if isinstance(value, str) and " " in value and id(node) not in docstrings:
            yield from value.splitlines()


@pytest.mark.parametrize(
    "path", sorted(PLUGIN.rglob("*.py")), ids=lambda path: str(path.relative_to(PLUGIN))
)
def test_texts_use_kubernetes_words(path: Path) -> None:
    found = [text for text in texts(path) if READ.search(text)]
    assert found == []


@pytest.mark.parametrize(
    "text", ["nobody waits", "it is no list", "the way out", "held at 4", "What? Give a name"]
)
def test_the_patterns_find_their_examples(text: str) -> None:
    assert READ.search(text)
