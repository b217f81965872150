from dataclasses import replace

from benchmarks.experiments import tables
from benchmarks.experiments.experiments import T1, T2
from benchmarks.experiments.figures import Figures
from benchmarks.experiments.metrics import StepFigures
from benchmarks.experiments.record import Circumstances, Lag


def step(replicas: int, seconds: float | None) -> StepFigures:
    return StepFigures(replicas, seconds, utilisation=0.45, ceiling=0.9, beside=0.9, around=0.5)


def run(experiment: str = T1.name, way: str = "with", wait: float = 4.0) -> Figures:
    return Figures(
        circumstances=Circumstances(experiment, "replay", way, 1, load=(1.0, 2.0, 3.0)),
        wait=wait,
        longest=wait,
        unmet=0,
        whole=9.0,
        jain=0.99,
        below=0,
        lacking=0.0,
        stops={"trainer": 7, "pserver": 0, "master": 0},
        completion=None,
        done=0,
        makespan=None,
        back=True,
        steps=(step(0, 0.0),),
    )


def row(table: str, name: str) -> list[str]:
    (found,) = (line for line in table.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_a_cell_has_the_mean_and_the_bounds_of_its_runs() -> None:
    table = tables.t1(tables.columns([run(wait=4.0), run(wait=6.0)], T1.name))
    assert row(table, "mean wait, s")[4] == "5.0 (4.0–6.0)"


def test_what_was_not_run_says_so() -> None:
    table = tables.t1(tables.columns([run()], T1.name))
    assert row(table, "mean wait, s")[4:] == ["4.0", "not run", "not run"]
    assert "replay with EDL's algorithm (n = 0)" in table
    assert "simulated" not in table


def test_growth_that_never_came_is_counted() -> None:
    steps = (step(400, 0.0), step(100, 1.0), step(200, 8.0), step(400, None))
    table = tables.t2(tables.columns([replace(run(T2.name), steps=steps)], T2.name))
    assert row(table, "+100 nginx Running after, s")[4] == "8.0; 1 never"


def test_a_step_is_compared_with_all_three_ceilings() -> None:
    table = tables.t2_steps(tables.columns([run(T2.name)], T2.name))
    assert row(table, "0")[1] == "45.0%: 50.0% · 50.0% · 90.0%"


def test_each_replay_stands_with_its_load_and_the_lag_of_its_nodes() -> None:
    text = tables.runs([replace(run(), lag=Lag(900, 2.01, 2.4, 2.9))])
    assert "1.0 / 2.0 / 3.0" in text
    assert "2.01 / 2.4 / 2.9" in text


def test_a_mix_without_a_run_has_no_table() -> None:
    assert tables.mixes([]) == "Not run."
