"""Queued gangs ask by a ProvisioningRequest: all nodes of it come, or none."""

import pytest
from msgspec.structs import replace

from edl import contract
from edl.contract import Provision
from edl.model import Code, ObjectRef
from edl.planner.decision_limits import Autoscaler, Provisioner, ProvisionerSettings
from edl.writes import Create, Json
from tests.edl.provisioning.requested_cluster import LIMITS, RequestedCluster


def consumed(pod: Json) -> str:
    found: str = pod["metadata"]["annotations"].get(contract.CONSUMES_REQUEST, "")
    return found


def leaves_nothing(world: RequestedCluster) -> bool:
    return not (world.requests() or world.objects("PodTemplate") or world.provisional())


def test_from_zero_nodes_a_gang_starts_whole_on_the_nodes_of_its_request() -> None:
    world = RequestedCluster()
    world.gang("gang", 16)
    world.round()
    (request,) = world.requests()
    (template,) = world.objects("PodTemplate")
    assert request["spec"] == {
        "provisioningClassName": "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
        "podSets": [{"podTemplateRef": {"name": template["metadata"]["name"]}, "count": 16}],
        "parameters": {"ValidUntilSeconds": "600"},
    }
    assert world.notes("gang")[contract.REASON] == Code.WAITING_FOR_NODES
    world.settle(120)
    assert world.running("gang") == 16
    assert world.made == 8
    assert leaves_nothing(world)


def test_pods_name_the_provisioning_request_of_their_nodes() -> None:
    """Where the plan places them, and where kube-scheduler does."""
    for framework in ("tensorflow", "pytorch"):
        world = RequestedCluster()
        world.gang("gang", 4, framework=framework)
        world.round()
        (request,) = world.requests()
        world.settle(120)
        assert {consumed(pod) for pod in world.pods("gang")} == {request["metadata"]["name"]}


def test_a_later_start_elsewhere_names_no_request() -> None:
    world = RequestedCluster()
    world.gang("gang", 4)
    world.settle(120)
    world.annotate("gang", {contract.PAUSED: "true"})
    world.settle(60)
    assert world.pods("gang") == []
    world.annotate("gang", {contract.PAUSED: "false"})
    world.settle(60)
    assert world.running("gang") == 4
    assert {consumed(pod) for pod in world.pods("gang")} == {""}
    assert contract.CONSUMED_REQUEST not in world.notes("gang")


def test_no_gang_behind_takes_the_nodes_one_by_one() -> None:
    world = RequestedCluster(delay=1e6)
    world.gang("large", 4)
    world.settle(10)
    world.node("made-by-hand")
    world.gang("small", 2)
    world.settle(60)
    assert world.running("small") == 0
    world.node("made-by-hand-2")
    world.settle(60)
    assert world.running("large") == 4


def test_a_request_that_fails_goes_and_others_pass() -> None:
    world = RequestedCluster(most=3)
    world.gang("giant", 40)
    world.gang("small", 2)
    world.settle(60)
    assert world.notes("giant")[contract.REASON] == Code.NODES_NOT_PROVISIONED
    assert "no 20 nodes in the zone" in world.notes("giant")[contract.MESSAGE]
    world.settle(60)
    assert world.running("small") == 2
    assert world.running("giant") == 0


def test_after_a_failure_it_asks_anew_ever_more_seldom() -> None:
    world = RequestedCluster(most=0)
    world.gang("gang", 4)
    world.settle(600)
    made = [one.target for one in world.writes if isinstance(one, Create)]
    names = [target.name for target in made if target.kind == "ProvisioningRequest"]
    # At once, and after 1, 2 and 4 minutes.
    assert len(names) == len(set(names)) == 4
    assert leaves_nothing(world)


def test_without_an_answer_it_is_given_up_in_time() -> None:
    world = RequestedCluster()
    world.answers = False
    world.gang("gang", 4)
    world.settle(590)
    assert len(world.requests()) == 1
    world.settle(20)
    assert world.notes("gang")[contract.REASON] == Code.NODES_NOT_PROVISIONED
    assert leaves_nothing(world)


def test_nodes_that_are_taken_back_are_asked_for_again() -> None:
    for condition in ("BookingExpired", "CapacityRevoked"):
        world = RequestedCluster(delay=1e6)
        world.gang("gang", 4)
        world.settle(10)
        (request,) = world.requests()
        world.told(request["metadata"]["name"], condition, "it took too long")
        world.settle(10)
        assert world.notes("gang")[contract.REASON] == Code.NODES_NOT_PROVISIONED
        assert "it took too long" in world.notes("gang")[contract.MESSAGE]
        assert leaves_nothing(world)


def test_a_job_that_is_paused_or_starts_elsewhere_asks_no_more() -> None:
    for change in ("pause", "room"):
        world = RequestedCluster()
        world.answers = False
        world.gang("gang", 2)
        world.settle(10)
        assert len(world.requests()) == 1
        if change == "pause":
            world.annotate("gang", {contract.PAUSED: "true"})
        else:
            world.node("n1")
        world.settle(30)
        assert leaves_nothing(world)
        assert {consumed(pod) for pod in world.pods("gang")} <= {""}


def test_as_many_gangs_ask_at_once_as_are_allowed() -> None:
    two = replace(LIMITS.provisioning, provisioning_parallelism=2)
    world = RequestedCluster(limits=replace(LIMITS, provisioning=two))
    world.answers = False
    for number in range(4):
        world.gang(f"gang-{number}", 4)
    world.settle(30)
    assert len(world.requests()) == 2


