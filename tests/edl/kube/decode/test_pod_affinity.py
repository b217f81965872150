"""What a pod's spec says of the pods beside it."""

from itertools import permutations

import msgspec
import pytest

from edl.kube.decode import job_facts, object_facts
from edl.kube.decode.pod_affinity import PodIdentity, identity, rules
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.model import (
    ClusterState,
    ForeignPods,
    HostPort,
    Labels,
    PodAffinityTerm,
    PodConstraints,
    Requirement,
    Selector,
    TopologySpread,
)
from edl.writes import Json
from tests.edl.kube import manifests
from tests.edl.kube.state.test_observe import NOW
from tests.edl.kube.whole_state import ManyFacts, observed

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ME = PodIdentity("web", (("app", "x"), ("hash", "1")))
X = {"labelSelector": {"matchLabels": {"app": "x"}}}
APP = Requirement("app", "In", ("x",))
MINE = Selector(("web",), (APP,))


def spread(**fields: object) -> Json:
    own = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [own | X | fields]}


def beside(kind: str, **fields: object) -> Json:
    return {"affinity": {kind: {REQUIRED: [{"topologyKey": "zone"} | X | fields]}}}


def read(spec: Json) -> PodConstraints:
    found = rules({"containers": []} | spec, ME)
    assert found is not None
    assert (found.namespace, found.labels) == ME
    return found


@pytest.mark.parametrize(
    "spec",
    [
        {},
        spread(whenUnsatisfiable="ScheduleAnyway"),
        {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}}},
        {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}},
        {"containers": [{"ports": [{"containerPort": 80}]}]},
        beside("podAntiAffinity", namespaceSelector={"matchLabels": {"team": "a"}}),
    ],
)
def test_preferred_and_unreadable_terms_give_no_constraints(spec: Json) -> None:
    assert rules({"containers": []} | spec, ME) is None


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, TopologySpread("zone", MINE, 1)),
        ({"maxSkew": 3, "minDomains": 2}, TopologySpread("zone", MINE, 3, 2)),
        ({"nodeAffinityPolicy": "Ignore"}, TopologySpread("zone", MINE, 1, by_affinity=False)),
        ({"nodeTaintsPolicy": "Honor"}, TopologySpread("zone", MINE, 1, by_taints=True)),
        ({"labelSelector": {}}, TopologySpread("zone", None, 1)),
        (
            {"matchLabelKeys": ["hash", "missing"]},
            TopologySpread("zone", Selector(("web",), (APP, Requirement("hash", "In", ("1",)))), 1),
        ),
    ],
)
def test_a_spread_is_read_with_its_defaults(fields: Json, found: TopologySpread) -> None:
    assert read(spread(**fields)).spread == (found,)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, MINE),
        ({"namespaces": ["b", "a"]}, Selector(("a", "b"), (APP,))),
        ({"namespaceSelector": {}}, Selector(None, (APP,))),
        ({"labelSelector": None}, Selector(("web",), (Requirement("", "In", ()),))),
        ({"labelSelector": {}}, Selector(("web",))),
        (
            {"mismatchLabelKeys": ["hash"]},
            Selector(("web",), (APP, Requirement("hash", "NotIn", ("1",)))),
        ),
        (
            {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}},
            Selector(("web",), (Requirement("a", "Exists", ()),)),
        ),
    ],
)
def test_affinity_terms_select_pods_by_labels_and_namespaces(fields: Json, found: Selector) -> None:
    assert read(beside("podAffinity", **fields)).affinity == (PodAffinityTerm("zone", found),)
    assert read(beside("podAntiAffinity", **fields)).anti_affinity == (
        PodAffinityTerm("zone", found),
    )


