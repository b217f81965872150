"""A cursor over nodes finds the one that a search through all of them would find."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.feasibility.gpu_shares import Horizon
from edl.model import (
    ForeignPods,
    Node,
    PodAffinityTerm,
    PodConstraints,
    Requirement,
    Selector,
    TopologySpread,
)
from edl.planner.limits import Limits
from edl.planner.packing.pod_class import PodClass
from edl.planner.policies import POLICIES
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.take_snapshot import take_snapshot
from tests.edl.planner.states import cluster, node, shape, worker

KEYS = ("zone", "rack", "host")
NAMES = ("one", "two")


def app(name: str) -> Selector:
    return Selector(("ns",), (Requirement("app", "In", (name,)),))


class Plain:
    """Looks at all nodes for each pod, in the order in which they were when it began."""

    def __init__(self, board: Snapshot, fit: PodClass, *, now: bool) -> None:
        self._grid, self._fit, self._is_now = board.capacity, fit, now
        rows = np.flatnonzero(fit.eligible)
        left = [board.capacity.future_idle[line, rows] // amount for line, amount in fit.amounts]
        self._order = rows[np.argsort(np.min(left, axis=0), kind="stable")].tolist()

    def find(self) -> int:
        rows = self._order
        near = self._fit.constraints.affinity if self._fit.constraints else None
        if near and near.has_no_match(now=self._is_now):
            room = self._grid.idle if self._is_now else self._grid.future_idle
            capacity = self._fit.pods_per_node(room, Horizon.EMPTY).tolist()
            of = near.counts[0].of
            total = {at: sum(one for one, other in zip(capacity, of, strict=True) if other == at)
                     for at in of if at >= 0}  # fmt: skip
            rows = sorted(rows, key=lambda row: -total.get(of[row], 0))
        return next((row for row in rows if self._fit.fits(row, now=self._is_now)), -1)


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

    kinds = draw(st.sets(st.sampled_from(["apart", "near", "spread"]), min_size=1))
    fields: dict[str, Any] = {}
    if "apart" in kinds:
        fields["apart"] = (term(),)
    if "near" in kinds:
        fields["near"] = (term(),)
    if "spread" in kinds:
        keys = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=2, unique=True))
        fields["spread"] = tuple(
            TopologySpread(key, app(own), draw(st.integers(1, 2))) for key in keys
        )
    return PodConstraints("ns", (("app", own),), **fields)


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
    board = take_snapshot(state, POLICIES["fair"], Limits())
    fits = [board.pod_class_state(one).pod_class for one in own]
    now = data.draw(st.booleans())
    cursors = [fit.idle if now else fit.future_idle for fit in fits]
    plain = [Plain(board, fit, now=now) for fit in fits]
    placed: list[tuple[int, int]] = []
    for kind in data.draw(st.lists(st.sampled_from("ppppppgu"), max_size=60)):
        at = data.draw(st.integers(0, 1))
        if kind == "g" and placed:
            gone, row = placed.pop(data.draw(st.integers(0, len(placed) - 1)))
            board.capacity.release(row, fits[gone], now=now)
            continue
        expected, mark = plain[at].find(), cursors[at].position()
        assert cursors[at].find() == expected
        if expected >= 0:
            board.capacity.reserve(expected, fits[at], now=now)
            if kind == "u":
                board.capacity.unreserve(expected, fits[at], now=now)
                cursors[at].restore(mark)
            else:
                placed.append((at, expected))


def test_room_that_came_back_to_a_node_is_found_again() -> None:
    state = cluster(node("one", 1), node("two", 1), worker("w", 1, 1, shape=shape(1)))
    board = take_snapshot(state, POLICIES["fair"], Limits())
    fit = board.pod_class_state(shape(1)).pod_class
    cursor = fit.future_idle
    for _ in range(2):
        board.capacity.reserve(cursor.find(), fit, now=False)
    assert cursor.find() == -1
    board.capacity.release(0, fit, now=False)
    assert cursor.find() == 0


def test_a_cursor_finds_the_same_nodes_again_when_placements_are_undone() -> None:
    room = {row: 1 + row % 3 for row in range(900)}
    nodes = (node(f"node-{row:03}", pods) for row, pods in room.items())
    board = take_snapshot(
        cluster(*nodes, worker("w", 1, 1, shape=shape(1))), POLICIES["fair"], Limits()
    )
    fit = board.pod_class_state(shape(1)).pod_class
    expected = [row for row in sorted(room, key=room.__getitem__) for _ in range(room[row])]

    def place(pods: int) -> list[int]:
        rows = []
        for _ in range(pods):
            rows.append(fit.idle.find())
            board.capacity.reserve(rows[-1], fit, now=True)
        return rows

    assert place(500) == expected[:500]
    mark = fit.idle.position()
    for row in place(1000):
        board.capacity.unreserve(row, fit, now=True)
    fit.idle.restore(mark)
    assert place(1300) == expected[500:]
    assert fit.idle.find() == -1
