"""Only NodePools that pods may use count, by taints, labels and requirements."""

from typing import Any

import msgspec
import pytest

from edl import contract
from edl.feasibility import node_pools
from edl.kube.provisioning.node_pool_facts import node_pool
from edl.model import (
    Code,
    JobKey,
    NodePoolHeadroom,
    ObjectRef,
    Requirement,
    Shape,
    Toleration,
)
from edl.model.nodes import NodePoolTemplate
from edl.planner.passes.admission.pool_headroom import PoolHeadroom
from edl.quantities import Resources
from edl.writes import Json
from tests.edl import manifests
from tests.edl.provisioning.test_pool_limits import POOL, PooledCluster, above

TAINT = {"key": "dedicated", "value": "train", "effect": "NoSchedule"}
TOLERATED = [{"key": "dedicated", "operator": "Exists"}]
ARCH = "kubernetes.io/arch"


def need(key: str, operator: str, *values: str) -> Json:
    return {"key": key, "operator": operator, "values": list(values)}


def template(*needs: Json, labels: Json | None = None, **spec: Any) -> Json:  # noqa: ANN401 - JSON
    return {"metadata": {"labels": labels or {}}, "spec": {"requirements": list(needs)} | spec}


def read(body: object) -> NodePoolTemplate | None:
    spec = {"limits": {"cpu": "8"}, "template": body}
    found = node_pool(msgspec.json.encode({"metadata": {"name": "pool"}, "spec": spec}))
    assert found.limits == (("cpu", 8000),)
    return found.template


def takes(body: object, shape: Shape) -> bool:
    return bool(node_pools.usable([NodePoolHeadroom((), "pool", read(body))], shape))


def asks(
    *terms: Json, selector: tuple[tuple[str, str], ...] = (), also: tuple[Json, ...] = ()
) -> Shape:
    """A shape that asks for all of `terms`, or for all of `also`."""
    alternatives = [
        tuple(Requirement(one["key"], one["operator"], tuple(one["values"])) for one in term)
        for term in (terms, also)
        if term
    ]
    return Shape(Resources(), selector, affinity=tuple(alternatives))


@pytest.mark.parametrize(
    ("offered", "asked", "usable"),
    [
        (need("team", "In", "a", "b"), need("team", "In", "b", "c"), True),
        (need("team", "In", "a", "b"), need("team", "In", "c"), False),
        (need("team", "In", "a", "b"), need("team", "NotIn", "a"), True),
        (need("team", "In", "a"), need("team", "NotIn", "a"), False),
        (need("team", "In", "a"), need("team", "Exists"), True),
        (need("team", "In", "a"), need("team", "DoesNotExist"), False),
        (need("team", "NotIn", "a"), need("team", "In", "a"), False),
        (need("team", "NotIn", "a"), need("team", "In", "a", "b"), True),
        (need("team", "NotIn", "a"), need("team", "NotIn", "b"), True),
        (need("team", "NotIn", "a"), need("team", "DoesNotExist"), True),
        (need("team", "Exists"), need("team", "In", "any"), True),
        (need("team", "Exists"), need("team", "DoesNotExist"), False),
        (need("team", "DoesNotExist"), need("team", "In", "a"), False),
        (need("team", "DoesNotExist"), need("team", "Exists"), False),
        (need("team", "DoesNotExist"), need("team", "NotIn", "a"), True),
        (need("size", "Gt", "8"), need("size", "In", "8"), False),
        (need("size", "Gt", "8"), need("size", "In", "8", "16"), True),
        (need("size", "In", "4", "16"), need("size", "Lt", "8"), True),
        (need("size", "In", "4", "16"), need("size", "Gt", "16"), False),
        (need("size", "Gt", "8"), need("size", "Lt", "4"), True),
        (need("size", "Gte", "8"), need("size", "In", "4"), True),
        (need("other", "In", "a"), need("team", "In", "a"), False),
        (need("other", "In", "a"), need("team", "Exists"), False),
        (need("other", "In", "a"), need("team", "Gt", "1"), False),
        (need("other", "In", "a"), need("team", "NotIn", "a"), True),
        (need("other", "In", "a"), need("team", "DoesNotExist"), True),
        (need(ARCH, "In", "arm64"), need(ARCH, "In", "amd64"), False),
        (need(ARCH, "In", "arm64"), need("beta.kubernetes.io/arch", "In", "amd64"), True),
        (need(ARCH, "In", "arm64"), need("node.kubernetes.io/instance-type", "In", "x"), True),
        (need(ARCH, "In", "arm64"), need("karpenter.k8s.aws/instance-gpu-count", "Gt", "0"), True),
        (need(ARCH, "In", "arm64"), need("karpenter.azure.com/sku-family", "In", "N"), True),
        (need(ARCH, "In", "arm64"), need("topology.ebs.csi.aws.com/zone", "In", "a"), True),
        (need(ARCH, "In", "arm64"), need("topology.gke.io/zone", "In", "a"), True),
        (need(ARCH, "In", "arm64"), need("node.cluster.x-k8s.io/esxi-host", "In", "a"), True),
        (need(ARCH, "In", "arm64"), need("metadata.name", "In", "n1"), True),
        (need(ARCH, "In", "arm64"), need("notkubernetes.io/a", "In", "b"), False),
        (need(ARCH, "In", "arm64"), need(contract.NODE_POOL, "In", "pool"), True),
        (need(ARCH, "In", "arm64"), need(contract.NODE_POOL, "In", "other"), False),
    ],
)
def test_a_pool_is_usable_if_its_labels_may_be_those_asked_for(
    offered: Json, asked: Json, *, usable: bool
) -> None:
    assert takes(template(offered), asks(asked)) is usable


