"""The list of mutants follows the code."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.mutants.__main__ import Fate, fate
from tests.mutants.listed import LIST, PACKAGES, ROOT, Mutant, read, record

MUTANTS = read()


def test_there_are_enough_and_of_every_package() -> None:
    assert len(MUTANTS) >= 150
    files = [mutant.file for mutant in MUTANTS]
    assert all(any(file.startswith(f"{each}/") for file in files) for each in PACKAGES)
    assert max(Counter(MUTANTS).values()) == 1


def statement(text: str, line: int) -> str:
    """The outermost statement around a line, as the compiler reads it."""
    (found, *_) = (node for node in ast.parse(text).body if (node.end_lineno or 0) >= line)
    return ast.dump(found)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_another_program(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text()
    other = mutant.of(text)
    lines = zip(text.splitlines(), other.splitlines(), strict=False)
    (changed, *_) = (number for number, (old, new) in enumerate(lines, 1) if old != new)
    assert statement(other, changed) != statement(text, changed)
    assert all((ROOT / tests).is_dir() for tests in mutant.tests)


def test_each_recorded_test_is_there() -> None:
    recorded = {mutant.killed_by for mutant in MUTANTS if mutant.killed_by}
    places = [killed_by.split("::") for killed_by in recorded]
    missing = [
        f"{file}::{name}"
        for file, name in places
        if f"def {name}(" not in (ROOT / file).read_text()
    ]
    assert missing == []
    assert len(recorded) > 100


def test_a_recorded_list_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "mutants.toml"
    path.write_text(LIST.read_text())
    record({MUTANTS[0]: "tests/certs/test_issue.py::test_quotes"}, path)
    (first, *others) = read(path)
    assert first.killed_by == "tests/certs/test_issue.py::test_quotes"
    assert others == list(MUTANTS[1:])


@pytest.mark.parametrize(
    ("exit_code", "hangs", "expected"),
    [
        (0, False, Fate.SURVIVES),
        (1, False, Fate.KILLED),
        (2, False, Fate.KILLED),
        (None, False, Fate.TIMED_OUT),
        (None, True, Fate.KILLED),
        (0, True, Fate.SURVIVES),
    ],
)
def test_only_a_mutant_that_is_listed_to_hang_is_killed_by_the_end_of_its_time(
    exit_code: int | None, expected: Fate, *, hangs: bool
) -> None:
    assert fate(exit_code, Mutant("edl/planner/gangs/gang.py", "a", "b", hangs=hangs)) is expected
