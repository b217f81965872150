"""`make setup`: what it prints while pip works, and what if pip fails."""

import os
import signal
import subprocess
from collections.abc import Iterator
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


def command(folder: Path, pip: str, *variables: str) -> list[str]:
    """`make setup` with a Python whose venv module installs only this pip."""
    python = folder / "python"
    python.write_text(PYTHON.format(pip=pip))
    python.chmod(0o755)
    given = [f"PYTHON={python}", f"VENV={folder}/venv", "EDL_BINARIES=/", *variables]
    return ["make", "--no-print-directory", "setup", *given]


def setup(folder: Path, pip: str, *variables: str) -> "subprocess.CompletedProcess[str]":
    asked = command(folder, pip, *variables)
    return subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Children start with the default for SIGINT, also if this process was told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


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


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_pip(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "does")
    pip = f"exec >{tmp_path}/does; echo starts; sleep 5; echo goes on"
    make = subprocess.Popen(command(tmp_path, pip), cwd=ROOT, start_new_session=True)
    with (tmp_path / "does").open() as does:
        assert does.readline() == "starts\n"
        os.killpg(make.pid, signal.SIGINT)
        assert does.read() == "", "all processes of pip have ended"
    assert make.wait() != 0
    assert not (tmp_path / "venv" / "ready").exists()
