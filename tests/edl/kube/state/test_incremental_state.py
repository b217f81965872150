"""An incremental state equals what observing everything anew says, after whatever happened."""

import copy
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edl import contract
from edl.kube.cache.store import Store
from edl.kube.decode import object_facts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.state.clock_skew import LONG_AGO
from edl.kube.state.incremental_state import IncrementalState
from edl.model import ClusterState, Requirement, Team, Teams
from edl.quantities import Resources
from edl.writes import Json
from tests.edl.kube import manifests
from tests.edl.kube.whole_state import whole_state
from tests.edl.kube.world import AN_HOUR_LATER, BODIES, REQUIRED, World, apart_from, job

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)


TEAMS = (
    Teams(),
    Teams.of([Team("a", namespaces=("web",))]),
    Teams.of(
        [Team("b", namespaces=("w*",)), Team("c", selector=(Requirement("k", "Exists", ()),))]
    ),
)
KINDS = tuple(dict.fromkeys(kind for kind, _ in BODIES))
DEEDS = ("tell", "tell", "tell", "accept", "late", "delete", "relist")


class Deed(NamedTuple):
    """One thing of all that can happen between an API server and us; `seen`: when we look."""

    what: str
    body: tuple[str, Json]
    seen: datetime | None


def deeds() -> st.SearchStrategy[list[Deed]]:
    few = [pair for pair in BODIES if pair[0] != "Pod"]
    bodies = st.sampled_from(BODIES) | st.sampled_from(few)
    seen = st.sampled_from((None, None, None, NOW, NOW, NOW + timedelta(hours=2)))
    return st.lists(st.builds(Deed, st.sampled_from(DEEDS), bodies, seen), max_size=40)


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


@pytest.mark.laws
@settings(max_examples=300)
@given(deeds(), st.lists(st.sampled_from(TEAMS), min_size=1, max_size=5))
def test_an_incremental_state_is_what_observing_everything_finds(
    done: list[Deed], teams: list[Teams]
) -> None:
    world = World()
    configured = [*teams]
    incremental = IncrementalState(world.stores, lambda: configured[0])
    late: list[tuple[str, bytes]] = []
    before = ClusterState(NOW, (), ())
    for deed in done:
        do(world, deed, late)
        if deed.seen:
            configured.append(configured.pop(0))
            state = incremental.state(deed.seen)
            assert state == whole_state(world.stores, deed.seen, configured[0])
            assert_kept(before, state)
            before = state


def assert_kept(before: ClusterState, after: ClusterState) -> None:
    """What is as it was is the same object, unless a time of a wrong clock is corrected in it."""
    was = {node.name: node for node in before.nodes}
    for node in after.nodes:
        assert node is was.get(node.name) or node != was.get(node.name)
    known = {one.key: one for one in before.jobs}
    corrected = after.observed_at - LONG_AGO
    for one in after.jobs:
        if all(role.record.resized_at != corrected for role in one.roles):
            assert one is known.get(one.key) or one != known.get(one.key)
    if after.nodes == before.nodes:
        assert after.nodes is before.nodes


def test_a_job_that_others_keep_away_from_stays_the_same_object(world: World) -> None:
    world.tell("Job", world.write("Job", job("alone")))
    spec = {"affinity": {"podAntiAffinity": {REQUIRED: [apart_from("alone")]}}}
    foe = manifests.pod("p1", node="n1", phase="Running", spec=spec)
    world.tell("Pod", world.write("Pod", foe))
    incremental = IncrementalState(world.stores)
    before = incremental.state(NOW)
    assert before.jobs[0].roles[0].template.shape.constraints is not None
    assert [found.node for found in before.foreign_pods] == ["n1"]
    world.tell("Pod", world.write("Pod", manifests.pod("p2", node="n2", phase="Running")))
    after = incremental.state(NOW)
    assert all(new is old for new, old in zip(after.jobs, before.jobs, strict=True))
    assert after == whole_state(world.stores, NOW)


def test_another_pods_rule_leaves_the_jobs_that_it_does_not_speak_of(world: World) -> None:
    world.tell("Job", world.write("Job", job("alone")))
    incremental = IncrementalState(world.stores)
    for name, app in (("p1", "alone"), ("p2", "web")):
        spec = {"affinity": {"podAntiAffinity": {REQUIRED: [apart_from(app)]}}}
        before = incremental.state(NOW)
        world.tell("Pod", world.write("Pod", manifests.pod(name, node="n1", spec=spec)))
    after = incremental.state(NOW)
    assert after.jobs[0].roles[0].template.shape.constraints is not None
    assert all(new is old for new, old in zip(after.jobs, before.jobs, strict=True))


@pytest.fixture
def world() -> World:
    world = World()
    for name in ("n1", "n2"):
        world.tell("Node", world.write("Node", manifests.node(name)))
    for role in ("ps", "worker"):
        world.tell("Job", world.write("Job", job(f"mnist-{role}", "mnist")))
    return world


def test_a_time_that_a_wrong_clock_wrote_counts_until_it_has_come(world: World) -> None:
    incremental = IncrementalState(world.stores)
    for name, notes in (("a", {contract.RESIZED_AT: AN_HOUR_LATER}), ("b", {})):
        world.tell("Job", world.write("Job", job(name, notes=notes)))
    hours = [0, 2, 0]
    for hour in hours:
        now = NOW + timedelta(hours=hour)
        state = incremental.state(now)
        assert state == whole_state(world.stores, now)
        assert state.jobs[0].roles[0].record.resized_at == NOW + timedelta(hours=1 if hour else -24)
    world.tell("Job", world.write("Job", job("a")))
    before = incremental.state(NOW)
    assert before == whole_state(world.stores, NOW)
    assert incremental.state(NOW).jobs is before.jobs


