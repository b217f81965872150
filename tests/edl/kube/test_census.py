"""A census says what observing everything anew says, after whatever happened."""

import copy
import itertools
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from threading import Thread
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edl.kube import facts
from edl.kube.census import Census
from edl.kube.observe import observe
from edl.kube.shapes import Shapes
from edl.kube.store import Store
from edl.kube.watched import Stores
from edl.model import ClusterState
from edl.resources import Resources
from edl.writes import Json
from tests.edl.kube import manifests

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)
CAST = {"edl.dev/roles": "ps=1,worker=1..4"}


class World:
    """Objects of an API server, and the stores that are told of them, late or twice or never."""

    def __init__(self) -> None:
        self.stores = Stores.empty()
        self.version = 100
        self.objects: dict[tuple[str, str], Json] = {}
        self._stores: dict[str, Store[Any]] = {
            selection.kind: store for selection, store in self.stores
        }

    def write(self, kind: str, body: Json) -> bytes:
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        self.objects[kind, body["metadata"]["name"]] = body
        return msgspec.json.encode(body)

    def tell(self, kind: str, raw: bytes, *, gone: bool = False) -> None:
        store = self._stores[kind]
        store.update(store.item(raw), gone=gone)

    def delete(self, kind: str, name: str) -> None:
        body = self.objects.pop((kind, name), None)
        if body:
            raw = self.write(kind, body)
            del self.objects[kind, name]
            self.tell(kind, raw, gone=True)

    def accept(self, kind: str, body: Json) -> None:
        self.write(kind, body)
        self.stores.accept(kind, body)

    def relist(self, kind: str) -> None:
        store = self._stores[kind]
        bodies = [body for (found, _), body in self.objects.items() if found == kind]
        items = [store.item(msgspec.json.encode(body)) for body in bodies]
        store.replace({item.name: item for item in items}, self.version)


LEAVING = {"deletionTimestamp": manifests.CREATED}
OURS = {"labels": {"edl.dev/framework": "tensorflow"}}
PLACES = (
    {},
    {"node": "n1", "phase": "Running"},
    {"node": "n2", "phase": "Running", "cpu": "2"},
    {"node": "n1", "phase": "Running", "metadata": LEAVING},
    {"node": "n2", "phase": "Succeeded"},
    {"node": "unknown", "phase": "Running"},
)


def pods() -> Iterator[Json]:
    """Every pod of every owner at every stage of its life."""
    for name in ("p1", "p2", "p3"):
        yield manifests.pod(name, priority=5)
        for place in PLACES:
            yield manifests.pod(name, **place)
    for owner in ("mnist-ps", "mnist-worker", "alone", "stranger"):
        for index, again in itertools.product((0, 1), ("", "-again")):
            for place, labels in itertools.product(PLACES, ({}, OURS)):
                meta = {**place.get("metadata", {}), **labels}
                fields = {**place, "metadata": meta}
                body = manifests.job_pod(f"{owner}-{index}", index, f"{owner}{again}", **fields)
                yield body
    for job, rank, place in itertools.product(("mnist", "bare"), "01", PLACES):
        labels = {"edl.dev/framework": "tensorflow", "edl.dev/job": job, "edl.dev/role": "worker"}
        notes = {"edl.dev/rank": rank, "edl.dev/size": "2"} | CAST
        meta = {**place.get("metadata", {}), "labels": labels, "annotations": notes}
        yield manifests.pod(f"{job}-bare-{rank}", **{**place, "metadata": meta})


def jobs() -> Iterator[Json]:
    stages = (
        {},
        {"suspend": False, "parallelism": 2, "completions": 2},
        {"suspend": False, "conditions": ["Complete"]},
        {"metadata": LEAVING},
        {"pod": {"priorityClassName": "high"}},
    )
    for stage, again in itertools.product(stages, (False, True)):
        yield job("alone", "", again=again, **stage)
        for role in ("ps", "worker"):
            yield job(f"mnist-{role}", "mnist", again=again, **stage)


