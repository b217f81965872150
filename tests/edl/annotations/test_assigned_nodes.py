"""Assigned nodes are read as they were written; anything else reads as nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edl.annotations import assigned_nodes
from edl.model import Assignment

_NAMES = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,8}", fullmatch=True)


@pytest.mark.slow
@given(st.integers(0, 10**6), st.lists(_NAMES, min_size=1, max_size=20))
def test_an_assignment_is_read_as_it_was_written(first: int, nodes: list[str]) -> None:
    found = Assignment(first, tuple(nodes))
    assert assigned_nodes.read(assigned_nodes.text(found)) == found


def test_replicas_on_one_node_are_written_once() -> None:
    found = Assignment(2, ("a", "a", "b", "a"))
    assert assigned_nodes.text(found) == "2:a*2,b,a"
    assert [found.node(index) for index in range(1, 7)] == ["", "a", "a", "b", "a", ""]


def test_nothing_is_kept_of_what_is_too_long() -> None:
    nodes = tuple(f"node-{number:06}" for number in range(6_000))
    assert assigned_nodes.text(Assignment(0, nodes)) == ""


@pytest.mark.parametrize(
    "annotation",
    [
        "", "x", "0", "0:", ":a", "-1:a", "0:a,,b", "0:*2", "0:a*0", "0:a*-1", "0:a*x", "0:a*²",
        "٣:a", "0:a*99999999999", "0:a*999999999", "0:a*100000,b", "9" * 5_000 + ":a",
        "0:" + "a," * 40_000 + "a",
    ],
)  # fmt: skip
def test_a_malformed_assignment_assigns_nothing(annotation: str) -> None:
    assert assigned_nodes.read(annotation) == Assignment()
