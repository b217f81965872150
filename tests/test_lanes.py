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
_FLAKY = """
from pathlib import Path
import pytest

pytestmark = pytest.mark.integration

def run(name):
    with Path({folder!r}, f"{{name}}.runs").open("a+") as runs:
        runs.write("x")
        runs.seek(0)
        return len(runs.read())

@pytest.mark.parametrize("number", range({failures}))
def test_flaky(number):
    assert run(number) > {until}

def test_good():
    run("good")
"""


_SETTINGS = """
[pytest]
addopts = --strict-markers --import-mode=importlib
markers =
    integration
    long
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


def lane(folder: Path, failures: int, least: int, *, until: int = 1) -> tuple[int, set[int]]:
    """A lane's exit code, and how often its failing tests ran; they fail `until` times.

    Our conftest.py is above the test's folder, as it is for tests of clusters.
    """
    for module in ("conftest", "figures", "lane"):
        ours = (ROOT / "tests" / module).with_suffix(".py")
        (folder / "tests" / "integration").mkdir(parents=True, exist_ok=True)
        (folder / "tests" / ours.name).write_text(ours.read_text())
    test = _FLAKY.format(folder=str(folder), failures=failures, until=until)
    (folder / "tests/integration/test_some.py").write_text(test)
    (folder / "pytest.ini").write_text(_SETTINGS)
    command = ("-m", "tests.lane", "-q", "-n", "2", "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, *command, "--least", str(least), "tests/integration"],
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (folder / "good.runs").read_text() == "x", done.stdout + done.stderr
    return done.returncode, {len(one.read_text()) for one in folder.glob("[0-9].runs")}


@pytest.mark.slow
def test_few_tests_that_fail_beside_others_run_once_more_alone(tmp_path: Path) -> None:
    assert lane(tmp_path, 3, least=4) == (0, {2})


@pytest.mark.slow
def test_a_test_that_fails_alone_too_fails_its_lane(tmp_path: Path) -> None:
    assert lane(tmp_path, 1, least=2, until=2) == (1, {2})


@pytest.mark.slow
@pytest.mark.parametrize(("failures", "least"), [(4, 5), (1, 3)])
def test_many_failures_or_lost_tests_fail_a_lane_at_once(
    tmp_path: Path, failures: int, least: int
) -> None:
    assert lane(tmp_path, failures, least) == (1, {1})


@pytest.mark.slow
def test_laws_draw_anew_in_hosted_ci_and_the_same_for_make_test(tmp_path: Path) -> None:
    """hypothesis by itself draws the same examples wherever CI is set."""
    assert run(tmp_path, CI="true")[0] == 0
    assert run(tmp_path, fixed=True, CI="true", EDL_DRAWS="fixed")[0] == 0
