"""README and docs/performance.md show gains beside costs, as the records have them."""

import json
import re
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import pytest

from tests.kubectl_edl.stage import Stage

ROOT: Final = Path(__file__).parents[2]
EXAMPLES: Final = ROOT / "examples" / "simulate"
RECORDS: Final = ROOT / "benchmarks" / "experiments"
SIMULATED: Final = RECORDS / "results" / "simulated"
REPORT: Final = (RECORDS / "README.md").read_text()
BENCHMARKS: Final = (ROOT / "benchmarks" / "README.md").read_text()
PERFORMANCE: Final = (ROOT / "docs" / "performance.md").read_text()
PAGE: Final = " ".join(PERFORMANCE.split())
AUTOSCALING: Final = (ROOT / "docs" / "operations" / "autoscaling.md").read_text()
README: Final = " ".join((ROOT / "README.md").read_text().split())


def replayed(experiment: str, row: str) -> list[str]:
    """With kubectl-edl, with EDL's algorithm and at fixed sizes: the means of the replays."""
    section = REPORT.partition(f"\n## {experiment}:")[2].partition("\n## ")[0]
    (line,) = [each for each in section.splitlines() if each.startswith(f"| {row} |")]
    return [cell.split()[0].rstrip("%") for cell in line.split("|")[5:8]]


def simulated(experiment: str, read: Callable[[Any], float]) -> list[float]:
    """With kubectl-edl, with EDL's algorithm and at fixed sizes: the means of the runs."""
    return [
        fmean(read(run) for run in json.loads((SIMULATED / f"{experiment}-{arm}.json").read_text()))
        for arm in ("with", "edl", "without")
    ]


def test_the_first_experiment_is_shown_as_simulated() -> None:
    waits = simulated("T1", itemgetter("wait"))
    completions = simulated("T1", itemgetter("completion"))
    stops = simulated("T1", lambda run: run["stops"]["trainer"])
    ends = simulated("T1", itemgetter("makespan"))
    fair = simulated("T1", itemgetter("fair"))
    used = simulated("T1", lambda run: 100 * run["steps"][0]["utilisation"])
    none = "none" if not stops[2] else ""
    for row in (
        f"| wait | {waits[0]:.1f} s | {waits[1]:.0f} s | {waits[2]:.0f} s |",
        "| completion | {:.0f} s | {:.0f} s | {:.0f} s |".format(*completions),
        "between 200 and 500 s | {:.2f} | {:.2f} | {:.2f} |".format(*fair),
        f"| trainers stopped in total | {stops[0]:.0f} | {stops[1]:.0f} | {none} |",
        "| until the last job has ended | {:.0f} s | {:.0f} s | {:.0f} s |".format(*ends),
        "between 300 and 500 s | {:.1f} % | {:.1f} % | {:.1f} % |".format(*used),
    ):
        assert row in PERFORMANCE
    longer, earlier = completions[0] / completions[2] - 1, 1 - ends[0] / ends[2]
    assert f"ends {earlier:.0%}".replace("%", " %") + " earlier; no started" in PAGE
    assert f"is {longer:.0%}".replace("%", " %") + " longer than at fixed" in PAGE
    assert (
        f"| mean wait {waits[0]:.1f} s instead of {waits[2]:.0f} s; the last job ends "
        f"{100 * earlier:.0f} % earlier | mean completion {completions[0]:.0f} s instead of "
        f"{completions[2]:.0f} s; {used[0]:.0f} % of the CPU used instead of {used[2]:.0f} %; "
        f"{stops[0]:.0f} trainers stopped, instead of none |"
    ) in README


def test_the_second_experiment_is_shown_as_replayed() -> None:
    waits, stops = replayed("T2", "mean wait, s"), replayed("T2", "trainer stops")
    used = [round(float(one)) for one in replayed("T2", "mean utilisation")]
    later = replayed("T2", "+100 nginx Running after, s")
    assert f"ran {later[0]} s after their creation, and after {later[2]} s at fixed sizes" in PAGE
    assert "and used {} %, {} % and {} % of the CPU".format(*used) in PAGE
    assert (
        f"{stops[0]} trainers were stopped by kubectl-edl, and {stops[1]} by EDL's algorithm"
    ) in PAGE
    found = simulated("T2", itemgetter("wait"))
    assert f"jobs waited {found[0]:.1f} s, {found[1]:.0f} s and {found[2]:.1f} s." in PAGE
    assert (
        f"| {used[0]} % of the CPU used instead of {used[2]} % | mean wait {waits[0]} s instead of "
        f"{waits[2]} s; 100 more pods of the service run after {later[0]} s instead of "
        f"{later[2]} s; {stops[0]} trainers stopped, instead of none |"
    ) in README


_MIX: Final = ("arm", "completion", "change", "wait", "makespan", "GPUs", "stops")


