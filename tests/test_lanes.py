"""What a lane of tests promises: as many as it must, and draws of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_TESTS = """
from hypothesis import settings

def test_draws():
    assert settings().derandomize is {fixed}

def test_another():
    pass
"""


def run(folder: Path, *words: str, fixed: bool = False, **environ: str) -> tuple[int, str]:
    """pytest's exit code and output, for two tests under our own conftest."""
    (folder / "test_two.py").write_text(_TESTS.format(fixed=fixed))
    command = ("-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, *command, *words, "test_two.py"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.slow
def test_a_lane_that_lost_tests_fails(tmp_path: Path) -> None:
    assert run(tmp_path, "--least", "2")[0] == 0
    code, said = run(tmp_path, "--least", "3")
    assert code == 1
    assert "2 tests passed; at least 3 must" in said
    assert run(tmp_path, "--least", "2", "-k", "another")[0] == 1


@pytest.mark.slow
def test_laws_draw_anew_in_hosted_ci_and_the_same_for_make_test(tmp_path: Path) -> None:
    """hypothesis by itself draws the same examples wherever CI is set."""
    assert run(tmp_path, CI="true")[0] == 0
    assert run(tmp_path, fixed=True, CI="true", EDL_DRAWS="fixed")[0] == 0
