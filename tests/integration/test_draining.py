"""Drains of a cordoned node by the real kubectl: what the plan says of them is what they do."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from edl import contract
from edl.model import ObjectRef
from edl.model.nodes import CORDONED
from edl.planner.decision_limits import Limits
from edl.writes import Json
from tests.integration.support.plugin import printed
from tests.integration.support.rounds import Rounds
from tests.integration.support.stage import INDEX, Stage, elastic

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


def drain(node: str, job: str, index: str = "") -> tuple[str, ...]:
    """kubectl's arguments; `index`: of the only pod to evict.

    On 1.33 the Job controller keeps the finalizer of an evicted pod for 10 s.
    """
    pods = f"--pod-selector={contract.JOB_NAME_LABEL}={job}"
    if index:
        pods += f",{INDEX}={index}"
    return "drain", node, pods, "--timeout=30s", "--grace-period=1"


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


def test_a_drain_ends_once_its_node_is_cordoned_for_longer_than_the_patience(
    installed: Stage, rounds: Rounds
) -> None:
    rounds.limits = Limits(drain_patience=timedelta(minutes=10))
    before, after = timedelta(minutes=9), timedelta(minutes=11)
    labels = {"framework": "tensorflow", "min": "2", "max": "2"}
    installed.apply(elastic("c1", "5", labels, parallelism=2))
    rounds.until(lambda: installed.running("c1") == 2, "two run")
    rounds.until(lambda: installed.exists("PodDisruptionBudget", "c1-first-2"), "its budget")
    with cordoned(installed, "c1") as node:
        installed.until(lambda: cordoned_since(installed, node), "Kubernetes says since when")
        there = pods_on(installed, "c1", node)
        assert [found.blocks_drain for found in rounds.perform(before).staying] == [True]
        assert installed.exists("PodDisruptionBudget", "c1-first-2")
        assert [found.blocks_drain for found in rounds.perform(after).staying] == [False]
        assert not installed.exists("PodDisruptionBudget", "c1-first-2")
        installed.kubectl(*drain(node, "c1"))
        assert not there & {pod["metadata"]["name"] for pod in installed.pods("c1")}
        rounds.until(lambda: installed.running("c1") == 2, "two run elsewhere", after)
        assert not pods_on(installed, "c1", node)
        rounds.until(
            lambda: installed.exists("PodDisruptionBudget", "c1-first-2"), "a budget again", after
        )


def test_a_drain_ends_beside_a_worker_that_is_not_ready_and_without_room_elsewhere(
    installed: Stage, rounds: Rounds
) -> None:
    rounds.limits = Limits(drain_patience=timedelta(seconds=1))
    labels = {"framework": "pytorch", "min": "4", "max": "4"}
    with two_nodes(installed) as selector:
        installed.apply(elastic("c1", "3.5", labels, parallelism=4, pod=selector))
        rounds.until_runs("c1", 4)
        rounds.until(lambda: installed.exists("PodDisruptionBudget", "c1-first-4"), "its budget")
        with cordoned(installed, "c1") as node:
            there = pods_on(installed, "c1", node)
            assert len(there) == 2
            others = {pod["metadata"]["name"] for pod in installed.pods("c1")} - there
            let_fail(installed, min(others))
            rounds.until(
                lambda: not installed.exists("PodDisruptionBudget", "c1-first-4"), "no budget"
            )
            index = installed.pods("c1")[0]["metadata"]["labels"][INDEX]
            installed.kubectl(*drain(node, "c1", index))
            (entry,) = rounds.perform().staying
            assert {pod for pod, _ in entry.pods} == pods_on(installed, "c1", node)
            assert entry.unprotected
            assert not installed.exists("PodDisruptionBudget", "c1-first-4")
            installed.kubectl(*drain(node, "c1"))
            assert not pods_on(installed, "c1", node)


@contextmanager
def two_nodes(stage: Stage) -> Iterator[Json]:
    """The fields of pods that run on two nodes alone."""
    label, nodes = "example.com/pool", stage.cluster_wide("Node")[:2]
    try:
        for node in nodes:
            stage.label_node(node["metadata"]["name"], label, "drained")
        yield {"nodeSelector": {label: "drained"}}
    finally:
        for node in nodes:
            stage.label_node(node["metadata"]["name"], label, None)


def let_fail(stage: Stage, pod: str) -> None:
    """As a failing readiness probe would."""
    status = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    stage.kubectl("patch", "pod", pod, "--subresource=status", "-p", json.dumps(status))


def cordoned_since(stage: Stage, node: str) -> str:
    taints = stage.api.get(ObjectRef("Node", "", node))["spec"].get("taints", ())
    return str(next((one.get("timeAdded", "") for one in taints if one["key"] == CORDONED), ""))
