import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from edl.simulator import Plain
from kubectl_edl.resources.manifest_sources import ManifestSource
from kubectl_edl.simulate import plots
from kubectl_edl.simulate.run_variants import Variant, run
from kubectl_edl.simulate.scenario.scenario_reader import read_scenario
from tests.kubectl_edl.stage import Stage

SMALL = """
horizon: 10m
nodes: [{cpu: 2}]
jobs: [{count: 2, every: 20, max: 2, cpu: 1, work: 60}]
"""


@pytest.mark.slow
def test_a_plot_shows_runs_in_columns(tmp_path: Path) -> None:
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


def test_without_matplotlib_a_plot_is_refused_before_the_simulation() -> None:
    """In a process of its own that cannot import it."""
    code = "import sys; sys.modules['matplotlib'] = None; from kubectl_edl.main import main; main()"
    args = ("simulate", "-f", "none.yaml", "--plot", "x.png")
    found = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    assert found.stderr.startswith(
        "error: plots need matplotlib in the plugin's environment: pipx inject"
    )
    # There is no package of that name on an index.
    assert "kubectl-edl[" not in found.stderr


def test_a_folder_as_plot_file_is_refused_before_the_simulation(tmp_path: Path) -> None:
    folder = tmp_path / "days.svg"
    folder.mkdir()
    found = Stage().run("simulate", "-f", "none.yaml", "--plot", str(folder))
    said = f"error: --plot {folder}: is a folder; a file in it, such as {folder}/day.svg\n"
    assert (found.code, found.err) == (1, said)


@pytest.mark.slow
def test_an_unwritable_plot_is_refused(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(SMALL)
    picture = tmp_path / "day.svg"
    picture.symlink_to(tmp_path / "gone" / "day.svg")
    found = Stage().run("simulate", "-f", str(scenario), "--plot", str(picture))
    assert found.code == 1
    assert found.err == f"error: --plot {picture}: cannot be written: No such file or directory\n"


def test_the_mean_wait_in_a_plot_title_is_a_lower_bound_if_a_job_never_ran() -> None:
    starved = "nodes: [{cpu: 2}]\njobs: [{cpu: 1, work: 60}, {cpu: 9, work: 60}]\n"
    given = read_scenario(ManifestSource("starved.yaml", starved)).scenario
    (found,) = run([Variant("plain", given, Plain())], 595, StringIO())
    assert plots.summary(found.result) == "mean wait >5m, 1 of 2 jobs ended"


def legends(jobs: int) -> tuple[list[list[str]], list[tuple[float, float]]]:
    """The legends of two runs' panels, from the top, and the limits of their y axes."""
    text = f"nodes: [{{cpu: 2}}]\njobs: [{{count: {jobs}, name: job, cpu: 1, work: 60}}]\n"
    given = read_scenario(ManifestSource("scenario.yaml", text)).scenario
    found = run([Variant(name, given, Plain()) for name in ("one", "two")], 595, StringIO())
    figure = plots.drawn(found)
    shown = [
        [text.get_text() for text in panel.get_legend().get_texts()]
        for panel in figure.axes
        if panel.get_legend()
    ]
    return shown, [panel.get_ylim() for panel in figure.axes]


def test_legends_name_every_colour_and_runs_share_their_axes() -> None:
    shown, limits = legends(2)
    assert shown == [
        *[["job-0", "job-1"]] * 2,
        *[["cpu"]] * 2,
        *[["waits", "runs, a quarter of its max", "half", "its max"]] * 2,
    ]
    assert limits[::2] == limits[1::2]


def test_more_jobs_than_colours_have_one_colour() -> None:
    shown, _ = legends(8)
    assert shown[:2] == [["each of 8 jobs"]] * 2
