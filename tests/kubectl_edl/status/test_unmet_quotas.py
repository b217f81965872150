import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from edl import contract
from edl.writes import Json
from tests.kubectl_edl.cluster_wrappers import fenced, recorded
from tests.kubectl_edl.stage import NOW, Stage, event, job, pod, quota

if TYPE_CHECKING:
    from edl.kube.cluster import ListOptions

REASON = (
    'exceeded ResourceQuota "compute" of namespace default, requested: pods=1, limited: pods=2; '
    "used: pods=3"
)


LONG_AGO = (NOW - timedelta(hours=1)).isoformat()


@pytest.fixture
def stage() -> Stage:
    """Of 4 pods of a job with min 3, the one that was lost is yet to be replaced."""
    stage = Stage()
    limits = {"framework": "none", "min": "3", "max": "4"}
    owner = stage.put(job("mine", **limits), suspend=False, parallelism=4)
    for index in (0, 1, 3):
        stage.create(pod(owner, index))
    notes = {contract.FAILURES_AT_START: "0", contract.STARTED_AT: LONG_AGO}
    stage.patch("mine", {"metadata": {"annotations": notes}, "status": {"failed": 5}})
    return stage


def lowered(stage: Stage, pods: int) -> None:
    found = quota("pods")
    found["status"] = {"hard": {"pods": str(pods)}, "used": {"pods": "3"}}
    stage.create(found)


def test_a_quota_that_was_lowered_under_a_running_job_is_the_reason_before_any_back_off(
    stage: Stage,
) -> None:
    refused = 'pods "mine-2" is forbidden: exceeded quota: compute, requested: pods=1'
    stage.create(event("mine", "FailedCreate", refused, minutes_ago=2, warning=True))
    lowered(stage, 2)
    listed = json.loads(stage.run("status", "-o", "json").out)["items"][0]
    shown = json.loads(stage.run("status", "mine", "-o", "json").out)
    explained = json.loads(stage.run("explain", "mine", "-o", "json").out)
    for found in (listed, listed["roles"][0], shown, explained):
        assert (found["reason"], found["message"]) == ("QuotaExceeded", REASON)
    raised = 'raise ResourceQuota "compute" of namespace default to pods=4'
    fix = f"{raised}, or: kubectl edl scale mine -n default SIZE"
    assert shown["blockers"] == [{"message": REASON, "remediation": fix}]
    assert f"{REASON}\n     fix: {fix}\n" in stage.run("explain", "mine").out


def test_a_limit_range_that_refuses_the_pods_of_a_running_job_is_its_reason(stage: Stage) -> None:
    """The API server has made its max the limit of containers without one."""
    text = (
        'Error creating: Pod "mine-x" is invalid: spec.containers[0].resources.requests: Invalid '
        'value: "2": must be less than or equal to cpu limit of 100m'
    )
    stage.create(event("mine", "FailedCreate", text, minutes_ago=2, warning=True))
    where = "kubectl describe limitrange -n default"
    (blocker,) = json.loads(stage.run("status", "mine", "-o", "json").out)["blockers"]
    assert blocker == {"message": f"mine: FailedCreate: {text}", "remediation": where}
    bounds = {"type": "Container", "max": {"cpu": "100m"}, "default": {"cpu": "100m"}}
    meta = {"name": "small", "namespace": "default"}
    stage.create({"kind": "LimitRange", "metadata": meta, "spec": {"limits": [bounds]}})
    why = (
        '1 of 4 worker missing: LimitRange "small" refuses its pods: container "main": '
        "requests.cpu 2 is above 100m (spec.limits[0].max.cpu); set amounts within these bounds, "
        "or change the LimitRange"
    )
    listed = json.loads(stage.run("status", "-o", "json").out)["items"][0]
    shown = json.loads(stage.run("status", "mine", "-o", "json").out)
    explained = json.loads(stage.run("explain", "mine", "-o", "json").out)
    for found in (listed, shown, explained):
        assert (found["reason"], found["message"]) == ("PodsMissing", why)
    fix = "kubectl describe limitrange,resourcequota -n default"
    assert shown["blockers"] == [{"message": why, "remediation": fix}]


def test_scaling_down_is_offered_only_if_the_job_itself_holds_what_the_quota_lacks() -> None:
    """Ranks 1 to 3 run; rank 0 is lost, and comes back at no size while others hold the rest."""
    stage = Stage()
    ranked = job("mine", framework="pytorch", min="2", max="4")
    owner = stage.put(ranked, suspend=False, parallelism=4, completions=4)
    for index in (1, 2, 3):
        stage.create(pod(owner, index))
    stage.patch("mine", {"metadata": {"annotations": {contract.STARTED_AT: LONG_AGO}}})
    found = quota("pods", "requests.cpu")
    found["status"] = {
        "hard": {"pods": "5", "requests.cpu": "10"},
        "used": {"pods": "8", "requests.cpu": "16"},
    }
    stage.create(found)
    (blocker,) = json.loads(stage.run("status", "mine", "-o", "json").out)["blockers"]
    assert "requested: pods=1,requests.cpu=2, limited: pods=5,requests.cpu=10" in blocker["message"]
    assert blocker["remediation"] == (
        'raise ResourceQuota "compute" of namespace default to pods=9,requests.cpu=18, '
        "or scale down other jobs: kubectl edl status -n default"
    )


def test_a_quota_with_room_for_the_lost_pods_leaves_the_back_off_as_reason(stage: Stage) -> None:
    lowered(stage, 4)
    shown = json.loads(stage.run("status", "mine", "-o", "json").out)
    assert shown["reason"] == "PodsMissing"
    assert [one["message"] for one in shown["blockers"]] == [shown["message"]]


def test_without_the_right_to_read_quotas_a_job_that_lacks_pods_is_listed_with_a_hint(
    stage: Stage,
) -> None:
    stage.wrapped = fenced("ResourceQuota")
    found = stage.run("status")
    assert "mine" in found.out
    assert found.err.startswith("hint: what a ResourceQuota forbids is unknown: ")


@pytest.mark.parametrize(
    "change",
    [
        {"annotations": {contract.STARTED_AT: NOW.isoformat()}},
        {"annotations": {contract.RESIZED_AT: NOW.isoformat()}},
        {"managedFields": [{"subresource": "status", "time": "2026-11-21T12:00:00Z"}]},
    ],
    ids=["start", "resize", "report"],
)
@pytest.mark.parametrize("command", [["status"], ["explain", "mine"]])
def test_pods_that_are_being_created_and_counted_already_lack_no_quota(
    stage: Stage, change: Json, command: list[str]
) -> None:
    """The API server counts a pod before it can be listed."""
    found = quota("pods")
    found["status"] = {"hard": {"pods": "4"}, "used": {"pods": "4"}}
    stage.create(found)
    refused = "limited: pods=4"
    stage.now = [NOW + timedelta(seconds=29)]
    assert refused in stage.run(*command).out
    stage.patch("mine", {"metadata": change})
    assert refused not in stage.run(*command).out
    stage.now = [NOW + timedelta(seconds=31)]
    assert refused in stage.run(*command).out


@pytest.mark.parametrize("command", [["history", "mine"], ["events"], ["pause", "mine"]])
def test_commands_that_show_no_reason_read_no_quotas(stage: Stage, command: list[str]) -> None:
    lists: list[ListOptions] = []
    stage.wrapped = recorded(lists)
    assert stage.run(*command).code == 0
    assert {"ResourceQuota", "LimitRange"}.isdisjoint(one.kind for one in lists)
