"""`make setup`: what it prints while pip works, and what if pip fails."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = """\
#!/bin/sh
[ "$1 $2" = "-m venv" ] || exit 0
mkdir -p "$3/bin"
cat >"$3/bin/pip" <<'PIP'
#!/bin/sh
{pip}
PIP
chmod +x "$3/bin/pip"
"""


def setup(folder: Path, pip: str, *variables: str) -> "subprocess.CompletedProcess[str]":
    """`make setup` with a Python whose venv module installs only this pip."""
    python = folder / "python"
    python.write_text(PYTHON.format(pip=pip))
    python.chmod(0o755)
    given = [f"PYTHON={python}", f"VENV={folder}/venv", "EDL_BINARIES=/", *variables]
    return subprocess.run(
        ["make", "--no-print-directory", "setup", *given],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def first(tmp_path: Path) -> str:
    return f"setting up {tmp_path}/venv: Python packages; once, some minutes"


def test_a_fast_setup_prints_one_line(tmp_path: Path, first: str) -> None:
    done = setup(tmp_path, "echo Collecting numpy")
    assert (done.returncode, done.stdout.splitlines()) == (0, [first])
    assert (tmp_path / "venv" / "ready").exists()


def test_a_slow_setup_shows_what_pip_does(tmp_path: Path, first: str) -> None:
    done = setup(tmp_path, "echo Collecting numpy; sleep 3", "PROGRESS=1")
    head, *lines = done.stdout.splitlines()
    assert (done.returncode, head) == (0, first)
    assert "  1 s: Collecting numpy" in lines


def test_a_setup_that_fails_shows_why_and_is_not_ready(tmp_path: Path) -> None:
    done = setup(tmp_path, "echo Collecting numpy; echo no route to host >&2; exit 1")
    assert done.returncode != 0
    assert done.stdout.endswith("Collecting numpy\nno route to host\n")
    assert not (tmp_path / "venv" / "ready").exists()
