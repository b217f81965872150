"""Devices are resources: nodes have those of their slices, claims hold them, pods ask for them."""

import copy
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from edl.kube.cache.watched_kinds import DEVICES
from edl.kube.dra.device_kinds import resource
from edl.kube.dra.dra_facts import DeviceKind
from edl.kube.state.incremental_state import IncrementalState
from edl.model import (
    Caveat,
    CaveatCode,
    ClusterState,
    DeviceTemplate,
    Node,
    ObjectRef,
    Team,
    Teams,
    Toleration,
)
from edl.quantities import DEVICE_CLASS
from edl.writes import Json
from tests import devices
from tests.devices import DRIVER, asking, claiming, gpus, resource_slice
from tests.edl.kube import manifests
from tests.edl.kube.whole_state import whole_state
from tests.edl.kube.world import World, job
from tests.reasons import problem_of

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)
GPU = DEVICE_CLASS + DRIVER
A100 = 'device.attributes["gpu.example.com"].model == "a100"'
BIG = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0'
ODD = 'device.attributes["gpu.example.com"].model.matches("a.*")'


TEAMS = Teams.of([Team("a", namespaces=("web",))])


def of(*selectors: str) -> str:
    """The resource of devices that these select besides the class."""
    return resource(DeviceKind(DRIVER, selectors))


class Cluster:
    """A cluster with one DeviceClass, and what an incremental state sees of it."""

    def __init__(self, *bodies: Json) -> None:
        self._world = World()
        self._incremental = IncrementalState(self._world.stores, lambda: TEAMS)
        for kind in DEVICES:
            self._world.relist(kind)
        self.tell(devices.device_class(), *bodies)

    def tell(self, *bodies: Json, kind: str = "") -> None:
        for body in bodies:
            found = kind or body["kind"]
            self._world.tell(found, self._world.write(found, copy.deepcopy(body)))

    def node(self, name: str, *found: Json, **more: str) -> None:
        body = manifests.node(name)
        body["status"]["allocatable"] |= more
        self.tell(body, kind="Node")
        if found:
            self.tell(resource_slice(name, list(found)))

    def pod(self, name: str, spec: Json | None = None, **more: str) -> None:
        self.tell(manifests.pod(name, spec=spec or {}, **more), kind="Pod")

    def gone(self, kind: str, name: str) -> None:
        self._world.delete(kind, name)

    @property
    def state(self) -> ClusterState:
        state = self._incremental.state(NOW)
        assert state == whole_state(self._world.stores, NOW, TEAMS)
        return state

    def on(self, name: str) -> Node:
        return next(node for node in self.state.nodes if node.name == name)

    def figures(self, name: str, resource: str = GPU) -> tuple[int, int, int]:
        """What a node has, what is used, and what of that comes back."""
        node = self.on(name)
        return node.allocatable.get(resource), node.used.get(resource), node.releasing.get(resource)

    def asked(self) -> dict[str, int]:
        """What the one pod that waits counts as, of devices."""
        (demand,) = self.state.demands
        return {n: amount for n, amount in demand.shape.counted if n not in ("cpu", "pods")}

    def requested(self) -> dict[str, int]:
        """The same without other kinds and names of the same devices."""
        (demand,) = self.state.demands
        return {n: amount for n, amount in demand.shape.requests if n not in ("cpu", "pods")}


# -- nodes -----------------------------------------------------------------------------------------


def test_a_node_has_the_devices_of_its_slices_that_match_a_class() -> None:
    cluster = Cluster()
    cluster.node("n1", *gpus(4))
    cluster.node("n2")
    assert cluster.figures("n1") == (4, 0, 0)
    assert cluster.figures("n2") == (0, 0, 0)
    cluster.tell(devices.device_class("big", BIG))
    cluster.tell(resource_slice("n1", [*gpus(2), gpus(3, "80Gi")[2]]))
    assert cluster.figures("n1") == (3, 0, 0)
    assert cluster.figures("n1", DEVICE_CLASS + "big") == (1, 0, 0)
    cluster.gone("ResourceSlice", f"n1-{DRIVER}")
    assert cluster.figures("n1") == (0, 0, 0)


