"""A board that follows another one takes over whoever stands as before."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from edl.model import ClusterState
from edl.planner.limits import Limits
from edl.planner.policies import POLICIES
from edl.planner.snapshot.board import Board
from edl.planner.snapshot.opening import set_up
from tests.edl.planner.states import cluster, node, worker

LIMITS = Limits()
FAIR = POLICIES["fair"]


def running() -> ClusterState:
    return cluster(
        node("n1"),
        node("n2"),
        worker("first", 1, 4, on=["n1", "n1"], queued=-30),
        worker("second", 1, 4, on=["n2"], queued=-20),
        worker("third", 1, 4, on=["n2"], queued=-10),
    )


def board(state: ClusterState, last: Board | None = None) -> Board:
    return set_up(state, FAIR, LIMITS, last)


def test_who_is_the_same_value_keeps_his_seats() -> None:
    state = running()
    first = board(state)
    standings = list(first.standings)
    later = replace(state, observed_at=state.observed_at + timedelta(seconds=5))
    assert all(
        one is other for one, other in zip(board(later, first).standings, standings, strict=True)
    )


def test_whom_the_plan_moved_stands_up_anew() -> None:
    state = running()
    first = board(state)
    moved, *others = first.standings
    moved.rise(first.grid)
    second = board(state, first)
    assert second.standings[0] is not moved
    assert second.standings[0].size == moved.role.size
    assert second.standings[1:] == others
    assert second.grid.soon.tolist() == board(state).grid.soon.tolist()


def test_who_got_his_seat_back_stands_as_before() -> None:
    state = running()
    first = board(state)
    moved = first.standings[0]
    moved.stay(first.grid, moved.rise(first.grid))
    assert board(state, first).standings[0] is moved


def test_places_close_up_when_a_job_is_gone() -> None:
    state = running()
    first = board(state)
    third = first.standings[2]
    second = board(replace(state, jobs=state.jobs[1:]), first)
    assert second.standings[1] is third
    assert [standing.place for standing in second.standings] == [0, 1]


def test_what_a_node_says_is_used_counts_at_once() -> None:
    state = running()
    first = board(state)
    full = replace(state.nodes[0], used=state.nodes[0].allocatable)
    later = replace(state, nodes=(full, state.nodes[1]))
    second = board(later, first)
    assert second.grid is first.grid
    assert second.grid.now.tolist() == board(later).grid.now.tolist()


@pytest.mark.parametrize("change", ["schedulable", "labels", "name"])
def test_another_node_asks_for_another_grid(change: str) -> None:
    fields = {"schedulable": False, "labels": {"zone": "b"}, "name": "n3"}
    state = running()
    first = board(state)
    other = replace(state.nodes[1], **{change: fields[change]})  # type: ignore[arg-type]
    assert board(replace(state, nodes=(state.nodes[0], other)), first).grid is not first.grid