def test_ports_of_the_node_are_those_that_are_named_or_all_in_its_network() -> None:
    named = [{"containerPort": 1, "hostPort": 80}, {"containerPort": 2}]
    every = "0.0.0.0"  # noqa: S104 - of a manifest
    spec = {"containers": [{"ports": named}], "initContainers": [{"ports": named}]}
    assert read(spec).ports == (HostPort("TCP", 80, every),)
    assert read(spec | {"hostNetwork": True}).ports == (
        HostPort("TCP", 80, every),
        HostPort("TCP", 2, every),
    )
    udp = {"containerPort": 1, "hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}
    sidecar = {"ports": [udp], "restartPolicy": "Always"}
    assert read({"containers": [], "initContainers": [sidecar]}).ports == (
        HostPort("UDP", 53, "10.0.0.1"),
    )


def test_pods_of_one_template_are_alike_whatever_their_number() -> None:
    numbered = [
        {"app": "x", "batch.kubernetes.io/job-completion-index": str(index)} for index in range(2)
    ]
    assert (
        identity("web", numbered[0])
        == identity("web", numbered[1])
        == PodIdentity("web", (("app", "x"),))
    )
    first, second = (pod(f"p{n}", labels=labels, **spread()) for n, labels in enumerate(numbered))
    assert first.shape == second.shape


def test_a_pod_and_its_jobs_template_follow_the_same_rules() -> None:
    shapes = ShapeInterner()
    manifest = manifests.member("worker", pod=spread() | beside("podAntiAffinity"))
    manifest["spec"]["template"]["metadata"] = {"labels": {"app": "x"}}
    role = job_facts.job(msgspec.json.encode(manifest), shapes).role
    found = pod("a", shapes, labels={"app": "x"}, **spread(), **beside("podAntiAffinity"))
    assert role is not None
    assert found.shape is role.template.shape
    assert found.shape.constraints is not None


def pod(
    name: str,
    shapes: ShapeInterner | None = None,
    labels: dict[str, str] | None = None,
    **spec: object,
) -> object_facts.PodFacts:
    node = str(spec.pop("node", ""))
    namespace = spec.pop("namespace", "web")
    meta = {"labels": labels or {}} | (
        {"deletionTimestamp": "2026-01-01T00:00:00Z"} if spec.pop("gone", None) else {}
    )
    body = manifests.pod(name, node=node, metadata=meta, spec=spec)
    body["metadata"]["namespace"] = namespace
    shapes = ShapeInterner() if shapes is None else shapes
    return object_facts.pod(msgspec.json.encode(body), shapes)


def state(template: Json, labels: Labels, *pods: object_facts.PodFacts) -> ClusterState:
    manifest = manifests.member("worker", pod=template)
    manifest["spec"]["template"]["metadata"] = {"labels": dict(labels)}
    job = job_facts.job(msgspec.json.encode(manifest), ShapeInterner())
    nodes = [object_facts.node(msgspec.json.encode(manifests.node("n1")))]
    return observed(ManyFacts(nodes=nodes, pods=pods, jobs=[job]), NOW)


def test_jobs_without_constraints_observe_no_foreign_pods() -> None:
    alone = pod("a", labels={"app": "x"}, node="n1", **beside("podAntiAffinity"))
    found = state({}, (("app", "y"),), alone)
    assert found.foreign_pods == ()
    assert found.jobs[0].roles[0].template.shape.constraints is None


def test_a_pod_selected_by_a_jobs_constraints_is_observed() -> None:
    pods = (
        pod("a", labels={"app": "x"}, node="n1"),
        pod("b", labels={"app": "x"}, node="n1", gone=True),
        pod("c", labels={"app": "y"}, node="n1"),
        pod("d", labels={"app": "x"}),
    )
    found = state(spread(), (("app", "x"),), *pods)
    assert found.foreign_pods == (ForeignPods("n1", PodConstraints("web", (("app", "x"),)), 2, 1),)


@pytest.mark.parametrize("order", [*permutations(("lab", "web", "web"))])
def test_unlabelled_pods_of_two_namespaces_are_told_apart(order: tuple[str, ...]) -> None:
    """They have the same labels and the same shape, and selectors without labels match them."""
    shapes = ShapeInterner()
    pods = [
        pod(f"p{at}", shapes, node="n1", namespace=namespace) for at, namespace in enumerate(order)
    ]
    found = state(beside("podAntiAffinity", labelSelector={}), (("app", "x"),), *pods)
    assert found.foreign_pods == (ForeignPods("n1", PodConstraints("web", ()), 2),)


def test_a_role_selected_by_foreign_anti_affinity_has_constraints() -> None:
    keeper = pod("a", labels={"app": "k"}, node="n1", **beside("podAntiAffinity"))
    found = state({}, (("app", "x"),), keeper)
    assert found.jobs[0].roles[0].template.shape.constraints == PodConstraints(
        "web", (("app", "x"),)
    )
    assert [one.constraints.anti_affinity for one in found.foreign_pods] == [
        (PodAffinityTerm("zone", MINE),)
    ]
