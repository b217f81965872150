"""`doctor` and `status JOB` name the same blocker and remedy of a job."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest

from edl import contract
from edl.annotations.json_text import json_text
from edl.model import FailedAttempt
from edl.writes import Json
from tests.kubectl_edl.doctor.findings import only
from tests.kubectl_edl.stage import NOW, Stage, event, job, mnist, pod, role_manifests


def started(stage: Stage, minutes: int) -> Json:
    """A Job of two pods that was started some minutes ago."""
    owner = stage.put(
        job("mnist", framework="none", min="2", max="2"), suspend=False, parallelism=2
    )
    moment = (NOW - timedelta(minutes=minutes)).isoformat()
    stage.patch("mnist", {"metadata": {"annotations": {contract.STARTED_AT: moment}}})
    return owner


def a_role_is_missing(stage: Stage) -> None:
    stage.put(role_manifests()[0])


def the_chief_was_deleted(stage: Stage) -> None:
    mnist(stage)
    stage.delete("mnist-chief")


def labels_are_invalid(stage: Stage) -> None:
    stage.create(job("mnist", framework="caffe"))


def the_last_start_failed(stage: Stage) -> None:
    stage.put(job("mnist", framework="none"))
    why = {contract.REASON: "BackOff", contract.MESSAGE: "back-off: no node"}
    stage.patch("mnist", {"metadata": {"annotations": why}})


def requested_nodes_do_not_come(stage: Stage) -> None:
    stage.put(job("mnist", framework="none"))
    failure = json_text(FailedAttempt(NOW - timedelta(minutes=3), 2, "no instance type"))
    notes = {contract.REASON: "NodesNotProvisioned", contract.PROVISIONING_FAILED: failure}
    stage.patch("mnist", {"metadata": {"annotations": notes}})


def pods_are_refused(stage: Stage) -> None:
    stage.put(job("mnist", framework="none"), suspend=False)
    refused = 'pods "mnist-0-" is forbidden: error looking up service account default/nope'
    stage.create(event("mnist", "FailedCreate", refused, minutes_ago=1, warning=True))


def one_role_stays_suspended(stage: Stage) -> None:
    mnist(stage)
    moment = (NOW - timedelta(minutes=20)).isoformat()
    for name in ("mnist-chief", "mnist-ps", "mnist-worker"):
        stage.patch(name, {"metadata": {"annotations": {contract.STARTED_AT: moment}}})
    stage.patch("mnist-worker", {"spec": {"suspend": True}})


def a_pod_was_lost(stage: Stage) -> None:
    started(stage, 28)
    notes = {contract.FAILURES_AT_START: "0"}
    stage.patch("mnist", {"metadata": {"annotations": notes}, "status": {"failed": 1}})


def its_minimum_was_raised(stage: Stage) -> None:
    owner = stage.put(job("mnist", framework="none", min="3", max="8"), suspend=False)
    stage.create(pod(owner, 0))
    since = (NOW - timedelta(hours=1)).isoformat()
    stage.patch("mnist", {"metadata": {"annotations": {contract.BELOW_MIN_SINCE: since}}})


def no_node_gets_its_image(stage: Stage) -> None:
    stage.minutes_ago = 1
    owner = started(stage, 1)
    status = {"name": "main", "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    stage.create(pod(owner, 0, phase="Pending", conditions=[], containerStatuses=[status]))


def a_pod_stays_unready(stage: Stage) -> None:
    stage.minutes_ago = 20
    owner = started(stage, 20)
    stage.create(pod(owner, 0))
    stage.create(pod(owner, 1, conditions=[]))


@pytest.mark.parametrize(
    "blocked",
    [
        a_role_is_missing,
        the_chief_was_deleted,
        labels_are_invalid,
        the_last_start_failed,
        requested_nodes_do_not_come,
        pods_are_refused,
        one_role_stays_suspended,
        a_pod_was_lost,
        its_minimum_was_raised,
        no_node_gets_its_image,
        a_pod_stays_unready,
    ],
)
def test_a_finding_of_doctor_is_a_blocker_in_status(
    stage: Stage, blocked: Callable[[Stage], None]
) -> None:
    blocked(stage)
    _, message, remedy = only(stage, "stuck")
    shown = json.loads(stage.run("status", "mnist", "-o", "json").out)["blockers"]
    found = {one["message"]: one["remediation"] for one in shown}
    assert found.get(message.removeprefix("default/mnist: ")) == remedy
