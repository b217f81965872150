"""The list of mutants follows the code."""

import ast
from collections import Counter

import pytest

from tests.mutants.listed import PACKAGES, ROOT, Mutant, read

MUTANTS = read()


def test_there_are_enough_and_of_every_package() -> None:
    assert len(MUTANTS) >= 150
    files = [mutant.file for mutant in MUTANTS]
    assert all(any(file.startswith(f"{each}/") for file in files) for each in PACKAGES)
    assert max(Counter(MUTANTS).values()) == 1


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_another_program(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text()
    assert ast.dump(ast.parse(mutant.of(text))) != ast.dump(ast.parse(text))
    assert all((ROOT / tests).is_dir() for tests in mutant.tests)
