"""Reasons that the reconciler publishes, and cannot write to the Jobs, are shown all the same."""

import json

import pytest

from edl import contract
from edl.forecast.estimate import Certainty
from edl.model import Code
from edl.visibility.namespace_queue import PublishedBlocker, PublishedEstimate
from tests.kubectl_edl.cluster_wrappers import fenced
from tests.kubectl_edl.queue.test_published_queue import publish
from tests.kubectl_edl.stage import Stage, job, lease, node

REFUSED = 'the API server refuses its start: jobs.batch "bert" is forbidden: may not patch'
HELPS = "a change of what refuses it; its start is then tried again"


@pytest.fixture
def stage() -> Stage:
    """A job that fits, which the reconciler may not start."""
    stage = Stage()
    for name in ("node-1", "node-2"):
        stage.create(node(name, cpu="8"))
    lease(stage)
    stage.minutes_ago = 2
    stage.put(job("bert", framework="none", min="1", max="2"))
    return stage


def refuse(stage: Stage, seconds_ago: int = 40) -> None:
    publish(
        stage,
        "bert",
        position=None,
        reason=Code.START_REFUSED.value,
        message=REFUSED,
        estimate=PublishedEstimate(Certainty.UNKNOWN),
        causes=(PublishedBlocker("OwnCondition", REFUSED, HELPS),),
        seconds_ago=seconds_ago,
    )


WORDS = [("status",), ("status", "-A"), ("status", "bert"), ("explain", "bert"), ("queue",)]


@pytest.mark.parametrize("words", [*WORDS, ("queue", "-A")], ids=" ".join)
def test_a_refused_start_that_no_job_records_is_the_reason(
    stage: Stage, words: tuple[str, ...]
) -> None:
    refuse(stage)
    found = stage.run(*words)
    assert found.code == 0, found.err
    assert "the API server refuses its start" in found.out
    assert "not yet processed" not in found.out
    assert "starts now" not in found.out
    assert "Starts:      now" not in found.out


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_users_of_the_namespace_read_it_too(stage: Stage, words: tuple[str, ...]) -> None:
    refuse(stage)
    stage.wrapped = fenced("Node")
    found = stage.run(*words)
    assert "the API server refuses its start" in found.out
    assert "not yet processed" not in found.out


def test_no_start_is_estimated_for_it(stage: Stage) -> None:
    refuse(stage)
    entry = json.loads(stage.run("queue", "-o", "json").out)["items"][0]
    assert (entry["reason"], entry["position"]) == ("StartRefused", None)
    assert entry["estimatedStart"]["certainty"] == "Unknown"
    explained = json.loads(stage.run("explain", "bert", "-o", "json").out)
    assert explained["estimate"]["certainty"] == "Unknown"
    (blocker,) = explained["start"]["blockers"]
    assert (blocker["reason"], blocker["remediation"]) == ("StartRefused", HELPS)


def test_it_is_also_read_where_jobs_of_several_namespaces_wait(stage: Stage) -> None:
    refuse(stage)
    other = job("other", framework="none", min="1", max="2")
    other["metadata"]["namespace"] = "elsewhere"
    stage.create(other)
    for words in (("status", "-A"), ("queue", "-A")):
        (line,) = (line for line in stage.run(*words).out.splitlines() if " bert " in line)
        assert "the API server refuses its start" in line


def test_a_reason_published_before_the_job_was_created_is_of_another_job(stage: Stage) -> None:
    refuse(stage, seconds_ago=600)
    lease(stage)
    assert "the API server refuses its start" not in stage.run("status").out
    assert "starts now" in stage.run("queue").out


def test_the_reason_of_a_wait_is_read_where_the_job_records_none(stage: Stage) -> None:
    publish(stage, "bert", position=1, message="Insufficient CPU: needs 3")
    assert "Insufficient CPU: needs 3" in stage.run("status").out
    told = {contract.REASON: Code.FIFO_ORDER.value, contract.MESSAGE: "behind another"}
    stage.patch("bert", {"metadata": {"annotations": told}})
    assert "Insufficient CPU: needs 3" not in stage.run("status").out


def test_status_names_the_remedy_of_its_refused_start_once(stage: Stage) -> None:
    refuse(stage)
    out = stage.run("status", "bert").out
    assert f"1. {REFUSED}\n     fix: change what refuses it: its start is tried again\n" in out


def test_a_published_remedy_is_not_of_another_reason(stage: Stage) -> None:
    """The Job says why it waits now; what is published is older."""
    publish(stage, "bert", position=1)
    told = {contract.REASON: Code.FIFO_ORDER.value, contract.MESSAGE: "behind another"}
    stage.patch("bert", {"metadata": {"annotations": told}})
    assert "room for 3 more pods" not in stage.run("status", "bert").out
