"""`doctor` on queued jobs for which an autoscaler may add nodes, or adds none."""

import json
from datetime import timedelta

import pytest

from edl import contract
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.job_views.job_reasons import REQUESTS_NO_NODES
from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed
from tests.kubectl_edl.doctor.findings import checked, only
from tests.kubectl_edl.stage import NOW, Stage, job, lease, node, pod

CANNOT = "default/big cannot start on the present nodes and quotas: "
SUFFICE = "the queued job is within quotas, and fits the present nodes or the limits of NodePools"

WHOLE = ", enough for whole nodes"
NO_TYPE = "no instance type has enough resources"


def above(add: int, needs: int) -> str:
    text = f"NodePools may add {add} more CPU: needs {needs}"
    return f"the limits of NodePools allow too little CPU; {text}"


def smaller(size: int) -> str:
    command = f"kubectl edl scale big -n default --role worker --min {size}"
    return f"a min of {size} for worker, for which the limits suffice: {command}"


@pytest.fixture
def stage() -> Stage:
    """A node of 8 CPU, of which a NodePool may add 32 more."""
    stage = installed(Stage(), FakeApi())
    stage.cluster.unserved -= {"NodePool"}
    stage.create(pooled("node-1"))
    stage.create(pool("default", "40"))
    return stage


def pool(name: str, cpu: str, used: str = "8") -> Json:
    return {
        "kind": "NodePool",
        "metadata": {"name": name, "namespace": ""},
        "spec": {"limits": {"cpu": cpu}},
        "status": {"resources": {"cpu": used}},
    }


def all_used(stage: Stage) -> None:
    target = ObjectRef("NodePool", "", "default")
    stage.cluster.patch(target, {"status": {"resources": {"cpu": "40"}}})


def pooled(name: str) -> Json:
    found = node(name, cpu="8")
    found["metadata"]["labels"][contract.NODE_POOL] = "default"
    return found


def gang(stage: Stage, name: str, pods: int, cpu: str = "2", **notes: str) -> Json:
    """A queued job of so many pods of so many CPU."""
    manifest = job(name, framework="none", min=str(pods), max=str(pods))
    manifest["spec"]["parallelism"] = pods
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    container["resources"]["requests"]["cpu"] = cpu
    created = stage.put(manifest)
    if notes:
        stage.patch(name, {"metadata": {"annotations": notes}})
    return created


def busy(stage: Stage) -> None:
    """A running job whose 4 pods use all of the node."""
    runs = job("small", framework="none", min="4", max="4")
    owner = stage.put(runs, suspend=False, parallelism=4)
    for index in range(4):
        stage.create(pod(owner, index))


def asked_for(stage: Stage, owner: Json, cpu: str, pods: int = 1) -> None:
    """Provisional pods of a job, which wait for their nodes."""
    for index in range(pods):
        _ask(stage, owner, cpu, index)


def _ask(stage: Stage, owner: Json, cpu: str, index: int) -> None:
    placeholder = pod(owner, index, node="", phase="Pending", conditions=[])
    metadata, spec = placeholder["metadata"], placeholder["spec"]
    metadata["name"] += "-provisional"
    metadata["labels"] = {
        contract.PROVISIONAL: owner["metadata"]["name"],
        contract.PROVISIONAL_ROLE: "worker",
        contract.MANAGED_BY_LABEL: contract.MANAGED_BY,
    }
    metadata["ownerReferences"][0]["controller"] = False
    spec["priorityClassName"] = contract.PROVISIONAL_PRIORITY
    spec["containers"][0]["resources"]["requests"]["cpu"] = cpu
    stage.create(placeholder)


def failed(minutes_ago: int = 1) -> dict[str, str]:
    """The record that requested nodes did not come."""
    at = f"2026-11-21T11:{60 - minutes_ago}:00Z"
    return {contract.PROVISIONING_FAILED: json.dumps({"at": at, "attempts": 3, "message": NO_TYPE})}


def test_a_job_above_the_limits_of_node_pools_is_a_warning_with_a_remedy(stage: Stage) -> None:
    """4 of 30 pods fit on the node, and 16 on new ones."""
    gang(stage, "big", 30)
    assert only(stage, "never") == (
        "warning",
        f"{CANNOT}{above(add=32, needs=52)}",
        f"raise spec.limits.cpu of NodePool default by 20 or more{WHOLE}; or {smaller(20)}",
    )


