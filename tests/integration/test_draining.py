"""Drains of a cordoned node by the real kubectl: what the plan says of them is what they do."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from edl import contract
from edl.writes import Json
from tests.integration.support.plugin import printed
from tests.integration.support.stage import Stage, elastic

pytestmark = pytest.mark.integration


@contextmanager
def cordoned(stage: Stage, job: str) -> Iterator[str]:
    """A node of its pods, cordoned until the test is over."""
    name: str = stage.pods(job)[0]["spec"]["nodeName"]
    stage.kubectl("cordon", name)
    try:
        yield name
    finally:
        stage.kubectl("uncordon", name)


def staying(stage: Stage) -> Json:
    """The one entry of the plan about pods on cordoned nodes."""
    found = json.loads(printed(stage.cluster, "plan", "-n", stage.namespace, "-o", "json"))
    (entry,) = found["staying"]
    return dict(entry)


def verdicts(stage: Stage) -> list[str]:
    """What `doctor` finds about drains."""
    found = json.loads(printed(stage.cluster, "doctor", "-n", stage.namespace, "-o", "json"))
    return [one["result"] for one in found["checks"] if one["name"] == "drain"]


def drain(node: str, job: str) -> tuple[str, ...]:
    pods = f"--pod-selector={contract.JOB_NAME_LABEL}={job}"
    return "drain", node, pods, "--timeout=10s", "--grace-period=1"


def pods_on(stage: Stage, job: str, node: str) -> set[str]:
    pods = [pod for pod in stage.pods(job) if pod["spec"].get("nodeName") == node]
    return {pod["metadata"]["name"] for pod in pods}


@pytest.mark.parametrize("mode", ["NonIndexed", "Indexed"])
def test_a_drain_evicts_work_items_above_the_minimum(installed: Stage, mode: str) -> None:
    labels = {"min": "2", "max": "3"}
    installed.apply(elastic("c1", "5", labels, completions=90, completionMode=mode))
    installed.until_runs("c1", 3)  # each on a node of its own
    with cordoned(installed, "c1") as node:
        there = pods_on(installed, "c1", node)
        found = staying(installed)
        assert {pod["name"] for pod in found["pods"]} == there
        assert not found["blocksDrain"]
        assert verdicts(installed) == ["ok"]
        installed.kubectl(*drain(node, "c1"))
        assert not there & {pod["metadata"]["name"] for pod in installed.pods("c1")}
        installed.until_runs("c1", 3)
        assert not pods_on(installed, "c1", node)


def test_a_drain_evicts_work_items_of_a_fixed_size_one_by_one(installed: Stage) -> None:
    installed.apply(elastic("c1", labels={"min": "4", "max": "4"}, completions=90))
    installed.until_runs("c1", 4)
    installed.until(lambda: installed.exists("PodDisruptionBudget", "c1-first-3"), "its budget")
    with cordoned(installed, "c1") as node:
        there = pods_on(installed, "c1", node)
        found = staying(installed)
        assert {pod["name"] for pod in found["pods"]} == there
        assert not found["blocksDrain"]
        assert verdicts(installed) == ["ok"]
        installed.kubectl(*drain(node, "c1"))
        assert not there & {pod["metadata"]["name"] for pod in installed.pods("c1")}
        installed.until_runs("c1", 4)
        assert not pods_on(installed, "c1", node)
