from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.experiments import series
from benchmarks.experiments.course import Sample
from benchmarks.experiments.experiments import ARMS, EXPERIMENTS
from benchmarks.experiments.record import (
    ASIDE,
    LAG_LIMIT,
    Circumstances,
    Lag,
    Record,
    keep,
    lag_of,
    load,
    load_all,
)
from benchmarks.experiments.series import ATTEMPTS, Run, due, foreign_records, runs, seconds

ON_TIME = Lag(1000, 2.0, LAG_LIMIT, 9.0)
LATE = Lag(1000, 2.0, LAG_LIMIT + 0.01, 9.0)


def record(run: Run, lag: Lag | None = ON_TIME, commit: str = "abc1234") -> Record:
    told = Circumstances(run.experiment, "replay", run.arm, run.seed, commit=commit)
    samples = (Sample(0.0, 0, 0, (), 0),)
    return Record(told, (), (), {"trainer": 0}, samples, lag)


def test_every_arm_is_played_as_often_and_to_the_same_horizon() -> None:
    found = runs(3)
    assert len(found) == len(set(found)) == 3 * len(ARMS) * len(EXPERIMENTS)
    assert seconds(found) == 9 * sum(one.horizon + series.SET_UP for one in EXPERIMENTS.values())


def test_no_arm_always_comes_first() -> None:
    firsts = [next(run.arm for run in runs(3) if run.seed == seed) for seed in (1, 2, 3)]
    assert sorted(firsts) == sorted(ARMS)


def test_what_has_a_record_is_not_played_again() -> None:
    wanted = runs(1)
    assert due(wanted, [record(wanted[0])], []) == wanted[1:]


def test_what_was_set_aside_is_tried_again_but_not_for_ever() -> None:
    wanted = runs(1)
    late = record(wanted[0], LATE)
    assert due(wanted, [], [late] * (ATTEMPTS - 1)) == wanted
    assert due(wanted, [], [late] * ATTEMPTS) == wanted[1:]


@pytest.mark.parametrize("arm", ARMS)
def test_the_lag_alone_sets_a_replay_aside_under_every_arm(tmp_path: Path, arm: str) -> None:
    run = Run("T1", arm, 1)
    assert keep(record(run, LATE), tmp_path).parent == tmp_path / ASIDE.name
    assert keep(record(run, None), tmp_path).name == f"{run.name}.2.json"
    assert keep(record(run), tmp_path) == tmp_path / f"{run.name}.json"
    assert [found.lag for found in load_all(tmp_path / ASIDE.name)] == [LATE, None]
    assert load(tmp_path / f"{run.name}.json") == record(run)


def test_percentiles_are_of_pods() -> None:
    found = lag_of([float(number) for number in range(1, 201)])
    assert found == Lag(200, 100.0, 198.0, 200.0)
    assert lag_of([]) is None


def test_records_of_another_commit_are_named() -> None:
    kept, other = record(Run("T1", "with", 1)), record(Run("T1", "edl", 1), commit="def5678")
    assert foreign_records([kept, other], "abc1234") == ["T1-replay-edl-1"]
    changed = replace(kept.circumstances, commit="abc1234+")
    assert foreign_records([replace(kept, circumstances=changed)], "abc1234") == [kept.name]


def test_a_duration_is_told_in_hours_and_minutes() -> None:
    assert [series.spoken(found) for found in (59, 3600, 13_320)] == [
        "1 min",
        "1 h 00 min",
        "3 h 42 min",
    ]