def job(name: str, group: str = "", *, again: bool = False, **fields: Any) -> Json:  # noqa: ANN401
    """`again`: made anew under the same name, so that other pods name it as their owner."""
    labels = {"edl.dev/framework": "tensorflow"}
    if group:
        labels |= {"edl.dev/job": group, "edl.dev/role": name.rpartition("-")[2]}
    body = manifests.job(name, labels=labels, notes=CAST if group else {}, **fields)
    body["metadata"]["uid"] = f"uid-{name}{'-again' * again}"
    return body


def others() -> Iterator[tuple[str, Json]]:
    for name, ready in itertools.product(("n0", "n1", "n2"), (True, False)):
        yield "Node", manifests.node(name, ready=ready)
    for name, value, default in itertools.product(("high", "low"), (0, 3), (True, False)):
        meta = manifests.metadata(name)
        yield "PriorityClass", {"metadata": meta, "value": value, "globalDefault": default}
    for labels in ({}, {"edl.dev/kubexec": "enabled"}, {"edl.dev/injection": "enabled"}):
        notes = {"edl.dev/gpu-budget": "3"} if "edl.dev/injection" in labels else {}
        yield "Namespace", {"metadata": manifests.metadata("web", labels=labels, annotations=notes)}
    names = ("mnist", "alone", "bare")
    for name, owner in itertools.product(names, ("", *names)):
        labels = {"edl.dev/job": owner} if owner else {}
        body = {"metadata": manifests.metadata(name, "web", labels=labels)}
        yield "Service", body
        if owner:
            yield "PodDisruptionBudget", copy.deepcopy(body)
    for hard, used in (("9", "2"), ("9", "5"), ("4", "4")):
        status = {"hard": {"requests.cpu": hard}, "used": {"requests.cpu": used}}
        meta = manifests.metadata("q", "web")
        yield "ResourceQuota", {"metadata": meta, "spec": status, "status": status}
    for cpu in ("1", "2"):
        limit = {"type": "Container", "defaultRequest": {"cpu": cpu}, "min": {"cpu": cpu}}
        yield (
            "LimitRange",
            {"metadata": manifests.metadata("r", "web"), "spec": {"limits": [limit]}},
        )


BODIES: list[tuple[str, Json]] = [
    *(("Pod", body) for body in pods()),
    *(("Job", body) for body in jobs()),
    *others(),
]
KINDS = tuple(dict.fromkeys(kind for kind, _ in BODIES))
DEEDS = ("tell", "tell", "tell", "accept", "late", "delete", "relist")


class Deed(NamedTuple):
    """One thing of all that can happen between an API server and us; `state`: and we look."""

    what: str
    body: tuple[str, Json]
    state: bool


def deeds() -> st.SearchStrategy[list[Deed]]:
    few = [pair for pair in BODIES if pair[0] != "Pod"]
    bodies = st.sampled_from(BODIES) | st.sampled_from(few)
    return st.lists(st.builds(Deed, st.sampled_from(DEEDS), bodies, st.booleans()), max_size=40)


def do(world: World, deed: Deed, late: list[tuple[str, bytes]]) -> None:
    kind, body = deed.body
    match deed.what:
        case "tell":
            world.tell(kind, world.write(kind, copy.deepcopy(body)))
        case "accept":
            world.accept(kind, copy.deepcopy(body))
        case "late":
            late.append((kind, world.write(kind, copy.deepcopy(body))))
        case "delete":
            world.delete(kind, body["metadata"]["name"])
        case _:
            world.relist(kind)
            for told in late:
                world.tell(*told)
            late.clear()


@settings(max_examples=300, deadline=None)
@given(deeds())
def test_a_census_is_what_observing_everything_says(done: list[Deed]) -> None:
    world = World()
    census = Census(world.stores)
    late: list[tuple[str, bytes]] = []
    before = ClusterState(NOW, (), ())
    for deed in done:
        do(world, deed, late)
        if deed.state:
            state = census.state(NOW)
            assert state == observe(world.stores.snapshot(), NOW)
            assert_kept(before, state)
            before = state


def assert_kept(before: ClusterState, after: ClusterState) -> None:
    """What is as it was is the same object."""
    was = {node.name: node for node in before.nodes}
    for node in after.nodes:
        assert node is was.get(node.name) or node != was.get(node.name)
    known = {job.key: job for job in before.jobs}
    for job in after.jobs:
        assert job is known.get(job.key) or job != known.get(job.key)
    if after.nodes == before.nodes:
        assert after.nodes is before.nodes