@pytest.mark.parametrize(
    ("offered", "asked", "usable"),
    [
        ([("NotIn", "a"), ("Exists",)], [("DoesNotExist",)], True),
        ([("NotIn", "a"), ("Exists",)], [("NotIn", "b"), ("Exists",)], True),
        ([("Exists",), ("Gt", "1")], [("DoesNotExist",)], False),
        ([("NotIn", "3"), ("Gt", "1")], [("DoesNotExist",)], True),
        ([("NotIn", "1"), ("Gt", "1")], [("DoesNotExist",)], False),
        ([("NotIn", "a"), ("In", "a", "b")], [("DoesNotExist",)], False),
        ([("NotIn", "a"), ("In", "a")], [("DoesNotExist",)], True),
        ([("DoesNotExist",)], [("NotIn", "a"), ("Exists",)], False),
        ([], [("NotIn", "a"), ("Exists",)], True),
        ([], [("NotIn", "3"), ("Gt", "1")], True),
        ([], [("NotIn", "1"), ("Gt", "1")], False),
        ([], [("NotIn", "a"), ("In", "a", "b")], False),
        ([], [("NotIn", "a"), ("In", "a")], False),
        ([], [("DoesNotExist",), ("NotIn", "a")], True),
        ([], [("DoesNotExist",), ("Exists",)], False),
    ],
)
def test_requirements_on_one_label_count_together_as_for_karpenter(
    offered: list[tuple[str, ...]], asked: list[tuple[str, ...]], *, usable: bool
) -> None:
    """Its node gets the label if the pod asks for others than some values, also beside Exists."""
    needs = [need("team", *rest) for rest in offered]
    assert takes(template(*needs), asks(*(need("team", *rest) for rest in asked))) is usable


def test_a_label_of_the_template_is_one_of_its_nodes() -> None:
    body = template(labels={"team": "a"})
    assert takes(body, asks(selector=(("team", "a"),)))
    assert not takes(body, asks(selector=(("team", "b"),)))
    assert not takes(body, asks(selector=(("team", "a"), ("other", "a"))))


def test_one_of_the_alternatives_suffices_together_with_the_selector() -> None:
    body = template(need("team", "In", "a", "b"))
    assert takes(body, asks(need("team", "In", "c"), also=(need("team", "In", "a"),)))
    asked = asks(need("team", "In", "a"), selector=(("team", "b"),))
    assert not takes(body, asked)
    assert not takes(body, asks(need("team", "In", "a"), need("other", "Exists")))


def test_taints_exclude_pods_that_do_not_tolerate_them_but_startup_taints_do_not() -> None:
    tolerant = Shape(Resources(), tolerations=(Toleration("dedicated", "Exists"),))
    assert not takes(template(taints=[TAINT]), Shape(Resources()))
    assert takes(template(taints=[TAINT]), tolerant)
    assert takes(template(startupTaints=[TAINT]), Shape(Resources()))
    assert takes(template(taints=[TAINT | {"effect": "PreferNoSchedule"}]), Shape(Resources()))


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"spec": {"taints": 1}},
        {"spec": {"requirements": [{"key": "team"}]}},
        {"metadata": {"labels": {"team": 1}}, "spec": {}},
        template(*(need("team", "NotIn", "a") for _ in range(257))),
        template(need("team", "In", *map(str, range(4097)))),
    ],
)
def test_a_template_that_cannot_be_read_or_is_too_large_excludes_no_pod(body: object) -> None:
    assert read(body) is None
    assert takes(body, asks(selector=(("team", "b"),)))