def test_a_pod_touches_its_node_and_its_job_alone(world: World) -> None:
    world.tell("Job", world.write("Job", job("alone")))
    incremental = IncrementalState(world.stores)
    before = incremental.state(NOW)
    pod = manifests.job_pod("mnist-ps-0", 0, "mnist-ps", node="n1", phase="Running")
    world.tell("Pod", world.write("Pod", pod))
    after = incremental.state(NOW)
    assert [one is two for one, two in zip(after.nodes, before.nodes, strict=True)] == [False, True]
    assert [one is two for one, two in zip(after.jobs, before.jobs, strict=True)] == [True, False]
    assert incremental.state(NOW).jobs is after.jobs


def test_pods_that_come_before_their_job_ask_until_it_is_there(world: World) -> None:
    incremental = IncrementalState(world.stores)
    world.tell("Pod", world.write("Pod", manifests.job_pod("alone-0", 0, "alone")))
    assert [demand.example for demand in incremental.state(NOW).demands] == ["web/alone-0"]
    world.tell("Job", world.write("Job", job("alone")))
    state = incremental.state(NOW)
    assert state.demands == ()
    assert [pod.name for pod in state.jobs[0].roles[0].status.pods] == ["alone-0"]
    world.delete("Job", "alone")
    assert [demand.example for demand in incremental.state(NOW).demands] == ["web/alone-0"]


def test_the_first_pending_pod_stays_the_example_as_others_leave(world: World) -> None:
    incremental = IncrementalState(world.stores)
    for name in "abcdefghijklmnopqrstuvwxyz":
        world.tell("Pod", world.write("Pod", manifests.pod(name)))
    for name in "bcdefghijklmnopqrstuvwx":
        world.delete("Pod", name)
    (demand,) = incremental.state(NOW).demands
    assert (demand.count, demand.example) == (3, "web/a")
    world.delete("Pod", "a")
    (demand,) = incremental.state(NOW).demands
    assert (demand.count, demand.example) == (2, "web/y")


def test_a_list_that_is_read_again_makes_nothing_anew(world: World) -> None:
    incremental = IncrementalState(world.stores)
    before = incremental.state(NOW)
    for kind in KINDS:
        world.relist(kind)
    after = incremental.state(NOW)
    assert after.nodes is before.nodes
    assert after.jobs is before.jobs


def test_after_a_failure_everything_is_looked_at_again(world: World) -> None:
    shapes = ShapeInterner()
    pods: Store[Any] = Store(lambda raw: "odd" if b"odd" in raw else object_facts.pod(raw, shapes))
    stores = copy.copy(world.stores)
    stores.pods = pods
    incremental = IncrementalState(stores)
    incremental.state(NOW)
    for name in ("fine", "odd"):
        pod = manifests.pod(name, node="n1", phase="Running")
        pods.update(pods.item(world.write("Pod", pod)))
    for _ in range(2):
        with pytest.raises(AttributeError):
            incremental.state(NOW)
    pods.update(pods.item(world.write("Pod", pod)), gone=True)
    state = incremental.state(NOW)
    assert state.nodes[0].used == Resources.of({"cpu": 1000, "pods": 1})
    assert state == whole_state(stores, NOW)


def test_stores_may_be_fed_while_the_incremental_state_reads(world: World) -> None:
    incremental = IncrementalState(world.stores)
    events = [
        world.write("Pod", manifests.pod(f"p{number % 7}", node=f"n{number % 2 + 1}"))
        for number in range(500)
    ]

    def tell_all() -> None:
        for raw in events:
            world.tell("Pod", raw)

    feeders = [Thread(target=tell_all) for _ in "ab"]
    for feeder in feeders:
        feeder.start()
    while any(feeder.is_alive() for feeder in feeders):
        incremental.state(NOW)
    for feeder in feeders:
        feeder.join()
    assert incremental.state(NOW) == whole_state(world.stores, NOW)


def test_pods_of_a_job_that_changed_its_training_job_are_previous_pods_once_it_is_gone(
    world: World,
) -> None:
    """They still carry the label of the training job that they were made for."""
    labels = {
        "edl.dev/framework": "tensorflow",
        "edl.dev/job": "mnist",
        "edl.dev/role": "worker",
        "batch.kubernetes.io/job-name": "mnist-worker",
    }
    placed = {"node": "n1", "phase": "Running", "metadata": {"labels": labels}}
    for manifest in (job("mnist-ps", "mnist"), job("mnist-worker", "mnist")):
        world.tell("Job", world.write("Job", manifest))
    pod = manifests.job_pod("mnist-worker-0", 0, "mnist-worker", **placed)
    world.tell("Pod", world.write("Pod", pod))
    incremental = IncrementalState(world.stores)
    incremental.state(NOW)
    moved = job("mnist-worker", "mnist")
    moved["metadata"]["labels"]["edl.dev/job"] = "other"
    world.tell("Job", world.write("Job", moved))
    incremental.state(NOW)
    world.delete("Job", "mnist-worker")
    state = incremental.state(NOW)
    assert state == whole_state(world.stores, NOW)
    assert [one.name for one in state.jobs[0].roles[0].previous_pods] == ["mnist-worker-0"]
