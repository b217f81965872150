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


def costs() -> dict[str, list[str]]:
    """By situation, the figures of each machine in the table of decisions; the record's first."""
    section = PERFORMANCE.partition("## What a decision costs")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", section, re.MULTILINE)
    return {situation: figures.split(" | ") for situation, figures in rows}


def test_what_a_decision_takes_is_what_was_measured() -> None:
    found, shown = decisions(), {situation: row[0] for situation, row in costs().items()}
    changes = [seconds for name, seconds in found.items() if name.startswith("then one ")]
    made_anew = [seconds for seconds in changes if seconds > 0.01]
    slowest = max(
        seconds for name, seconds in found.items() if name not in WITH_TEAMS and "rack" not in name
    )
    measured = {
        "half of all pods have ended at once": f"{found[BIG_RELEASE]:.1f}",
        "one change: a new gang, a job has ended, a node is gone": (
            f"{min(made_anew):.1f} to {max(made_anew):.1f}"
        ),
        "the slowest without a topology or teams": f"{slowest:.1f}",
        "a quarter of the jobs each require a rack": f"{found['gangs that require a rack']:.1f}",
        "the same jobs prefer few racks": f"{found['gangs that prefer few racks']:.1f}",
        "200 teams in three levels": f"{found['teams']:.1f}",
        "the same jobs without teams": f"{found['without teams']:.1f}",
        "one team's 5,000 distinct jobs reclaim its guarantee": f"{found[WITH_TEAMS[1]]:.1f}",
    }
    assert {name: shown[name] for name in measured} == measured
    assert re.search(r"commit `(\w+)`", BENCHMARKS)[1] in shown["situation"]  # type: ignore[index]


def test_readme_has_the_range_of_decisions_on_all_machines() -> None:
    shown = costs()
    usual = [float(one) for one in shown["half of all pods have ended at once"][:3]]
    names = ("one team's 5,000 distinct jobs reclaim its guarantee", "the same jobs without teams")
    distinct, without = (float(shown[name][-1]) for name in names)
    number = {8: "eight"}[round(distinct / without)]
    readme = words((ROOT / "README.md").read_text())
    assert f"a full decision takes {min(usual)} to {max(usual)} s of one core" in readme
    assert f"takes {number} times as long" in readme
    assert f"today about {number} times as long as a decision without teams" in words(PERFORMANCE)


def test_what_a_resize_costs_is_what_was_measured() -> None:
    live, torchrun = stalls("tensorflow"), stalls("pytorch")
    resized = sorted(torchrun[event] for event in ("2 → 4", "4 → 2"))
    assert (
        f"{max(live['1 → 3'], live['3 → 2']):.1f} s for TensorFlow with ps, "
        f"{resized[0]:.0f} to {resized[1]:.0f} s for torchrun"
    ) in words((ROOT / "README.md").read_text())


def test_the_page_on_elasticity_has_the_pauses_that_were_measured() -> None:
    page = words((ROOT / "docs" / "concepts" / "elasticity.md").read_text())
    resizes = {
        framework: sorted(
            seconds for event, seconds in stalls(framework).items() if re.match(r"\d → \d", event)
        )
        for framework in ("tensorflow", "horovod", "paddle", "pytorch", "mxnet")
    }
    ranges = {name: f"{found[0]:.0f} to {found[-1]:.0f} s" for name, found in resizes.items()}
    assert ranges["tensorflow"] == "1 to 1 s"
    assert "train on; a new worker joins | about 1 s |" in page
    assert f"from the last commit with new ranks | {ranges['horovod']} |" in page
    assert f"launcher restarts each of them from the checkpoint | {ranges['paddle']} |" in page
    assert f"torchrun restarts each of them from the checkpoint | {ranges['pytorch']} |" in page
    collective = stalls("paddle")["collective 2 → 3"]
    assert (
        f"A `restart` of MXNet took {ranges['mxnet']}, one of Paddle's collective mode "
        f"{collective:.0f} s."
    ) in page


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