def test_the_pools_of_which_one_may_be_raised_are_named(stage: Stage) -> None:
    stage.create(pool("second", "4", "0"))
    gang(stage, "big", 30)
    assert only(stage, "never")[2].startswith(
        f"raise spec.limits.cpu of NodePool default or second by 16 or more{WHOLE}; or a min of 22 "
    )


def test_the_replicas_of_a_static_pool_may_be_raised(stage: Stage) -> None:
    stage.cluster.delete(ObjectRef("NodePool", "", "default"))
    stage.create(pool("static", "0") | {"spec": {"replicas": 0}})
    gang(stage, "big", 5)
    text = "raise spec.limits.nodes or spec.replicas of NodePool static by 1 or more"
    assert only(stage, "never")[2].startswith(text)


def test_a_job_for_which_the_limits_suffice_passes(stage: Stage) -> None:
    gang(stage, "big", 20)
    assert only(stage, "never")[:2] == ("ok", SUFFICE)


def test_a_job_whose_nodes_are_on_their_way_passes(stage: Stage) -> None:
    """Karpenter counts them in the usage of its NodePool before they are there."""
    all_used(stage)
    asked_for(stage, gang(stage, "big", 20), "2", 16)
    assert only(stage, "never")[:2] == ("ok", SUFFICE)


def test_a_job_that_waits_for_the_end_of_others_passes(stage: Stage) -> None:
    """Without the other job its 4 pods fit on the present node; the limits allow no more."""
    all_used(stage)
    busy(stage)
    gang(stage, "big", 4)
    assert "NodePools may add 0 more CPU: needs 8" in stage.run("queue").out
    assert only(stage, "never")[0] == "ok"


def test_jobs_behind_those_that_request_nodes_pass(stage: Stage) -> None:
    """Five jobs request nodes at the same time; the sixth may later."""
    for number in range(8):
        gang(stage, f"job-{number}", 5)
    assert only(stage, "never")[0] == "ok"


def test_a_job_whose_nodes_do_not_come_is_one_warning(stage: Stage) -> None:
    """None of the pool's instance types has 24 CPU."""
    gang(stage, "big", 1, "24", **failed())
    found = checked(stage)
    assert "never" not in found
    (one,) = (one for one in found["stuck"] if one["result"] == "warning")
    text = f"it requested nodes 3 times without success, last 60s ago: {NO_TYPE}"
    assert one["message"] == f"default/big: {text}"
    assert one["remediation"] == "kubectl edl explain big -n default"


def test_it_stays_a_warning_while_the_nodes_are_requested_again(stage: Stage) -> None:
    owner = gang(stage, "big", 1, "24", **failed(minutes_ago=30))
    asked_for(stage, owner, "24")
    assert "default/big" in json.dumps(checked(stage)["stuck"])


def test_a_job_that_waits_for_the_end_of_others_passes_after_a_failed_request(
    stage: Stage,
) -> None:
    busy(stage)
    gang(stage, "big", 4, **failed())
    assert "the requested nodes were not provisioned in time" in stage.run("queue").out
    assert only(stage, "never")[0] == "ok"


def test_a_job_that_requests_no_nodes_is_a_warning_as_without_an_autoscaler(stage: Stage) -> None:
    gang(stage, "big", 20)
    never = {contract.PROVISION: contract.Provision.NEVER.value}
    stage.patch("big", {"metadata": {"annotations": never}})
    expected = f"{CANNOT}Insufficient cpu, even if no training job ran: needs 20 x 2 CPU (worker)"
    found = only(stage, "never")[1]
    assert found.startswith(expected)
    assert found.endswith(f"; an autoscaler may add nodes, but {REQUESTS_NO_NODES}")
    command = "kubectl annotate job big edl.dev/provision=minimum --overwrite"
    assert f"{REQUESTS_NO_NODES}: {command}" in " ".join(stage.run("explain", "big").out.split())


@pytest.mark.parametrize("cordoned", [False, True])
def test_jobs_that_cannot_start_are_warnings_without_a_schedulable_node(
    stage: Stage, *, cordoned: bool
) -> None:
    target = ObjectRef("Node", "", "node-1")
    if cordoned:
        stage.cluster.patch(target, {"spec": {"unschedulable": True}})
    else:
        stage.cluster.delete(target)
    gang(stage, "fits", 10)
    assert only(stage, "never")[0] == "ok"
    gang(stage, "big", 30)
    gang(stage, "none", 1)
    stage.patch("none", {"metadata": {"annotations": {contract.PROVISION: "never"}}})
    gang(stage, "typo", 1, **failed())
    found = checked(stage)
    messages = " ".join(one["message"] for one in found["never"])
    assert f"{CANNOT}{above(add=32, needs=52 if cordoned else 60)}" in messages
    assert (f"but {REQUESTS_NO_NODES}" in messages) is not cordoned  # that node may return
    assert "default/typo: it requested nodes" in json.dumps(found["stuck"])
    assert "default/fits" not in messages