def test_a_pool_counts_once_all_slices_of_its_newest_generation_are_there() -> None:
    cluster = Cluster()
    cluster.node("n1", *gpus(2))
    newer = resource_slice("n1", gpus(3))
    newer["spec"]["pool"] = {"name": "n1", "generation": 2, "resourceSliceCount": 2}
    newer["metadata"]["name"] = "second"
    cluster.tell(newer)
    assert cluster.figures("n1") == (0, 0, 0)
    last = copy.deepcopy(newer)
    last["metadata"]["name"] = "third"
    last["spec"]["devices"] = [{"name": "gpu-9"}]
    cluster.tell(last)
    assert cluster.figures("n1") == (4, 0, 0)


def test_devices_that_several_nodes_can_use_are_offered_to_each() -> None:
    cluster = Cluster()
    cluster.node("n1")
    cluster.node("n2")
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    pool = resource_slice("n1", gpus(2), nodeSelector={"nodeSelectorTerms": terms})
    del pool["spec"]["nodeName"]
    cluster.tell(pool)
    assert cluster.figures("n1") == cluster.figures("n2") == (2, 0, 0)
    several: list[Json] = [{"name": "d1", "nodeName": "n2"}, {"name": "d2", "allNodes": True}]
    pool = resource_slice("n1", several, perDeviceNodeSelection=True)
    del pool["spec"]["nodeName"]
    cluster.tell(pool)
    assert cluster.figures("n1") == (1, 0, 0)
    assert cluster.figures("n2") == (2, 0, 0)


def test_a_tainted_device_counts_for_those_that_tolerate_it() -> None:
    broken = gpus(2)
    broken[0]["taints"] = [{"key": "broken", "effect": "NoSchedule"}]
    tolerating = asking(1, tolerations=[{"key": "broken", "operator": "Exists"}])
    cluster = Cluster(devices.template("any", tolerating))
    cluster.node("n1", *broken)
    assert cluster.figures("n1") == (1, 0, 0)
    tolerant = DeviceKind(DRIVER, tolerations=(Toleration("broken", "Exists", "", ""),))
    assert cluster.figures("n1", resource(tolerant)) == (2, 0, 0)


def test_parts_of_a_device_take_what_the_others_no_longer_have() -> None:
    """A GPU, or up to seven slices of it; twice on the node."""
    kinds = {kind: f'device.attributes["{DRIVER}"].type == "{kind}"' for kind in ("gpu", "slice")}
    cluster = Cluster(*(devices.device_class(kind, one) for kind, one in kinds.items()))
    found: list[Json] = []
    for gpu in "ab":
        for name, kind, takes in [("", "gpu", "7"), *((f"-{n}", "slice", "1") for n in range(9))]:
            taken = {"counterSet": gpu, "counters": {"slices": {"value": takes}}}
            of = devices.attributes(type=kind)
            found.append({"name": gpu + name, "attributes": of, "consumesCounters": [taken]})
    counters = {"slices": {"value": "7"}}
    shared = [{"name": gpu, "counters": counters} for gpu in "ab"]
    cluster.node("n1")
    cluster.tell(resource_slice("n1", found, sharedCounters=shared))
    assert cluster.figures("n1", DEVICE_CLASS + "gpu") == (2, 0, 0)
    assert cluster.figures("n1", DEVICE_CLASS + "slice") == (14, 0, 0)
    cluster.pod("p1", claiming("part"), node="n1", phase="Running")
    one = devices.claim("p1-part", asking(1, of="slice"), owner="p1")
    cluster.tell(devices.allocated(one, "n1", "a-3", pods=("p1",)))
    assert cluster.figures("n1", DEVICE_CLASS + "gpu") == (2, 1, 0)
    assert cluster.figures("n1", DEVICE_CLASS + "slice") == (14, 1, 0)
    cluster.tell(devices.allocated(devices.claim("all", asking(1)), "n1", "b", pods=("p1",)))
    assert cluster.figures("n1", DEVICE_CLASS + "gpu") == (2, 2, 0)
    assert cluster.figures("n1", DEVICE_CLASS + "slice") == (14, 8, 0)
    cluster.gone("Pod", "p1")
    assert cluster.figures("n1", DEVICE_CLASS + "gpu") == (2, 2, 2)
    assert cluster.figures("n1", DEVICE_CLASS + "slice") == (14, 8, 8)


