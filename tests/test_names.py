"""One word, one meaning: every module and every public class in the packages has its own name."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("edl", "webhook", "reconciler", "kubectl_edl", "certs", "manifests")
IN_EVERY_COMMAND = {"command", "view", "options"}
ENTRY_POINTS = {"__init__", "__main__", "main"}
MODULES_PER_FOLDER = 14
SCHEMA = "manifests"
"""Structs there name the chart's values, and the chart's schema shows their names."""


def modules() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def classes(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def twice(names: Counter[str]) -> list[str]:
    return sorted(name for name, count in names.items() if count > 1)


def test_no_two_modules_have_one_name() -> None:
    names = Counter(path.stem for path in modules())
    assert set(twice(names)) <= IN_EVERY_COMMAND | ENTRY_POINTS


def test_no_two_public_classes_have_one_name() -> None:
    names = Counter(
        name
        for path in modules()
        if path.relative_to(ROOT).parts[0] != SCHEMA
        for name in classes(path)
    )
    assert names["Plan"] == 1
    assert twice(names) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_folder_can_be_read_at_a_glance(package: str) -> None:
    folders = Counter(
        str(path.relative_to(ROOT).parent)
        for path in (ROOT / package).rglob("*.py")
        if path.stem != "__init__"
    )
    assert [name for name, count in folders.items() if count > MODULES_PER_FOLDER] == []