@pytest.fixture
def world() -> World:
    world = World()
    for name in ("n1", "n2"):
        world.tell("Node", world.write("Node", manifests.node(name)))
    for role in ("ps", "worker"):
        world.tell("Job", world.write("Job", job(f"mnist-{role}", "mnist")))
    return world


def test_a_pod_touches_its_node_and_its_job_alone(world: World) -> None:
    world.tell("Job", world.write("Job", job("alone")))
    census = Census(world.stores)
    before = census.state(NOW)
    pod = manifests.job_pod("mnist-ps-0", 0, "mnist-ps", node="n1", phase="Running")
    world.tell("Pod", world.write("Pod", pod))
    after = census.state(NOW)
    assert [one is two for one, two in zip(after.nodes, before.nodes, strict=True)] == [False, True]
    assert [one is two for one, two in zip(after.jobs, before.jobs, strict=True)] == [True, False]
    assert census.state(NOW).jobs is after.jobs


def test_pods_that_come_before_their_job_ask_until_it_is_there(world: World) -> None:
    census = Census(world.stores)
    world.tell("Pod", world.write("Pod", manifests.job_pod("alone-0", 0, "alone")))
    assert [demand.example for demand in census.state(NOW).demands] == ["web/alone-0"]
    world.tell("Job", world.write("Job", job("alone")))
    state = census.state(NOW)
    assert state.demands == ()
    assert [pod.name for pod in state.jobs[0].roles[0].pods] == ["alone-0"]
    world.delete("Job", "alone")
    assert [demand.example for demand in census.state(NOW).demands] == ["web/alone-0"]


def test_the_first_who_asks_is_the_example_also_after_others_have_gone(world: World) -> None:
    census = Census(world.stores)
    for name in "abcdefghijklmnopqrstuvwxyz":
        world.tell("Pod", world.write("Pod", manifests.pod(name)))
    for name in "bcdefghijklmnopqrstuvwx":
        world.delete("Pod", name)
    (demand,) = census.state(NOW).demands
    assert (demand.count, demand.example) == (3, "web/a")
    world.delete("Pod", "a")
    (demand,) = census.state(NOW).demands
    assert (demand.count, demand.example) == (2, "web/y")


def test_a_list_that_is_read_again_makes_nothing_anew(world: World) -> None:
    census = Census(world.stores)
    before = census.state(NOW)
    for kind in KINDS:
        world.relist(kind)
    after = census.state(NOW)
    assert after.nodes is before.nodes
    assert after.jobs is before.jobs


def test_after_a_failure_everything_is_looked_at_again(world: World) -> None:
    shapes = Shapes()
    pods: Store[Any] = Store(lambda raw: "odd" if b"odd" in raw else facts.pod(raw, shapes))
    stores = replace(world.stores, pods=pods)
    census = Census(stores)
    census.state(NOW)
    for name in ("fine", "odd"):
        pod = manifests.pod(name, node="n1", phase="Running")
        pods.update(pods.item(world.write("Pod", pod)))
    for _ in range(2):
        with pytest.raises(AttributeError):
            census.state(NOW)
    pods.update(pods.item(world.write("Pod", pod)), gone=True)
    state = census.state(NOW)
    assert state.nodes[0].used == Resources.of({"cpu": 1000, "pods": 1})
    assert state == observe(stores.snapshot(), NOW)


def test_stores_may_be_fed_while_the_census_reads(world: World) -> None:
    census = Census(world.stores)
    events = [
        world.write("Pod", manifests.pod(f"p{number % 7}", node=f"n{number % 2 + 1}"))
        for number in range(500)
    ]
    feeders = [Thread(target=lambda: [world.tell("Pod", raw) for raw in events]) for _ in "ab"]
    for feeder in feeders:
        feeder.start()
    while any(feeder.is_alive() for feeder in feeders):
        census.state(NOW)
    for feeder in feeders:
        feeder.join()
    assert census.state(NOW) == observe(world.stores.snapshot(), NOW)
