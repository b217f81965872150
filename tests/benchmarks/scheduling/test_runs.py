"""Runs of several seeds and their means."""

from typing import NamedTuple

import pytest

from benchmarks.scheduling.runs import mean, print_runs


class Figures(NamedTuple):
    done: float
    wait: float


def test_a_mean_is_of_each_figure() -> None:
    assert mean([(Figures(1, 10), 2.0), (Figures(3, 20), 4.0)]) == (Figures(2, 15), 3.0)


def test_each_run_is_a_line_and_each_contestant_has_a_mean(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = [
        ("a", 0, Figures(1, 10), 2.0),
        ("b", 0, Figures(5, 5), 1.0),
        ("a", 1, Figures(3, 20), 4.0),
    ]
    print_runs(lambda name, found, spent: f"{name}: {found.wait:g} {spent:g}", runs)
    assert capsys.readouterr().out.splitlines() == [
        "a, seed 0: 10 2",
        "b, seed 0: 5 1",
        "a, seed 1: 20 4",
        "a, mean of 2: 15 3",
        "b, mean of 1: 5 1",
    ]
