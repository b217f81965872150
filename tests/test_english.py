"""Docstrings, comments, messages and documents name things: no people for things, no riddles.

`ALLOWED` has the few phrases that speak of people or quote other software.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
HELD: Final = (
    *("edl", "webhook", "reconciler", "kubectl_edl", "certs", "manifests"),
    *("sandbox", "dev", "benchmarks", "examples", "docs"),
    *("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"),
)
SUFFIXES: Final = frozenset({".py", ".md", ".yaml", ".tpl", ".js", ".html"})
PATTERNS: Final = {
    "a person for a thing": r"\b(?:(?:no|some|any|every)body|who(?:ever|m)?|he|him|his)\b",
    "say what it is not: `is not a …`": r"\b(?:is|are|was|were) no\b(?! (?:longer|more)\b)",
    "say the number, or `this many`": r"\bso (?:many|few)\b",
    "begin with the noun, not with `Of`": r"(?:^|[.:;] )(?-i:Of) (?!course\b)[a-z]",
    "say that it does not happen": r"\bin vain\b",
    "`no longer`, before the verb": r"\bany more\b(?! than\b)",
    "`idle capacity`": r"\bidle room\b",
    "`is listed twice`, `conflicts with`": r"\bstands? (?:twice|there|here|beside)\b",
    "say what happens to it": r"\blets? (?:it|them) go\b|\bslip of the pen\b|\ba kindness\b",
}
FUNCTION: Final = re.compile(r"^ *(?:async )?def (\w+)", re.MULTILINE)
PEOPLE: Final = {
    *("who", "whom", "whoever", "nobody", "somebody", "anybody", "everybody"),
    *("he", "him", "his", "stranger", "strangers"),
}
ALLOWED: Final = re.compile(
    r"\b(?:users?|administrators?|people|operators?|engineers?|readers?|attackers?|those) who\b"
    r"|\brun as nobody\b|\bthere (?:is|are|was|were) no\b|^who$",
    re.IGNORECASE,
)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of a document's lines, or of a module's strings, docstrings and comments.

    And of the names in it that speak of people. What follows a # in a string counts as a comment.
    """
    source = path.read_text()
    if path.suffix != ".py":
        yield from enumerate(source.splitlines(), 1)
        return
    for number, line in enumerate(source.splitlines(), 1):
        if "#" in line:
            yield number, line.partition("#")[2].lstrip("# ")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield node.lineno, node.value
            continue
        for name in vars(node).values():
            if isinstance(name, str) and PEOPLE & set(name.lower().split("_")):
                yield getattr(node, "lineno", 0), name.replace("_", " ")


def findings(text: str) -> list[str]:
    """What to write instead, for each pattern that a text has."""
    kept = ALLOWED.sub("", text)
    return [
        f"{found[0]!r}: {advice}"
        for advice, pattern in PATTERNS.items()
        for found in re.finditer(pattern, kept, re.MULTILINE | re.IGNORECASE)
    ]


def said(path: Path) -> Iterator[str]:
    """The findings of a file; of a file that has some, each with its line."""
    found = [*texts(path)]
    if findings("\n".join(text for _, text in found)):
        for line, text in found:
            yield from (f"{path.relative_to(ROOT)}:{line}: {each}" for each in findings(text))


def files(name: str) -> list[Path]:
    path = ROOT / name
    found = [path] if path.is_file() else sorted(path.rglob("*"))
    return [file for file in found if file.suffix in SUFFIXES and "__pycache__" not in file.parts]


@pytest.mark.parametrize("name", HELD)
def test_a_package_speaks_of_things(name: str) -> None:
    assert files(name)
    assert [finding for path in files(name) for finding in said(path)] == []


def test_tests_are_named_after_things() -> None:
    people = [
        f"{path.relative_to(ROOT)}: {function}"
        for path in files("tests")
        if path.suffix == ".py"
        for function in FUNCTION.findall(path.read_text())
        for name in [function.replace("_", " ")]
        if PEOPLE & set(ALLOWED.sub("", name).split()) or findings(name)
    ]
    assert people == []


def test_names_count_as_texts(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("def leaves_nobody(pods): ...\n")
    assert [*texts(module)] == [(1, "leaves nobody")]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Nobody writes it.", 1),
        ("A pod that is no worker.", 1),
        ("It is no longer there, and there is no node.", 0),
        ("Waits for so many pods.", 1),
        ("Of a Job that ended.", 1),
        ("Of course users who opt in decide.", 0),
        ("Growth was in vain.", 1),
        ("A Job that is not resized any more.", 1),
        ("How many more pods fit, and not any more than that.", 0),
        ("A role stands twice.", 1),
        ("Idle room: 3 of 5 fit.", 1),
        ("Pods wait until you let them go.", 1),
    ],
)
def test_the_patterns_find_what_they_are_for(text: str, count: int) -> None:
    assert len(findings(text)) == count
