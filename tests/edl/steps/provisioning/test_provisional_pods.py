"""A provisional pod asks for the node that a pod of its role would, and for nothing else."""

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from edl import contract, reasons
from edl.model import (
    CapacityRequest,
    ClusterState,
    FailedAttempt,
    HostPort,
    ObjectRef,
    PodAffinityTerm,
    PodConstraints,
    Provisioning,
    RequestState,
    Requirement,
    Role,
    Selector,
    Shape,
    Toleration,
    Topology,
    TopologySpread,
)
from edl.planner.plan import Plan, ProvisioningRequest, Suspension
from edl.quantities import Resources
from edl.steps.plan_steps import steps
from edl.steps.provisioning import provisional_pods
from edl.writes import Delete, Json
from tests.edl.trainings import NOW, role, training

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
OWN = {contract.PROVISIONAL: "mnist", contract.PROVISIONAL_ROLE: "worker"}
NEED = Resources.of({"cpu": 1500, "memory": 2**30, "nvidia.com/gpu": 2, "pods": 1})


def pod_of(found: Role, **fields: Any) -> Json:  # noqa: ANN401 - fields of a training job
    job = training(found, **fields)
    request = ProvisioningRequest(job.key, (), "pause:1", timedelta(minutes=10))
    return dict(provisional_pods.create(job, found, "mnist-0", request).manifest)


def shaped(**fields: Any) -> Role:  # noqa: ANN401 - fields of a shape
    return role("worker", suspended=True, shape=Shape(NEED, **fields))


def test_one_container_asks_for_all_and_may_do_nothing() -> None:
    pod = pod_of(shaped())
    (container,) = pod["spec"]["containers"]
    amounts = {"cpu": "1500m", "memory": str(2**30), "nvidia.com/gpu": "2"}
    assert container["resources"] == {"requests": amounts, "limits": amounts}
    assert container["image"] == "pause:1"
    assert pod["spec"]["priorityClassName"] == contract.PROVISIONAL_PRIORITY
    assert pod["spec"]["terminationGracePeriodSeconds"] == 0
    assert pod["spec"]["restartPolicy"] == "Never"
    assert pod["spec"]["automountServiceAccountToken"] is False


def test_it_ends_by_itself_where_no_reconciler_deletes_it() -> None:
    assert pod_of(shaped())["spec"]["activeDeadlineSeconds"] == 630


def test_it_belongs_to_the_first_job_and_has_no_label_that_others_select_by() -> None:
    pod = pod_of(shaped().changed(labels=(("app", "web"),)))
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Job", "uid-worker")
    assert "controller" not in owner
    managed = {"app.kubernetes.io/managed-by": contract.MANAGED_BY}
    assert pod["metadata"]["labels"] == OWN | managed


def test_its_nodes_are_those_of_the_role() -> None:
    zone = (Requirement("zone", "In", ("a",)), Requirement("metadata.name", "NotIn", ("n1",)))
    tolerations = (Toleration("gpu", "Exists", "", ""),)
    spec = pod_of(
        shaped(node_selector=(("disk", "ssd"),), tolerations=tolerations, affinity=(zone,))
    )["spec"]
    assert spec["nodeSelector"] == {"disk": "ssd"}
    assert spec["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    assert spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] == [
        {
            "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}],
            "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}],
        }
    ]


def test_rules_about_its_own_role_speak_of_provisional_pods_and_others_stay() -> None:
    own = Selector(("lab",), (Requirement("app", "In", ("mnist",)),))
    others = Selector(None, (Requirement("app", "In", ("web",)),))
    rules = PodConstraints(
        "lab",
        (("app", "mnist"),),
        spread=(TopologySpread("zone", own, 1),),
        anti_affinity=(PodAffinityTerm("host", own), PodAffinityTerm("host", others)),
        ports=(HostPort("TCP", 2222, "0.0.0.0"),),  # noqa: S104 - a value
    )
    spec = pod_of(shaped(constraints=rules).changed(labels=(("app", "mnist"),)))["spec"]
    mine, theirs = spec["affinity"]["podAntiAffinity"][REQUIRED]
    assert mine["labelSelector"] == {"matchLabels": OWN}
    assert theirs["labelSelector"]["matchExpressions"][0]["values"] == ["web"]
    assert theirs["namespaceSelector"] == {}
    (spread,) = spec["topologySpreadConstraints"]
    assert spread["labelSelector"] == {"matchLabels": OWN}
    assert spec["containers"][0]["ports"][0]["hostPort"] == 2222


def test_a_required_topology_keeps_them_together() -> None:
    found = shaped().changed(gated=True, topology=Topology(required=(("", "rack"),)))
    (near,) = pod_of(found)["spec"]["affinity"]["podAffinity"][REQUIRED]
    everyone = {contract.PROVISIONAL: "mnist"}
    assert near == {"topologyKey": "rack", "labelSelector": {"matchLabels": everyone}}


def test_names_say_what_is_asked_for() -> None:
    """The same twice, another one for another shape, and after each failure."""
    found = shaped()
    job = training(found)
    prefix = provisional_pods.prefix(job, found)
    assert prefix == provisional_pods.prefix(job, found)
    larger = shaped(node_selector=(("disk", "ssd"),))
    failed = replace(job.provisioning, failure=FailedAttempt(NOW, 1))
    again = provisional_pods.prefix(replace(job, provisioning=failed), found)
    assert len({prefix, provisional_pods.prefix(job, larger), again}) == 3
    long = replace(job, key=job.key._replace(name="x" * 63))
    assert len(f"{provisional_pods.prefix(long, found)}99999") <= 63


def test_the_request_of_a_job_that_is_stopped_before_its_pods_are_bound_goes() -> None:
    """Others use its nodes by then: the job would wait for them until its time is over."""
    made = CapacityRequest(
        "mnist-0123456789", "uid", "atomic", NOW, 1, state=RequestState.PROVISIONED
    )
    job = training(role("worker", size=2), provisioning=Provisioning(requests=(made,)))
    plan = Plan(suspensions=(Suspension(job.key, reasons.PAUSED),))
    found = steps(plan, ClusterState(NOW, (), (replace(job, started_at=NOW),))).steps
    gone = [write.target for step in found for write in step.writes if isinstance(write, Delete)]
    assert ObjectRef("ProvisioningRequest", job.key.namespace, made.name) in gone


def test_its_limits_are_those_of_the_roles_pods_and_never_below_its_requests() -> None:
    limits = Resources.of({"cpu": 3000, "memory": 2**29, "ephemeral-storage": 10})
    (container,) = pod_of(shaped().changed(limits=limits))["spec"]["containers"]
    assert container["resources"]["limits"] == {
        "cpu": "3000m",
        "memory": str(2**30),
        "nvidia.com/gpu": "2",
        "ephemeral-storage": "10",
    }