def test_the_mix_is_shown_as_simulated() -> None:
    section = REPORT.partition("\n## A mix like DRAGON's")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:2] == "| "]
    table = {line[0]: line for line in lines if len(line) == len(_MIX)}
    names = {
        "without": "fixed sizes",
        "without, partly started": "fixed sizes, partly started",
        "with us, `fair`": "kubectl-edl, policy `fair`",
        "with us, `throughput`": "kubectl-edl, policy `throughput`",
    }
    for recorded, shown in names.items():
        _, completion, _, wait, end, used, stops = (cell.strip() for cell in table[recorded])
        used = used.replace("%", " %")
        row = f"| {shown} | {completion} s | {wait} s | {end} s | {used} | {stops} |"
        assert row in PERFORMANCE
    fair, fixed, partly = (
        table[one] for one in ("with us, `fair`", "without", "without, partly started")
    )
    assert (
        f"| mean completion {fair[1]} s instead of {fixed[1]} s ({partly[1]} s if jobs train as "
        f"soon as a part of their workers runs) | {fair[-1]} workers stopped, instead of none |"
    ) in README
    savings = re.findall(r"^\| \d+ s \|.*?-\d+% \| -(\d+)% \|", section, re.MULTILINE)
    assert f"falls by {min(savings)} to {max(savings)} % against fixed sizes" in PAGE


def teams(count: int, contestant: str) -> list[str]:
    """Gangs, started, wait, worst, evicted, lost, resizes, GPUs used …: means of the last table."""
    pattern = rf"^{count} teams, {contestant}, mean of 3 +(.+)$"
    (found,) = re.findall(pattern, BENCHMARKS, re.MULTILINE)
    return str(found).split()


def test_teams_are_shown_as_measured_beside_kueue() -> None:
    for count in (2, 5):
        for name in ("kubectl-edl", "Kueue"):
            _, _, wait, _, evicted, lost, resizes, used, *_ = teams(count, name)
            work = f"{int(lost):,} replica-seconds" if int(lost) else "0"
            assert (
                f"| {count} teams, {name} | {wait} s | {evicted} | {work} | "
                f"{float(resizes):.0f} | {used.replace('%', ' %')} |"
            ) in PERFORMANCE
    two, five, two_kueue, five_kueue = (
        teams(count, name) for name in ("kubectl-edl", "Kueue") for count in (2, 5)
    )
    assert two[4] == five[4] == "0"
    assert (
        f"| no job evicted, instead of {two_kueue[4]} and {five_kueue[4]}; with five teams "
        f"{five[7][:-1]} % of the GPUs used instead of {five_kueue[7][:-1]} % | "
        f"{float(two[6]):.0f} and {float(five[6]):.0f} resizes; with two teams {two[7][:-1]} % of "
        f"the GPUs used instead of {two_kueue[7][:-1]} %; with five teams the median "
        f"wait of owners is {five[2]} s instead of {five_kueue[2]} s |"
    ) in README


def test_autoscaled_nodes_are_shown_as_measured_beside_kueue() -> None:
    rows = re.findall(
        r"^(\S.+?), seed 0 \(100%\) +40 +([\d.]+) +\S+ +\S+ +([\d.]+)", BENCHMARKS, re.MULTILINE
    )
    (_, ours, hours), (_, theirs, their_hours) = rows
    said = f"mean completion {float(ours):.0f} s instead of {float(theirs):.0f} s"
    (widest,) = re.findall(
        r"^\| Kueue, 8 pods \| (\d+ s) \| ([\d.]+) \| no \|$", AUTOSCALING, re.MULTILINE
    )
    assert (
        f"| {said} | {hours} node-hours instead of {their_hours}; Kueue at 8 pods had the shortest "
        "mean completion, {}, with {} node-hours |".format(*widest)
    ) in README
    assert f"{said}, {hours} node-hours instead of {their_hours} (one" in PAGE


def test_the_simulated_day_is_shown_as_measured() -> None:
    rows = re.findall(
        r"^(fair|plain) .* (\d+) ended  wait +(\d+) s  completion +(\d+) s",
        BENCHMARKS,
        re.MULTILINE,
    )
    (_, ended, wait, completion), (_, fixed_ended, fixed_wait, fixed_completion) = rows
    assert (
        f"in which {fixed_ended} and {ended} jobs ended), it falls from "
        f"{int(fixed_completion):,} to {int(completion):,} s, and the mean wait from "
        f"{fixed_wait} to {wait} s."
    ) in PAGE


def scenario(name: str) -> dict[str, Any]:
    """The runs of a shipped scenario under `fair` and without kubectl-edl."""
    done = Stage().run(
        "simulate", "-f", str(EXAMPLES / name), "--policy", "fair", "--plain", "-o", "json"
    )
    assert done.code == 0, done.err
    return {one["metadata"]["name"]: one for one in json.loads(done.out)["items"]}


@pytest.mark.slow
def test_the_scenarios_are_shown_as_simulated() -> None:
    mixed, trace = scenario("mixed.yaml"), scenario("trace.yaml")
    completions, waits = (
        {name: int(run[field]["mean"] // 60) for name, run in mixed.items()}
        for field in ("completionSeconds", "waitSeconds")
    )
    assert (
        f"rises from {completions['plain']} to {completions['fair']} minutes and the mean wait "
        f"falls from {waits['plain']} to {waits['fair']} minutes"
    ) in PAGE
    assert f"is {completions['fair']} minutes instead of {completions['plain']})" in README
    ended = {name: run["completedJobs"] for name, run in trace.items()}
    assert f"all {ended['fair']} jobs end, while without gang starts {ended['plain']} do" in PAGE
