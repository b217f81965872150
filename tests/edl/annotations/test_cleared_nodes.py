"""How often a node was cleared in vain: kept on the Job, bounded, and forgotten in time."""

from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.annotations import cleared_nodes
from edl.annotations.cleared_nodes import REMEMBERED, cleared, exhausted
from edl.annotations.json_text import json_text
from edl.model import Clearing, Role
from tests.edl.trainings import NOW, pod, role, seconds


def came(at: datetime, *known: Clearing) -> Role:
    """A role of which one replica came to node n1 then."""
    there = replace(pod("worker", 0), node="n1", created_at=at)
    return role("worker", 1, 9, pods=(there,), cleared=known)


_PAST = st.integers(0, 999).map(lambda age: NOW - seconds(age))
_CLEARINGS = st.builds(Clearing, st.text(max_size=9), st.integers(1, 99), _PAST)


@given(st.lists(_CLEARINGS, max_size=9).map(tuple))
def test_clearings_are_read_as_they_were_written(found: tuple[Clearing, ...]) -> None:
    assert cleared_nodes.read(json_text(found)) == found


def test_a_malformed_clearing_counts_as_none() -> None:
    naive = '[{"node":"n1","times":1,"at":"2026-01-01T12:00:00"}]'
    many = json_text((Clearing("n1", 2**63, NOW),))
    digits = f'[{{"node":"n1","times":{"9" * 5_000},"at":"2026-01-01T12:00:00Z"}}]'
    texts = ("", "{}", "x", "[1]", naive, many, digits, "[" * 100_000)
    assert [cleared_nodes.read(text) for text in texts] == [()] * 8


def test_a_node_counts_again_only_if_a_replica_came_to_it_since() -> None:
    before = Clearing("n1", 2, NOW - seconds(60))
    back, elsewhere = came(NOW - seconds(59), before), came(NOW - seconds(61), before)
    assert cleared(back, ["n1"], NOW) == (Clearing("n1", 3, NOW),)
    assert cleared(elsewhere, ["n1"], NOW) == (Clearing("n1", 1, NOW),)


def test_a_node_is_left_alone_once_replicas_came_back_three_times() -> None:
    known = [Clearing("n1", times, NOW - seconds(60)) for times in (2, 3)]
    assert not [*exhausted(came(NOW, known[0]))]
    assert [*exhausted(came(NOW, known[1]))] == [known[1]]
    assert not [*exhausted(came(NOW - seconds(61), known[1]))]


def test_what_is_long_ago_is_forgotten_and_no_more_than_32_nodes_are_known() -> None:
    old = [Clearing(f"n{number}", 3, NOW - REMEMBERED) for number in range(3)]
    assert cleared(came(NOW, *old), ["n1"], NOW) == (Clearing("n1", 1, NOW),)
    many = [Clearing(f"x{number}", 1, NOW) for number in range(40)]
    found = cleared(came(NOW, *many), ["n1"], NOW)
    assert (len(found), found[-1]) == (32, Clearing("n1", 1, NOW))
