import subprocess
import sys
from pathlib import Path

import pytest

from tests.kubectl_edl.stage import Stage

SMALL = """
horizon: 10m
nodes: [{cpu: 2}]
jobs: [{count: 2, every: 20, max: 2, cpu: 1, work: 60}]
"""


def test_a_picture_shows_the_runs_beside_each_other(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(SMALL)
    paths = [tmp_path / name for name in ("one.svg", "one.png")]
    for path in paths:
        args = ("-f", str(scenario), "--policy", "fair", "--plain")
        found = Stage().run("simulate", *args, "--plot", str(path))
        assert (found.code, found.err) == (0, f"drawn into {path}\n")
    svg, png = (path.read_bytes() for path in paths)
    assert b"<svg" in svg
    assert png.startswith(b"\x89PNG")


def test_without_matplotlib_the_way_to_it_is_said_before_anything_is_simulated() -> None:
    """In a process of its own that cannot import it."""
    code = "import sys; sys.modules['matplotlib'] = None; from kubectl_edl.main import main; main()"
    args = ("simulate", "-f", "none.yaml", "--plot", "x.png")
    found = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False
    )
    said = "error: plots need matplotlib: pip install 'kubectl-edl[plots]'\n"
    assert (found.returncode, found.stderr) == (1, said)
