"""A cursor over nodes finds the one that a search through all of them would find."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.model import (
    ForeignPods,
    HostPort,
    Node,
    PodAffinityTerm,
    PodConstraints,
    Requirement,
    Selector,
    TopologySpread,
)
from edl.planner.decision_limits import Limits
from edl.planner.packing.pod_class import PodClass
from edl.planner.policies import POLICIES
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.take_snapshot import take_snapshot
from tests.edl.planner.bytecode_count import instructions
from tests.edl.planner.states import cluster, node, shape, worker

KEYS = ("zone", "rack", "host")
NAMES = ("one", "two")


def app(name: str) -> Selector:
    return Selector(("ns",), (Requirement("app", "In", (name,)),))


class Plain:
    """Looks at all nodes for each pod, in the order in which they were when it began."""

    def __init__(self, snapshot: Snapshot, pod_class: PodClass, horizon: Horizon) -> None:
        self._grid, self._fit, self._horizon = snapshot.capacity, pod_class, horizon
        indexes = np.flatnonzero(pod_class.eligible)
        left = [
            snapshot.capacity.future_idle[resource, indexes] / amount
            for resource, amount in pod_class.amounts
        ]
        self._order = indexes[np.argsort(np.min(left, axis=0), kind="stable")].tolist()

    def find(self) -> int:
        indexes = self._order
        near = self._fit.constraints.affinity if self._fit.constraints else None
        if near and near.has_no_match(self._horizon):
            room = self._grid.idle if self._horizon is IDLE else self._grid.future_idle
            capacity = self._fit.pods_per_node(room, Horizon.EMPTY).tolist()
            of = near.counts[0].of
            total = {at: sum(one for one, other in zip(capacity, of, strict=True) if other == at)
                     for at in of if at >= 0}  # fmt: skip
            indexes = sorted(indexes, key=lambda index: -total.get(of[index], 0))
        return next(filter(self._fit.at(self._horizon).fits, indexes), -1)


@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    """More hosts and racks than are looked at together, and a few zones; some have no label."""
    count = draw(st.integers(18, 26))
    cpus = draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
    bare = draw(st.integers(0, 3))
    return [
        node(
            f"node-{at:02}",
            cpus[at],
            labels={
                **({"zone": "abc"[at * at % 3]} if at != bare else {}),
                "rack": f"rack-{at % 17}",
                "host": f"node-{at}",
            },
        )
        for at in range(count)
    ]


@st.composite
def rules(draw: st.DrawFn, own: str) -> PodConstraints:
    def term() -> PodAffinityTerm:
        return PodAffinityTerm(draw(st.sampled_from(KEYS)), app(draw(st.sampled_from(NAMES))))

    kinds = draw(st.sets(st.sampled_from(["anti_affinity", "affinity", "spread"]), min_size=1))
    fields: dict[str, Any] = {}
    if "anti_affinity" in kinds:
        fields["anti_affinity"] = (term(),)
    if "affinity" in kinds:
        fields["affinity"] = (term(),)
    if "spread" in kinds:
        keys = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=2, unique=True))
        fields["spread"] = tuple(
            TopologySpread(key, app(own), draw(st.integers(1, 2))) for key in keys
        )
    return PodConstraints("ns", (("app", own),), **fields)


@pytest.mark.slow
@given(st.data(), nodes())
@settings(max_examples=150)
def test_a_cursor_finds_what_a_search_through_all_nodes_finds(
    data: st.DataObject, found: list[Node]
) -> None:
    own = [
        shape(data.draw(st.integers(1, 2)), constraints=data.draw(rules(name))) for name in NAMES
    ]
    jobs = [worker(name, 1, 1, shape=one) for name, one in zip(NAMES, own, strict=True)]
    web = PodConstraints("ns", (("app", data.draw(st.sampled_from(NAMES))),))
    others = tuple(
        ForeignPods(f"node-{at:02}", web, 1, at % 2)
        for at in data.draw(st.sets(st.integers(0, 17), max_size=4))
    )
    state = replace(cluster(*found, *jobs), foreign_pods=others)
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    pod_classes = [snapshot.pod_class(one) for one in own]
    horizon = data.draw(st.sampled_from([IDLE, FUTURE_IDLE]))
    views = [pod_class.at(horizon) for pod_class in pod_classes]
    plain = [Plain(snapshot, pod_class, horizon) for pod_class in pod_classes]
    for view in views:
        view.position()  # Nodes stay in the order that they have at the first look.
    placed: list[tuple[int, int]] = []
    for kind in data.draw(st.lists(st.sampled_from("ppppppgu"), max_size=60)):
        at = data.draw(st.integers(0, 1))
        if kind == "g" and placed:
            gone, index = placed.pop(data.draw(st.integers(0, len(placed) - 1)))
            views[gone].release(index)
            continue
        expected, mark = plain[at].find(), views[at].position()
        assert views[at].find() == expected
        if expected >= 0:
            views[at].reserve(expected)
            if kind == "u":
                views[at].unreserve(expected)
                views[at].restore(mark)
            else:
                placed.append((at, expected))


@pytest.mark.parametrize("count", [2, 100], ids=["few nodes", "many nodes"])
def test_room_that_came_back_to_a_node_is_found_again(count: int) -> None:
    nodes = (node(f"node-{at:03}", 1) for at in range(count))
    state = cluster(*nodes, worker("w", 1, 1, shape=shape(1)))
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    pod_class = snapshot.pod_class(shape(1))
    cursor = pod_class.future_idle
    for _ in range(count):
        pod_class.future_idle.reserve(cursor.find())
    assert cursor.find() == -1
    pod_class.future_idle.release(1)
    assert cursor.find() == 1


def test_a_node_that_was_freed_many_times_is_examined_once() -> None:
    state = cluster(*(node(f"node-{at:03}", 1) for at in range(100)))
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    cursor = snapshot.pod_class(shape(2)).future_idle
    freed = snapshot.capacity.freed_nodes

    def work(times: int) -> int:
        assert cursor.find() == -1
        freed.extend([*range(100)] * times)
        return instructions(cursor.find)

    assert work(40) < 2 * work(1)


def test_room_that_came_back_behind_many_full_nodes_is_found() -> None:
    state = cluster(*(node(f"node-{at:03}", 1) for at in range(100)))
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    cursor = snapshot.pod_class(shape(1)).future_idle
    while (full := cursor.find()) != -1:
        cursor.reserve(full)
    snapshot.capacity.freed_nodes.extend([*range(100)] * 3)
    for at in (70, 71):
        cursor.release(at)
    assert cursor.reserve_pods(3) == [70, 71]


def test_a_cursor_finds_the_same_nodes_again_when_placements_are_undone() -> None:
    room = {at: 1 + at % 3 for at in range(900)}
    nodes = (node(f"node-{at:03}", pods) for at, pods in room.items())
    snapshot = take_snapshot(
        cluster(*nodes, worker("w", 1, 1, shape=shape(1))), POLICIES["fair"], Limits()
    )
    pod_class = snapshot.pod_class(shape(1))
    expected = [at for at in sorted(room, key=room.__getitem__) for _ in range(room[at])]

    def place(pods: int) -> list[int]:
        indexes = []
        for _ in range(pods):
            indexes.append(pod_class.idle.find())
            pod_class.idle.reserve(indexes[-1])
        return indexes

    assert place(500) == expected[:500]
    mark = pod_class.idle.position()
    for at in place(1000):
        pod_class.idle.unreserve(at)
    pod_class.idle.restore(mark)
    assert place(1300) == expected[500:]
    assert pod_class.idle.find() == -1


def full_cluster(nodes: int) -> PodClass:
    """Pods with a host port, in a cluster that has no room for any."""
    port = PodConstraints("ns", (), ports=(HostPort("TCP", 29500, "0.0.0.0"),))  # noqa: S104
    asked = shape(2, constraints=port)
    found = (node(f"node-{at:04}", 1) for at in range(nodes))
    state = cluster(*found, worker("w", 1, 1, shape=asked))
    return take_snapshot(state, POLICIES["fair"], Limits()).pod_class(asked)


def test_a_search_for_pods_with_a_host_port_skips_full_nodes_at_once() -> None:
    def work(nodes: int) -> int:
        cursor = full_cluster(nodes).future_idle
        found: list[int] = []
        cost = instructions(lambda: found.append(cursor.find()))
        assert found == [-1]
        return cost

    assert work(4000) < 1.5 * work(1000)


def test_a_view_for_pods_with_a_host_port_takes_few_bytes_per_node() -> None:
    nodes = 4000
    cursor = full_cluster(nodes).future_idle
    tracemalloc.start()
    try:
        assert cursor.find() == -1
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 16 * nodes, "an index, and masks: every queued job may have a shape of its own"