# -- claims ----------------------------------------------------------------------------------------


def test_an_allocated_claim_holds_its_devices_until_its_pod_has_ended() -> None:
    cluster = Cluster(devices.template("gpu", asking(2)))
    cluster.node("n1", *gpus(4))
    cluster.pod("p1", claiming("gpu"), node="n1", phase="Running")
    owned = devices.claim("p1-gpu", asking(2), owner="p1")
    cluster.tell(devices.allocated(owned, "n1", "gpu-0", "gpu-1", pods=("p1",)))
    assert cluster.figures("n1") == (4, 2, 0)
    cluster.pod("p1", claiming("gpu"), node="n1", phase="Succeeded")
    assert cluster.figures("n1") == (4, 2, 2)
    cluster.tell(owned)
    assert cluster.figures("n1") == (4, 0, 0)


def test_a_bound_pod_holds_what_it_asked_for_until_its_claim_is_heard_of() -> None:
    """Two watches: the pod may be seen on its node before its claim is seen allocated."""
    cluster = Cluster(devices.template("gpu", asking(2)))
    cluster.tell(devices.device_class(extended="example.com/gpu"))
    cluster.node("n1", *gpus(4))
    owned = devices.claim("p1-gpu", asking(2), owner="p1")
    cluster.tell(owned)
    cluster.pod("p1", claiming("gpu"), node="n1", phase="Running")
    assert cluster.figures("n1") == (4, 2, 0)
    cluster.tell(devices.allocated(owned, "n1", "gpu-0", pods=("p1",)))
    assert cluster.figures("n1") == (4, 1, 0)
    wants = {"containers": [{"name": "main", "resources": {"requests": {"example.com/gpu": "1"}}}]}
    cluster.pod("p2", wants, node="n1", phase="Running")
    assert cluster.figures("n1") == (4, 2, 0)
    assert cluster.figures("n1", "example.com/gpu") == (4, 2, 0)
    cluster.gone("Pod", "p2")
    cluster.gone("Pod", "p1")
    assert cluster.figures("n1") == (4, 1, 1)


def test_devices_of_a_pod_that_is_yet_to_be_bound_are_asked_for_once() -> None:
    """kube-scheduler allocates the claim, and binds its pod a moment later."""
    cluster = Cluster(devices.template("one", asking(1)))
    cluster.node("n1", *gpus(2))
    cluster.pod("late", claiming("one"), phase="Pending")
    mine = devices.claim("late-c0", asking(1), owner="late")
    cluster.tell(devices.allocated(mine, "n1", "gpu-0", pods=("late",)))
    assert (cluster.figures("n1"), cluster.asked()) == ((2, 0, 0), {GPU: 1})
    cluster.pod("late", claiming("one"), phase="Pending", node="n1")
    assert (cluster.figures("n1"), cluster.state.demands) == ((2, 1, 0), ())
    cluster.gone("Pod", "late")
    assert cluster.figures("n1") == (2, 1, 1)


def test_devices_for_administrators_are_not_taken() -> None:
    cluster = Cluster()
    cluster.node("n1", *gpus(1))
    found = devices.allocated(devices.claim("look", asking(1)), "n1", "gpu-0", pods=("p",))
    found["status"]["allocation"]["devices"]["results"][0]["adminAccess"] = True
    cluster.tell(found)
    assert cluster.figures("n1") == (1, 0, 0)


