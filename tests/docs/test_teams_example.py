"""The example of preemption between teams in docs/concepts/teams.md is what the planner does."""

import json
from pathlib import Path
from typing import Final

import pytest

from tests.kubectl_edl.stage import Stage

PAGE: Final = Path(__file__).parents[2] / "docs" / "concepts" / "teams.md"
LENT: Final = "{name: speech, namespaces: [speech]}"
OWNED: Final = "{name: speech, namespaces: [speech], guaranteed: {nvidia.com/gpu: 4}, reclaim: %s}"
TWO: Final = (("first", 4), ("second", 4))
ONE: Final = (("large", 6),)


def scenario(speech: str, running: tuple[tuple[str, int], ...]) -> str:
    jobs = [
        f"- {{name: {name}, namespace: vision, replicas: {gpus}, cpu: 1, gpus: 1, length: 50m, "
        f"at: {minute}m}}"
        for minute, (name, gpus) in enumerate(running)
    ]
    return "\n".join(
        [
            "horizon: 15m",
            "limits: {preempt: true}",
            "nodes: [{cpu: 64, gpus: 8}]",
            "teams:",
            "- {name: vision, namespaces: [vision], guaranteed: {nvidia.com/gpu: 4}}",
            f"- {speech}",
            "jobs:",
            *jobs,
            "- {name: urgent, namespace: speech, priority: 9, replicas: 4, cpu: 1, gpus: 1,",
            "   length: 50m, at: 10m}",
        ]
    )


def stopped(path: Path, speech: str, running: tuple[tuple[str, int], ...]) -> set[str]:
    """The jobs that were stopped; the urgent one runs if and only if one was."""
    path.write_text(scenario(speech, running))
    done = Stage().run("simulate", "-f", str(path), "-o", "json")
    assert done.code == 0, done.err
    (run,) = json.loads(done.out)["items"]
    found = {job["name"] for job in run["jobs"] if job["restarts"] or job["stoppedPods"]}
    (urgent,) = (job for job in run["jobs"] if job["name"] == "urgent")
    assert (urgent["startSeconds"] is not None) == bool(found)
    return found


@pytest.mark.parametrize(
    ("speech", "running", "expected"),
    [
        (LENT, TWO, {"second"}),
        (LENT, ONE, set()),
        (OWNED % "replicas", ONE, set()),
        (OWNED % "jobs", ONE, {"large"}),
    ],
)
def test_a_job_of_higher_priority_stops_what_the_page_says(
    tmp_path: Path, speech: str, running: tuple[tuple[str, int], ...], expected: set[str]
) -> None:
    assert stopped(tmp_path / "scenario.yaml", speech, running) == expected


def test_the_page_has_the_numbers_of_this_example() -> None:
    text = PAGE.read_text()
    assert "`vision` is guaranteed 4 of 8 GPUs, and a job of higher priority" in text
    assert "\n| two jobs with 4 GPUs each | " in text
    assert "\n| one job with 6 GPUs | " in text