class TwoPools(PooledCluster):
    """The pool `default`, without a limit, beside the pool `train` with a taint and a label."""

    def __init__(self, limits: Json | None = None) -> None:
        super().__init__(None)
        self.pool("train", {"cpu": "16"} if limits is None else limits)
        self.described("default", template())
        self.described("train", template(labels={"team": "a"}, taints=[TAINT]))

    def described(self, name: str, body: Json) -> None:
        self.api.patch(ObjectRef("NodePool", "", name), {"spec": {"template": body}})

    def requested(self, pods: int, name: str = "gang", **pod: Any) -> bool:  # noqa: ANN401 - JSON
        """Whether a gang of so many pods of 4 CPU requests nodes."""
        self.gang(name, pods, pod=pod)
        self.round()
        return JobKey("lab", name) in {one.job for one in self.plan.requests}


SELECTING: Json = {"nodeSelector": {"team": "a"}, "tolerations": TOLERATED}


def test_a_pool_that_the_pods_cannot_use_adds_nothing_for_them() -> None:
    world = TwoPools()
    assert not world.requested(5, **SELECTING)
    assert world.why("gang") == above("16 more CPU", "20")
    assert world.requested(4, "small", **SELECTING)
    assert world.requested(5, "tolerant", tolerations=TOLERATED)
    assert world.requested(5, "other")


def test_a_taint_alone_excludes_a_pool_without_a_limit() -> None:
    world = TwoPools(limits={})
    world.limit(16)
    assert not world.requested(5)
    assert world.why("gang") == above("16 more CPU", "20")
    assert world.requested(5, "tolerant", tolerations=TOLERATED)


def test_pods_that_may_use_no_pool_request_nodes_within_the_limits_of_all() -> None:
    """Karpenter, or another autoscaler, says why none comes."""
    world = TwoPools()
    assert world.requested(5, nodeSelector={"team": "b"})
    world.limit(8)
    assert not world.requested(7, "large", nodeSelector={"team": "b"})
    assert world.why("large") == above("24 more CPU", "28")


def test_the_remedy_names_the_pools_that_the_pods_may_use() -> None:
    world = TwoPools()
    world.limit(8)
    for name, pod in (("gang", SELECTING), ("other", {}), ("both", {"tolerations": TOLERATED})):
        world.gang(name, 5, pod=pod)
    state = world.state()
    headroom = PoolHeadroom(state.node_pools)
    named = {
        job.key.name: [*headroom.limiting((job.roles[0].template.shape,), "cpu")]
        for job in state.jobs
    }
    assert named == {"gang": ["train"], "other": ["default"], "both": ["default", "train"]}


def test_the_pods_of_some_roles_alone_may_exceed_the_limits_of_their_pools() -> None:
    world = TwoPools()
    world.limit(96)
    for name, pods in (("ps", 1), ("worker", 5)):
        containers = [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "4"}}}]
        rules = SELECTING if name == "worker" else {}
        body = manifests.role_manifest(
            name,
            "ps=1,worker=5",
            pod={"containers": containers} | rules,
            spec={"parallelism": pods},
        )
        world.create("Job", "lab", manifests.created(body))
    world.round()
    assert world.why("mnist") == above("16 more CPU", "20")


def test_a_pool_with_its_most_nodes_adds_nothing() -> None:
    world = PooledCluster(cpu=16)
    world.pool("second", {"nodes": "1"})
    world.node("made", 4, **{contract.NODE_POOL: "second"})
    world.gang("gang", 6)
    world.round()
    assert world.why("gang") == above("16 more CPU", "20")
    world.api.patch(ObjectRef("NodePool", "", "second"), {"spec": {"limits": {"nodes": "2"}}})
    world.round()
    assert world.plan.requests


def test_pools_that_all_have_their_most_nodes_say_so() -> None:
    world = PooledCluster(cpu=None)
    world.api.patch(
        POOL, {"spec": {"limits": {"nodes": 2}}, "status": {"resources": {"nodes": "2"}}}
    )
    world.gang("gang", 1)
    world.round()
    text = "the limits of NodePools allow too few nodes; NodePools may add 0 more nodes: needs 1"
    assert world.why("gang") == (Code.NODES_NOT_PROVISIONED, text)
    world.node("free")
    world.round()
    assert world.running("gang") or world.plan.admissions


def test_a_static_pool_adds_nodes_only_up_to_its_replicas() -> None:
    """Karpenter adds these by itself, and none for pending pods."""
    world = PooledCluster(cpu=16)
    world.pool("static", {})
    target = ObjectRef("NodePool", "", "static")
    world.api.patch(target, {"spec": {"replicas": 1}})
    world.node("made", 4, **{contract.NODE_POOL: "static"})
    world.gang("gang", 6)
    world.round()
    assert not world.plan.requests
    assert world.why("gang") == above("16 more CPU", "20")
    world.api.patch(target, {"spec": {"replicas": 2}})
    world.round()
    assert world.plan.requests