# -- what pods ask for -----------------------------------------------------------------------------


def test_a_pod_asks_for_the_devices_of_its_templates_as_soon_as_they_are_there() -> None:
    """Before, and without the class, no node takes it."""
    cluster = Cluster()
    cluster.node("n1", *gpus(4))
    cluster.pod("p1", claiming("gpu"))
    assert cluster.state.demands == ()
    cluster.tell(devices.template("gpu", asking(2), asking(1)))
    assert cluster.asked() == {GPU: 3}
    cluster.gone("DeviceClass", DRIVER)
    assert cluster.state.demands == ()


@pytest.mark.parametrize(
    ("wanted", "asked"),
    [
        (asking(2, A100), {of(A100): 2, GPU: 2}),
        (asking(2, ODD), {of(ODD): 2, GPU: 2}),
        (asking(0), {GPU: 4}),
        (asking(1, adminAccess=True), {}),
        (devices.first_available(asking(1, BIG), asking(2)), {GPU: 2}),
        (devices.first_available(asking(9), asking(8)), {GPU: 9}),
    ],
)
def test_what_a_request_asks_for(wanted: Json, asked: dict[str, int]) -> None:
    """A device of a narrow kind is one of each wider kind, too."""
    cluster = Cluster(devices.template("gpu", wanted))
    cluster.node("n1", *gpus(4))
    cluster.node("n2", *gpus(2, model="h100"))
    cluster.pod("p1", claiming("gpu"))
    assert cluster.asked() == asked


def test_a_named_claim_asks_for_its_devices_until_it_is_allocated() -> None:
    cluster = Cluster()
    cluster.node("n1", *gpus(4))
    cluster.pod("p1", claiming(claims=("own",)))
    assert cluster.state.demands == ()
    own = devices.claim("own", asking(2))
    cluster.tell(own)
    assert cluster.asked() == {GPU: 2}
    cluster.tell(devices.allocated(own, "n1", "gpu-0", "gpu-1"))
    assert cluster.asked() == {}
    (demand,) = cluster.state.demands  # type: ignore[misc]  # empty before, as asserted
    (term,) = demand.shape.affinity
    assert [(one.key, one.values) for one in term] == [("metadata.name", ("n1",))]


def test_pods_that_share_a_claim_ask_for_its_devices_once() -> None:
    cluster = Cluster(devices.claim("own", asking(2)))
    cluster.pod("p1", claiming(claims=("own",)))
    cluster.pod("p2", claiming(claims=("own",)))
    found = [(one.count, one.shape.requests.get(GPU)) for one in cluster.state.demands]
    assert sorted(found) == [(1, 0), (1, 2)]


def test_an_extended_resource_is_the_name_of_its_class() -> None:
    """Where no device plugin offers it besides: the devices are counted once."""
    cluster = Cluster(devices.template("gpu", asking(1)))
    cluster.tell(devices.device_class(extended="example.com/gpu"))
    cluster.node("n1", *gpus(4))
    cluster.pod("p1", claiming("gpu"))
    assert cluster.requested() == {"example.com/gpu": 1}
    cluster.node("n2", **{"example.com/gpu": "8"})
    assert cluster.requested() == {GPU: 1}
    cluster.gone("Node", "n2")
    assert cluster.requested() == {"example.com/gpu": 1}
    assert cluster.asked() == {GPU: 1, "example.com/gpu": 1}