@pytest.mark.slow
def test_a_crash_in_the_middle_makes_no_second_request() -> None:
    for writes in range(6):
        world = RequestedCluster()
        world.gang("gang", 4)
        world.settle(400, iter([writes]))
        assert world.running("gang") == 4
        assert world.made == 2
        assert leaves_nothing(world)


def test_without_the_api_nothing_is_asked_for() -> None:
    world = RequestedCluster(limits=replace(LIMITS, autoscaler=Autoscaler.PRESENT))
    world.answers = False
    world.api.unserved = frozenset({"NodePool", "ProvisioningRequest"})
    world.gang("gang", 4)
    world.settle(30)
    assert world.plan.requests == ()
    assert world.provisional() == []


def test_a_maximum_is_not_waited_for() -> None:
    world = RequestedCluster()
    world.gang("gang", 4, most=8, annotations={"provision": Provision.MAXIMUM})
    world.round()
    (request,) = world.requests()
    assert [one["count"] for one in request["spec"]["podSets"]] == [4]


def test_a_class_of_a_cloud_gets_its_own_parameters_alone() -> None:
    own = ProvisionerSettings(Provisioner.REQUEST, "queued.example.com", "run=86400,a=b")
    world = RequestedCluster(limits=replace(LIMITS, provisioning=own))
    world.gang("gang", 4)
    world.round()
    (request,) = world.requests()
    assert request["spec"]["provisioningClassName"] == "queued.example.com"
    assert request["spec"]["parameters"] == {"run": "86400", "a": "b"}


def test_another_way_of_asking_takes_away_what_the_first_has_made() -> None:
    world = RequestedCluster()
    world.answers = False
    world.gang("gang", 4)
    world.settle(10)
    world.limits = replace(LIMITS, provisioning=ProvisionerSettings())
    world.settle(10)
    assert (len(world.provisional()), world.requests()) == (4, [])
    world.limits = LIMITS
    world.settle(10)
    assert (world.provisional(), len(world.requests())) == ([], 1)


def forged(name: str, job: Json, **more: object) -> Json:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "gang", "uid": job["metadata"]["uid"]}
    labels = {contract.PROVISIONAL: "gang", "app.kubernetes.io/managed-by": contract.MANAGED_BY}
    return {"metadata": {"name": name, "labels": labels, "ownerReferences": [owner]}, **more}


def test_a_foreign_provisioning_request_is_left_alone() -> None:
    world = RequestedCluster()
    world.answers = False
    world.gang("gang", 4)
    body = forged("own", world.job("gang"))
    body["metadata"]["labels"] = {contract.PROVISIONAL: "gang"}
    world.create("ProvisioningRequest", "lab", body)
    world.settle(10)
    world.told("own", "Failed", "not ours")
    world.settle(30)
    assert len(world.requests()) == 2
    assert world.notes("gang")[contract.REASON] == Code.WAITING_FOR_NODES


def test_a_forged_request_harms_no_other_job_and_goes() -> None:
    world = RequestedCluster()
    world.gang("gang", 4)
    refs = [{"podTemplateRef": {"name": "x"}, "count": 1}] * 2000
    spec, long = {"podSets": refs, "provisioningClassName": "x"}, "e\x1b[1m" * 9000
    status = {"conditions": [{"type": "Accepted", "status": "True", "message": long}]}
    body = forged("forged", world.job("gang"), spec=spec, status=status)
    world.create("ProvisioningRequest", "lab", body)
    (found,) = world.state().jobs[0].provisioning.requests
    assert found.pod_sets == 32
    assert len(found.message) <= 1024
    assert "\x1b" not in found.message
    world.settle(120)
    assert world.running("gang") == 4
    assert leaves_nothing(world)


def test_a_broken_one_is_left_out() -> None:
    world = RequestedCluster()
    world.answers = False
    world.gang("gang", 4)
    for number, status in enumerate(({"conditions": 1}, {"conditions": [None]}, "x", None)):
        world.create(
            "ProvisioningRequest", "lab", forged(f"f-{number}", world.job("gang"), status=status)
        )
    world.settle(10)
    assert len(world.state().jobs) == 1
    assert world.state().jobs[0].provisioning.has_requests


def test_those_of_released_jobs_go() -> None:
    world = RequestedCluster()
    world.answers = False
    world.gang("gang", 4)
    world.settle(10)
    job = ObjectRef("Job", "lab", "gang")
    world.api.patch(job, {"metadata": {"labels": {contract.FRAMEWORK: None}}})
    world.settle(10)
    assert world.requests() == []


def test_a_request_that_a_user_wrote_deletes_no_templates_but_ours() -> None:
    """It is taken for ours, by its label and owner: it may name any PodTemplates of others."""
    world = RequestedCluster()
    world.gang("gang", 4)
    world.round()
    (ours,) = world.requests()
    for name in ("production", "gang-production"):
        metadata = {**ours["metadata"], "name": name}
        body = {"metadata": metadata, "spec": {"podSets": [{}]}}
        world.api.create(ObjectRef("ProvisioningRequest", "lab", name), body)
        world.api.create(ObjectRef("PodTemplate", "lab", f"{name}-0"), {})
    world.round()
    assert world.requests() == [ours]
    names = sorted(one["metadata"]["name"] for one in world.objects("PodTemplate"))
    assert names == sorted(["gang-production-0", f"{ours['metadata']['name']}-0", "production-0"])
