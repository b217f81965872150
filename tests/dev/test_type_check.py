from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from dev.type_check import check

if TYPE_CHECKING:
    from pathlib import Path

_MYPY = """
import pathlib, sys
cache = pathlib.Path({own!r})
cache.mkdir(exist_ok=True)
with (cache / "runs").open("a") as runs:
    runs.write("x")
sys.exit({code})
"""


def checked(folder: Path, clone: str, code: int = 0) -> str:
    """One run in a clone, and how many runs its cache knows of then."""
    own = folder / clone
    command = (sys.executable, "-c", _MYPY.format(own=str(own), code=code))
    assert check(own, folder / "kept" / "mypy", command) == code
    return (own / "runs").read_text()


def test_a_new_clone_begins_with_the_cache_of_another_and_goes_on_with_its_own(
    tmp_path: Path,
) -> None:
    assert checked(tmp_path, "one") == "x"
    assert checked(tmp_path, "two") == "xx"
    assert checked(tmp_path, "one") == "xx"
    assert checked(tmp_path, "three") == "xxx"


@pytest.mark.parametrize("code", [1, 2])
def test_a_check_that_fails_is_not_kept(tmp_path: Path, code: int) -> None:
    assert checked(tmp_path, "one") == "x"
    assert checked(tmp_path, "one", code) == "xx"
    assert checked(tmp_path, "two") == "xx"