def test_a_request_is_for_each_device_once() -> None:
    """Other classes and selectors that choose the same devices add nothing to the request."""
    cluster = Cluster(devices.template("gpu", asking(2)))
    cluster.tell(devices.device_class(extended="example.com/gpu"))
    cluster.tell(devices.device_class("big", BIG))
    cluster.node("n1", *gpus(4, "80Gi"))
    cluster.pod("p1", claiming("gpu"))
    cluster.tell(devices.template("all", asking(0, BIG), namespace="other"))
    assert cluster.requested() == {"example.com/gpu": 2}
    assert cluster.asked() == {"example.com/gpu": 2, GPU: 2, DEVICE_CLASS + "big": 2, of(BIG): 2}
    cluster.tell(devices.template("gpu", asking(2), asking(1, of="big")))
    assert cluster.requested() == {"example.com/gpu": 3, DEVICE_CLASS + "big": 3}


def test_pods_hold_what_their_devices_count_as() -> None:
    cluster = Cluster(devices.device_class("big", BIG))
    small, large = gpus(2), gpus(4, "80Gi")[2:]
    cluster.node("n1", *small, *large)
    for name, device in (("p1", "gpu-0"), ("p2", "gpu-3")):
        cluster.pod(name, claiming("gpu"), node="n1", phase="Running")
        own = devices.claim(f"{name}-gpu", asking(1), owner=name)
        cluster.tell(devices.allocated(own, "n1", device, pods=(name,)))
    shared = devices.allocated(devices.claim("shared", asking(1)), "n1", "gpu-2", pods=("p1", "p2"))
    cluster.tell(shared)
    found = cluster.on("n1").claimed
    assert found.kinds == ((DEVICE_CLASS + "big", GPU), (GPU,))
    held = {name: dict(amounts) for (_, name), amounts in found.held.items()}
    assert held == {"p1": {GPU: 1}, "p2": {GPU: 1, DEVICE_CLASS + "big": 1}}
    assert cluster.figures("n1", DEVICE_CLASS + "big") == (2, 2, 0)
    cluster.gone("Pod", "p2")
    assert cluster.on("n1").claimed.held.keys() == {("web", "p1")}


def test_a_pod_whose_claim_is_not_seen_may_hold_any_device() -> None:
    cluster = Cluster(devices.device_class("big", BIG), devices.template("gpu", asking(1)))
    cluster.node("n1", *gpus(2), *gpus(4, "80Gi")[2:])
    cluster.node("n2", *gpus(2))
    for node in ("n1", "n2"):
        cluster.pod(f"p-{node}", claiming("gpu"), node=node, phase="Running")
    assert cluster.figures("n1") == (4, 1, 0)
    assert cluster.figures("n1", DEVICE_CLASS + "big") == (2, 1, 0)
    assert cluster.figures("n2", DEVICE_CLASS + "big") == (0, 0, 0)
    assert not cluster.on("n1").claimed.held


def test_an_extended_resource_of_a_class_is_one_more_name_for_its_devices() -> None:
    """On nodes where a device plugin counts it, it is not the driver's."""
    cluster = Cluster(devices.template("gpu", asking(1)))
    cluster.tell(devices.device_class(extended="example.com/gpu"))
    cluster.node("n1", *gpus(4))
    cluster.node("n2", **{"example.com/gpu": "8"})
    assert cluster.figures("n1", "example.com/gpu") == (4, 0, 0)
    assert cluster.figures("n2", "example.com/gpu") == (8, 0, 0)
    cluster.pod("p1", claiming("gpu"))
    assert cluster.asked() == {GPU: 1, "example.com/gpu": 1}
    cluster.gone("Pod", "p1")
    limits = {"requests": {"cpu": "1", GPU: "2"}}
    cluster.pod("p2", {"containers": [{"name": "main", "resources": limits}]})
    assert cluster.asked() == {GPU: 2, "example.com/gpu": 2}


