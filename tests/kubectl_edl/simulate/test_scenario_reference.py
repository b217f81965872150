import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from kubectl_edl.simulate.scenario import scenario_jobs, scenario_nodes, scenario_reader

PAGE = (Path(__file__).parents[3] / "examples" / "simulate" / "README.md").read_text()
JOBS = "## A scenario", "A job:", "Values of a job"


def words(text: str) -> set[str]:
    """The words in backquotes."""
    return {word for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", code)}


def row(field: str) -> set[str]:
    (found,) = re.findall(rf"^\| `{field}` \| (.*)$", PAGE, re.MULTILINE)
    return words(found)


def first_cells(begin: str, end: str) -> set[str]:
    part = PAGE.partition(begin)[2].partition(end)[0]
    return words("".join(re.findall(r"^\|([^|]*)\|", part, re.MULTILINE)))


@pytest.mark.parametrize(
    ("documented", "fields"),
    [
        (first_cells(JOBS[0], JOBS[1]), scenario_reader.SCENARIO),
        (first_cells(JOBS[1], JOBS[2]) | {"speed"}, scenario_jobs.JOB),
        (row("services"), scenario_reader.SERVICE),
        (row("settings"), scenario_reader.SETTINGS),
        (row("limits"), scenario_reader.limit_fields()),
        (row("nodes"), scenario_nodes.NODES),
        (row("nodes") | row("nodePools"), scenario_nodes.POOL),
        (row("events"), (*scenario_nodes.EVENT, "taint")),
    ],
    ids=["scenario", "job", "service", "settings", "limits", "nodes", "pool", "event"],
)
def test_each_field_of_a_scenario_is_documented(
    documented: set[str], fields: Iterable[str]
) -> None:
    assert set(fields) - documented == set()
