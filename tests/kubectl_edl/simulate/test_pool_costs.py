"""Scenarios with node pools: node requests and costs."""

import json
from pathlib import Path

import pytest

from tests.kubectl_edl.stage import Stage

POOLS = """
nodePools: [{name: small, cpu: 4, memory: 8Gi, limit: 3, price: 2.5, startUp: 1m, idle: 30s}]
settings: {autoscaler: 5s}
jobs:
  - {name: gang, min: 8, max: 8, cpu: 1, memory: 1Gi, work: 2400}
  - {name: extra, at: 5, min: 1, max: 8, cpu: 1, memory: 1Gi, length: 10m}
"""
ANY = """
nodePools: [{cpu: 4, memory: 8Gi}]
jobs: [{cpu: 1, length: 60}]
"""


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    return str(path)


def test_growth_modes_are_compared_with_node_costs(tmp_path: Path) -> None:
    modes = ("--growth", "needed-nodes", "--growth", "any-node")
    found = Stage().run("simulate", "-f", written(tmp_path, POOLS), *modes)
    header, *rows = (line.split("  ") for line in found.out.splitlines())
    names = [cell.strip() for cell in header if cell]
    assert [row[0].strip() for row in rows] == ["fair needed-nodes", "fair any-node"]
    assert {"NODE-HOURS", "COST"} <= set(names)


def test_node_hours_cost_the_price_of_their_pool(tmp_path: Path) -> None:
    run = Stage().run("simulate", "-f", written(tmp_path, POOLS), "-o", "json")
    (found,) = json.loads(run.out)["items"]
    assert found["cost"] == pytest.approx(2.5 * found["nodeHours"])
    assert found["timeline"]["nodes"][0][1] == {"small": 2}
    assert found["completedJobs"] == 2


def test_a_pool_needs_only_a_name_and_resources(tmp_path: Path) -> None:
    run = Stage().run("simulate", "-f", written(tmp_path, ANY), "-o", "json")
    (found,) = json.loads(run.out)["items"]
    assert (found["completedJobs"], found["cost"]) == (1, 0)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("limit: 3", "limit: 0", ".limit: 0; allowed: a whole number from 1"),
        ("price: 2.5", "price: -1", ".price: -1; allowed: a number from 0"),
        ("price: 2.5", "count: 2", ".count: is not a field here"),
        ("cpu: 4, ", "", ".cpu: is missing"),
        (
            "settings: {",
            "limits: {growth: wide}\nsettings: {",
            'limits.growth: "wide"; allowed: au',
        ),
    ],
)
def test_a_wrong_pool_is_a_finding(tmp_path: Path, before: str, after: str, said: str) -> None:
    text = POOLS.replace(before, after, 1)
    run = Stage().run("simulate", "-f", written(tmp_path, text))
    assert run.code == 1
    assert said in run.err


def test_nodes_and_pools_have_names_of_their_own(tmp_path: Path) -> None:
    text = POOLS + "nodes: [{name: small, cpu: 4}]\n"
    assert "two nodes of one name" in Stage().run("simulate", "-f", written(tmp_path, text)).err


def test_growth_modes_are_of_scenarios() -> None:
    run = Stage().run("simulate", "--live", "--growth", "any-node")
    assert "--growth compares modes where node pools are" in run.err
