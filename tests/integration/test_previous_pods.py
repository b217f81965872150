"""Pods of a job's last start that terminate late, or never; and nodes that are not ready.

The cluster has four nodes with 8 CPU each.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from edl.model import ObjectRef
from edl.model.causes.reason_codes import Code
from tests.integration.support.plugin import printed
from tests.integration.support.stage import elastic
from tests.integration.test_silent_nodes import preferring, say, silent_node, where

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edl.writes import Json
    from tests.integration.support.rounds import Rounds
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration
LATER = timedelta(minutes=6)
SECOND = timedelta(seconds=1)


def gang(name: str, pods: int) -> Json:
    """Its pods have 5 CPU each: every one of them needs a node of its own."""
    bounds = {"framework": "pytorch", "min": str(pods), "max": str(pods)}
    return elastic(name, "5", bounds, parallelism=pods)


@contextmanager
def finalizer(stage: Stage, job: str) -> Iterator[str]:
    """A finalizer of the user on the first pod of a job; yields the pod's name."""
    pod = stage.pod(job, 0)["metadata"]
    target = ObjectRef("Pod", stage.namespace, pod["name"])
    finalizers = [*pod.get("finalizers", ()), "example.com/keep"]
    stage.api.patch(target, {"metadata": {"finalizers": finalizers}})
    try:
        yield pod["name"]
    finally:
        stage.api.patch(target, {"metadata": {"finalizers": None}})


def pod_names(stage: Stage) -> list[str]:
    return [pod["metadata"]["name"] for pod in stage.all("Pod")]


def published(stage: Stage, *command: str) -> Json:
    there = ("-n", stage.namespace, "-o", "json")
    answer: Json = json.loads(printed(stage.cluster, *command, *there, ahead=LATER))
    return answer


def test_a_job_whose_pod_never_terminates_reserves_nothing_and_starts_when_it_is_gone(
    installed: Stage, rounds: Rounds
) -> None:
    with silent_node(installed) as name:
        both = {"min": "2", "max": "2"}
        installed.apply(preferring(elastic("stuck", "4", both, parallelism=2)))
        rounds.until(lambda: name in where(installed, "stuck"), "one is on the silent node")
        installed.annotate("stuck", paused="true")
        rounds.until(lambda: len(installed.all("Pod")) == 1, "the other one is gone")
        (kept,) = pod_names(installed)
        installed.annotate("stuck", paused=None)
        rounds.until(lambda: installed.reason("stuck") == Code.PODS_TERMINATING, "it waits")
        # A creation is dated in whole seconds: within the same one, the new job would come first.
        queued = datetime.now(UTC)
        installed.until(lambda: datetime.now(UTC) - queued > SECOND, "another second")
        installed.apply(gang("next", 4))
        rounds.until(lambda: installed.reason("next"), "the other job has a reason")
        assert installed.size("next") == 0

        rounds.until_runs("next", 4, LATER)
        assert published(installed, "status", "stuck")["reason"] == Code.PODS_STUCK
        (queued,) = published(installed, "queue")["items"]
        assert (queued["metadata"]["name"], queued["reason"]) == ("stuck", Code.PODS_STUCK)

        installed.kubectl("delete", "job", "next")
        installed.kubectl("delete", "pod", kept, "--force", "--grace-period=0")
        rounds.until(lambda: name in where(installed, "stuck"), "it starts again", LATER)


def test_a_finalizer_of_a_pod_that_has_ended_delays_no_start(installed: Stage) -> None:
    """The kubelet ends its containers and writes a final phase, though it is never deleted."""
    installed.apply(gang("kept", 2))
    installed.until_runs("kept", 2)
    with finalizer(installed, "kept") as pod:
        installed.annotate("kept", paused="true")
        installed.until(lambda: pod_names(installed) == [pod], "the other pod is gone")
        installed.annotate("kept", paused=None)
        installed.until_runs("kept", 2)
        assert pod in pod_names(installed)


def test_a_resumed_job_waits_for_its_pod_on_a_cordoned_node_while_that_node_is_ready(
    installed: Stage,
) -> None:
    with silent_node(installed) as name:
        installed.apply(preferring(elastic("moved", parallelism=1)))
        installed.until(lambda: where(installed, "moved") == {name}, "it is on the silent node")
        installed.annotate("moved", paused="true")
        installed.until(lambda: not installed.pods("moved"), "its pod terminates")
        (left,) = pod_names(installed)
        installed.kubectl("cordon", name)
        installed.annotate("moved", paused=None)
        installed.until(lambda: installed.reason("moved") == Code.PODS_TERMINATING, "it waits")
        assert pod_names(installed) == [left]
        say(installed, name, "False")
        installed.until_runs("moved", 1)
        assert left in pod_names(installed)


def test_capacity_of_a_node_that_is_not_ready_is_not_planned(installed: Stage) -> None:
    with silent_node(installed) as name:
        say(installed, name, "False")
        selected = {"nodeSelector": {"silent": "true"}}
        installed.apply(elastic("chosen", parallelism=1, pod=selected))
        installed.until(lambda: installed.reason("chosen"), "it has a reason")
        assert installed.reason("chosen") == Code.NO_ELIGIBLE_NODE
        assert "node.kubernetes.io/not-ready" in installed.message("chosen")
        say(installed, name, "True")
        installed.until(lambda: where(installed, "chosen") == {name}, "it starts there")