def test_a_pod_with_an_extended_resource_holds_the_devices_of_its_claim() -> None:
    cluster = Cluster()
    cluster.tell(devices.device_class(extended="example.com/gpu"))
    cluster.node("n1", *gpus(4))
    wants = {"containers": [{"name": "main", "resources": {"requests": {"example.com/gpu": "1"}}}]}
    cluster.pod("p1", wants, node="n1", phase="Running")
    made = devices.claim("p1-extended-resources-x", asking(1), owner="p1")
    cluster.tell(devices.allocated(made, "n1", "gpu-3", pods=("p1",)))
    assert cluster.figures("n1", "example.com/gpu") == (4, 1, 0)
    assert cluster.figures("n1") == (4, 1, 0)


# -- training jobs ---------------------------------------------------------------------------------


def role(
    cluster: Cluster,
    **fields: Any,  # noqa: ANN401 - JSON
) -> tuple[dict[str, int], tuple[Caveat, ...], str]:
    cluster.tell(job("alone", **fields), kind="Job")
    (found,) = cluster.state.jobs
    (only,) = found.roles
    return dict(only.template.shape.counted), only.template.caveats, problem_of(found)


def test_a_training_job_asks_for_the_devices_of_its_templates() -> None:
    cluster = Cluster(devices.template("gpu", asking(2)))
    requests, caveats, problem = role(cluster, pod=claiming("gpu"))
    assert (requests[GPU], caveats, problem) == (2, (), "")
    cluster.tell(devices.template("gpu", asking(1, ODD)))
    cluster.node("n1", *gpus(4))
    requests, caveats, problem = role(cluster, pod=claiming("gpu"))
    assert (requests[GPU], caveats) == (1, (Caveat(CaveatCode.CLASS_ONLY, ODD),))


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            claiming("gpu"),
            (
                'ResourceClaimTemplate "gpu" does not exist: create it, or recreate the Jobs with '
                "another"
            ),
        ),
        (
            claiming(claims=("own",)),
            'ResourceClaim "own" does not exist: create it, or recreate the Jobs with another',
        ),
        (
            claiming("other"),
            'DeviceClass "other" does not exist: create it, or recreate the Jobs with another',
        ),
    ],
)
def test_a_training_job_says_what_its_claims_lack(spec: Json, problem: str) -> None:
    cluster = Cluster(devices.template("other", asking(1, of="other")))
    assert role(cluster, pod=spec)[2] == problem


def test_devices_of_a_missing_class_count_among_what_a_training_job_requests() -> None:
    cluster = Cluster(devices.template("other", asking(2, of="other")))
    assert role(cluster, pod=claiming("other"))[0][f"{DEVICE_CLASS}other"] == 2


def classed(**pod: Json) -> Json:
    """A Job for two GPUs of the class, as the webhook completes it."""
    body = job("net", pod=pod)
    body["metadata"]["labels"]["edl.dev/gpu"] = "2"
    body["metadata"]["annotations"]["edl.dev/gpu-class"] = DRIVER
    return body


def test_gpus_of_a_class_are_planned_before_their_template_is_made() -> None:
    cluster = Cluster()
    name = f"net-gpus-2.{DRIVER}"
    cluster.tell(classed(**claiming(name)), kind="Job")
    (found,) = cluster.state.jobs
    assert (found.roles[0].template.shape.requests.get(GPU), problem_of(found)) == (2, "")
    assert found.roles[0].template.device_template == DeviceTemplate(name, DRIVER, 2)
    assert not found.existing_dependents
    cluster.tell(devices.template(name, asking(2)))
    (found,) = cluster.state.jobs
    assert list(found.existing_dependents) == [ObjectRef("ResourceClaimTemplate", "web", name)]


def test_a_job_with_dropped_claims_does_not_start_without_its_gpus() -> None:
    cluster = Cluster()
    cluster.tell(classed(), kind="Job")
    (found,) = cluster.state.jobs
    assert problem_of(found).startswith("the API server has dropped the ResourceClaims of its pods")


def test_a_slice_that_cannot_be_decoded_hides_no_other() -> None:
    broken = resource_slice("n2", gpus(1))
    broken["spec"]["devices"][0]["capacity"] = {"memory": {"value": 80}}
    cluster = Cluster(broken)
    cluster.node("n1", *gpus(4))
    assert cluster.figures("n1") == (4, 0, 0)


