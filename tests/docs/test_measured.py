"""Figures that README and the documentation repeat are those of the records."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
BENCHMARKS = (ROOT / "benchmarks" / "README.md").read_text()
PERFORMANCE = (ROOT / "docs" / "performance.md").read_text()
BIG_RELEASE = "after a big release"
WITH_TEAMS = ("teams", "an owner of distinct jobs")


def words(text: str) -> str:
    return " ".join(text.split())


def decisions() -> dict[str, float]:
    """Median seconds by situation, at the largest size."""
    section = BENCHMARKS.partition("<!-- decide -->")[2].partition("<!-- end of decide -->")[0]
    rows = re.findall(r"^ *10000 +100000 +5000  (.+?) +([\d.]+) ", section, re.MULTILINE)
    return {situation: float(median) / 1000 for situation, median in rows}


def stalls(framework: str) -> dict[str, float]:
    rows = re.findall(rf"^\| {framework} \| (.+?) \| ([\d.]+) ", PERFORMANCE, re.MULTILINE)
    return {event: float(seconds) for event, seconds in rows}


def ratio(to: str) -> float:
    (found,) = re.findall(rf"^kubectl-edl ÷ {to}: ([\d.]+)", BENCHMARKS, re.MULTILINE)
    return float(found)


def test_what_a_decision_takes_is_what_was_measured() -> None:
    found = decisions()
    usual = found[BIG_RELEASE]
    plain, racks = (
        max(
            median
            for name, median in found.items()
            if name not in WITH_TEAMS and ("rack" in name) == asked
        )
        for asked in (False, True)
    )
    assert (
        f"a full decision takes {usual:.1f} s of one core, {plain:.1f} s in the worst situation "
        f"without a topology and {racks:.1f} s in the worst with one; with 200 teams "
        f"{found['teams']:.1f} s instead of {found['without teams']:.1f} s, and "
        f"{found[WITH_TEAMS[1]]:.0f} s where one team's 5,000 distinct jobs reclaim its guarantee"
    ) in words((ROOT / "README.md").read_text())
    assert (
        f"a full decision takes {usual:.1f} s of one core's processor time, and {plain:.1f} s in "
        "the slowest situation without a topology"
    ) in words(PERFORMANCE)
    few_racks = found["gangs that prefer few racks"]
    assert f"and {few_racks:.1f} s where they prefer few racks" in words(PERFORMANCE)
    assert f"jobs of one team reclaim its guarantee, {found[WITH_TEAMS[1]]:.0f} s" in words(
        PERFORMANCE
    )
    assert f"take {racks:.1f} s of processor time at 10,000 nodes" in words(
        (ROOT / "docs" / "limitations.md").read_text()
    )


def test_what_decisions_take_after_a_change_is_what_was_measured() -> None:
    found = decisions()
    changes = {name: seconds for name, seconds in found.items() if name.startswith("then one ")}
    made_anew = [one for one in changes.values() if one > 0.01]
    after_one = f"{min(made_anew):.1f} to {max(made_anew):.1f} s"
    page = words((ROOT / "docs" / "migration" / "paddle-edl.md").read_text())
    big = f"{found[BIG_RELEASE]:.1f} s after"
    assert f"{after_one} of processor time after one change, {big}" in page


def test_what_a_resize_costs_is_what_was_measured() -> None:
    live, torchrun = stalls("tensorflow"), stalls("pytorch")
    resized = sorted(torchrun[event] for event in ("2 → 4", "4 → 2"))
    assert (
        f"{max(live['1 → 3'], live['3 → 2']):.1f} s without a step for TensorFlow with ps, "
        f"{resized[0]:.0f} to {resized[1]:.0f} s for torchrun"
    ) in words((ROOT / "README.md").read_text())


def test_how_fast_jobs_are_released_is_what_was_measured() -> None:
    assert (
        f"at {ratio('bare pool'):.2f} times the rate of a bare pool of patching clients, and "
        f"{ratio('Kueue'):.1f} times Kueue's"
    ) in words(PERFORMANCE)


def test_how_long_jobs_waited_in_the_replays_is_what_was_measured() -> None:
    report = (ROOT / "benchmarks" / "experiments" / "README.md").read_text()
    rows = [line for line in report.splitlines() if line.startswith("| mean wait, s |")]
    first, second = ([cell.split()[0] for cell in row.split("|")[5:8]] for row in rows)
    for waits, (ours, theirs, fixed) in (("the mean wait was", first), ("jobs waited", second)):
        assert (
            f"{waits} {ours} s with kubectl-edl, {theirs} s with EDL's algorithm and "
            f"{fixed} s at fixed sizes"
        ) in words(PERFORMANCE)