def test_nodes_that_come_for_another_job_count_as_if_they_were_there(stage: Stage) -> None:
    """Karpenter counts nodes of 32 CPU that are not there yet: they can hold all other pods."""
    all_used(stage)
    asked_for(stage, gang(stage, "small", 8, "4"), "4", 8)
    gang(stage, "big", 20)
    assert only(stage, "never")[0] == "ok"
    stage.patch("small", {"metadata": {"annotations": failed(minutes_ago=30)}})
    assert "default/big cannot start" in " ".join(one["message"] for one in checked(stage)["never"])


def test_the_queue_shows_their_position_and_no_job_of_them_as_starting_never(stage: Stage) -> None:
    for number in range(7):
        gang(stage, f"job-{number}", 5)
    items = json.loads(stage.run("queue", "-o", "json").out)["items"]
    assert [item["position"] for item in items] == [1, 2, 3, 4, 5, 6, 7]
    assert [item["reason"] for item in items[4:]] == ["WaitingForNodes", "QueueOrder", "QueueOrder"]
    assert {item["estimatedStart"]["certainty"] for item in items} == {"Unknown"}
    assert items[6]["message"] == "nodes are requested for jobs ahead of it first"
    starts = "Starts:      unknown: nodes are requested for jobs ahead of it first"
    assert starts in stage.run("explain", "job-6").out


def test_a_job_above_the_limits_is_a_warning_also_behind_those_that_request(stage: Stage) -> None:
    for number in range(5):
        gang(stage, f"job-{number}", 5)
    gang(stage, "big", 30)
    assert only(stage, "never")[:2] == ("warning", f"{CANNOT}{above(add=32, needs=52)}")


def test_the_queue_agrees_that_a_job_above_the_limits_never_starts(stage: Stage) -> None:
    gang(stage, "big", 30)
    (item,) = json.loads(stage.run("queue", "-o", "json").out)["items"]
    assert item["estimatedStart"]["certainty"] == "Never"
    found = stage.run("explain", "big").out
    assert "\n  1. the limits of NodePools allow too little CPU" in found
    assert "\nStarts:      never with today's nodes and quotas\n" in found


def test_status_names_a_failed_request_for_nodes_once(stage: Stage) -> None:
    message = f"the requested nodes were not provisioned in time; the autoscaler: {NO_TYPE}"
    record = {contract.REASON: "NodesNotProvisioned", contract.MESSAGE: message}
    gang(stage, "big", 1, "24", **failed(), **record)
    found = json.loads(stage.run("status", "big", "-o", "json").out)["blockers"]
    assert [one["message"] for one in found] == [
        f"it requested nodes 3 times without success, last 60s ago: {NO_TYPE}"
    ]


def test_queue_and_explain_say_until_when_requested_nodes_are_awaited(stage: Stage) -> None:
    """The provisional pod is five minutes old, and nodes have ten minutes to come."""
    asked_for(stage, gang(stage, "big", 10), "2")
    until = "waiting for nodes from the autoscaler; 6 pods wait for them (until 12:05:00 UTC)"
    assert until in stage.run("queue").out
    awaited = "awaited until 12:05:00 UTC, the reconciler's --provisioning-timeout"
    assert f"\nNodes:       {awaited}\n" in stage.run("explain", "big").out
    stage.now = [NOW + timedelta(minutes=5)]
    assert "\nNodes: " not in stage.run("explain", "big").out


def test_without_a_reconciler_the_wait_for_requested_nodes_has_no_end(stage: Stage) -> None:
    asked_for(stage, gang(stage, "big", 10), "2")
    lease(stage, minutes_ago=3)
    assert "(until " not in stage.run("queue").out
    assert "\nNodes: " not in stage.run("explain", "big").out


def test_a_limit_is_raised_by_what_suffices_once_the_other_jobs_have_ended(stage: Stage) -> None:
    """Of 20 pods 4 fit on the node once it is empty; the pool is full."""
    all_used(stage)
    busy(stage)
    gang(stage, "big", 20)
    assert only(stage, "never") == (
        "warning",
        f"{CANNOT}{above(add=0, needs=32)}",
        "raise spec.limits.cpu of NodePool default by 32 or more" + WHOLE,
    )