def test_where_devices_are_not_served_claims_mean_nothing() -> None:
    cluster = Cluster(devices.template("gpu", asking(2)))
    cluster.node("n1", *gpus(4))
    requests, _, _ = role(cluster, pod=claiming("gpu"))
    assert requests[GPU] == 2
    cluster._world.stores.slices.mark_absent()  # noqa: SLF001
    (found,) = cluster.state.jobs
    assert found.roles[0].template.shape.requests.get(GPU) == 0
    assert cluster.figures("n1") == (0, 0, 0)


# -- kept, not rebuilt -----------------------------------------------------------------------------


def test_devices_that_are_served_later_count_on_nodes_and_for_pods_that_were_there_before() -> None:
    world = World()
    incremental = IncrementalState(world.stores)
    spec = claiming("gpu")
    found = manifests.pod("p1", node="n1", phase="Running", spec=spec)
    for kind, body in (("Node", manifests.node("n1")), ("Pod", found)):
        world.tell(kind, world.write(kind, body))
    assert incremental.state(NOW).nodes[0].allocatable.get(GPU) == 0
    for kind in DEVICES:
        world.relist(kind)
    for body in (
        devices.device_class(),
        resource_slice("n1", gpus(4)),
        devices.template("gpu", asking(2)),
    ):
        world.tell(body["kind"], world.write(body["kind"], body))
    (node,) = incremental.state(NOW).nodes
    assert (node.allocatable.get(GPU), node.used.get(GPU)) == (4, 2)


def bodies() -> Iterator[Json]:
    """Versions of a few objects."""
    for count in (1, 2, 4):
        yield resource_slice("n1", gpus(count))
    other = resource_slice("n2", gpus(2, "80Gi", model="h100"))
    yield other
    moved = copy.deepcopy(other)
    moved["spec"]["nodeName"] = "n1"
    yield moved
    everywhere = copy.deepcopy(other)
    del everywhere["spec"]["nodeName"]
    everywhere["spec"]["allNodes"] = True
    yield everywhere
    for extended in ("", "example.com/gpu"):
        yield devices.device_class(extended=extended)
    yield devices.device_class("big", BIG)
    for name, count in (("gpu", 1), ("gpu", 2), ("other", 1)):
        yield devices.template(name, asking(count, A100))
        yield devices.template(name, asking(count, of="big"))
    for name in ("own", "p1-gpu"):
        made = devices.claim(name, asking(1), owner="p1" if "p1" in name else "")
        yield made
        yield devices.allocated(made, "n1", "gpu-0", pods=("p1",))
        yield devices.allocated(made, "n2", "gpu-0", "gpu-1", pods=("p1", "p2"))
    for name in ("p1", "p2"):
        for place in ({}, {"node": "n1", "phase": "Running"}, {"node": "n1", "phase": "Failed"}):
            body = manifests.pod(name, spec=claiming("gpu", claims=("own",)), **place)
            yield body | {"kind": "Pod"}
    for offered in ({}, {"example.com/gpu": "2"}):
        body = manifests.node("n2")
        body["status"]["allocatable"] |= offered
        yield body | {"kind": "Node"}
    for name in ("alone", "mnist"):
        yield job(name, pod=claiming("gpu")) | {"kind": "Job"}


@pytest.mark.parametrize("seed", range(40))
def test_an_incremental_state_is_what_observing_all_devices_finds(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    cluster = Cluster()
    cluster.node("n1")
    cluster.node("n2", **{"example.com/gpu": "2"})
    choices = list(bodies())
    for _ in range(60):
        body = chance.choice(choices)
        if chance.random() < 0.25:
            cluster.gone(body["kind"], body["metadata"]["name"])
        else:
            cluster.tell(body)
        if chance.random() < 0.5:
            assert cluster.state.nodes is not None
