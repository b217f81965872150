"""What tests measure is printed at the end of a run, whichever process ran them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_MEASURES = """
from tests.figures import titled

def test_it(record_property):
    record_property(titled("steps"), "seven")
    record_property("of no table", "eight")
"""


@pytest.mark.slow
def test_figures_of_a_worker_process_are_printed_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(_MEASURES)
    command = ["-m", "pytest", "-q", "-n", "1", "-p", "tests.conftest", "test_one.py"]
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    title, figure = done.stdout.partition("= steps =")[1:]
    assert (title, figure.split()[1:2]) == ("= steps =", ["seven"]), done.stdout + done.stderr
    assert "eight" not in done.stdout
