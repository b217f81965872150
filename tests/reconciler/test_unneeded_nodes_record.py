"""Since when nodes are unneeded outlives rounds, and leaders."""

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from msgspec.structs import replace

from edl import contract
from edl.annotations import unneeded_nodes
from edl.model import ClusterState, Node, ResizePolicy
from edl.planner.decide import decide as decide_plan
from edl.planner.decision_limits import Autoscaler, GrowthMode, Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from reconciler.leader_election import AlwaysLeader
from reconciler.memory.unneeded_nodes_record import UnneededNodesRecord
from tests.edl.planner.states import at, cluster, job, node, role

if TYPE_CHECKING:
    from collections.abc import Mapping


class Lease:
    """What stands on it for the next leader."""

    def __init__(self) -> None:
        self.previous_annotations: Mapping[str, str] = {}
        self.notes: dict[str, str] = {}

    def set_annotation(self, name: str, note: str) -> None:
        self.notes[name] = note

    def change_hands(self) -> None:
        self.previous_annotations, self.notes = dict(self.notes), {}


NODES = [node(name, uid=f"uid-{place}") for place, name in enumerate("abc")]


def observed(memory: UnneededNodesRecord, now: datetime, *nodes: Node) -> ClusterState:
    return memory.recall(replace(cluster(*(nodes or NODES)), observed_at=now))


def decide(memory: UnneededNodesRecord, now: datetime, *names: str) -> None:
    memory.note(Plan(unneeded=names), observed(memory, now))


def test_a_node_is_unneeded_since_the_first_plan_that_found_it_so_without_a_break() -> None:
    memory = UnneededNodesRecord(AlwaysLeader())
    decide(memory, at(0), "b")
    decide(memory, at(5), "a", "b")
    assert observed(memory, at(9)).unneeded_since == (("a", at(5)), ("b", at(0)))
    decide(memory, at(9), "a")
    decide(memory, at(12), "a", "b")
    assert observed(memory, at(15)).unneeded_since == (("a", at(5)), ("b", at(12)))


def test_the_next_leader_knows_it() -> None:
    lease = Lease()
    decide(UnneededNodesRecord(lease), at(0), "a")
    lease.change_hands()
    assert observed(UnneededNodesRecord(lease), at(60)).unneeded_since == (("a", at(0)),)


@pytest.mark.parametrize("resizing", [ResizePolicy.LIVE, ResizePolicy.RESTART])
def test_under_the_next_leader_extras_stay_on_a_node_that_no_autoscaler_removed(
    resizing: ResizePolicy,
) -> None:
    """Else each change of the leader would take them off for 20 minutes."""
    limits = Limits(autoscaler=Autoscaler.PRESENT, growth=GrowthMode.NEEDED_NODES)
    worker = role("worker", 1, 4, on=("a", "b", "b", "b"), resizing=resizing)
    state = cluster(node("a", 1, uid="uid-0"), node("b", 3, uid="uid-1"), job("job", worker))
    lease = Lease()
    memory = UnneededNodesRecord(lease)
    for minute in (0, 31):
        memory.note(Plan(unneeded=("b",)), replace(state, observed_at=at(minute * 60)))
    lease.change_hands()
    memory = UnneededNodesRecord(lease)
    for minute in (32, 43):
        found = memory.recall(replace(state, observed_at=at(minute * 60)))
        plan = decide_plan(found, POLICIES["fair"], limits)
        memory.note(plan, found)
        assert plan.unneeded == ("b",)
        assert (plan.resizes, plan.drains) == ((), ())


def test_a_leader_reads_unneeded_nodes_found_by_the_leader_before_it() -> None:
    lease = Lease()
    first, second = UnneededNodesRecord(lease), UnneededNodesRecord(lease)
    decide(first, at(0), "a", "b")
    lease.change_hands()
    decide(second, at(20), "b", "c")
    lease.change_hands()
    assert observed(first, at(60)).unneeded_since == (("b", at(0)), ("c", at(20)))


def test_the_lease_has_no_name_of_a_node() -> None:
    """Every identity of the cluster may read it."""
    lease = Lease()
    decide(UnneededNodesRecord(lease), at(0), "b")
    assert list(json.loads(lease.notes[contract.UNNEEDED_NODES])) == ["uid-1"]


def test_a_node_that_took_the_name_of_an_unneeded_one_is_needed() -> None:
    lease = Lease()
    decide(UnneededNodesRecord(lease), at(0), "a", "b")
    lease.change_hands()
    nodes = (node("a", uid="uid-9"), NODES[1])
    assert observed(UnneededNodesRecord(lease), at(60), *nodes).unneeded_since == (("b", at(0)),)


def test_the_lease_is_told_only_what_differs() -> None:
    lease = Lease()
    memory = UnneededNodesRecord(lease)
    decide(memory, at(0), "a")
    lease.notes.clear()
    decide(memory, at(5), "a")
    assert lease.notes == {}


def test_a_malformed_or_foreign_list_of_unneeded_nodes_is_empty() -> None:
    now = at(0)
    for text in ("", "no", "[]", '{"a": 1}', '{"a": "2026-01-01T12:00:00"}', "[" * 9999):
        assert unneeded_nodes.read(text, now) == ()
    later = unneeded_nodes.text((("a", now + timedelta(hours=1)),))
    assert unneeded_nodes.read(later, now) == ()
    many = tuple((str(UUID(int=number)), now) for number in range(1001))
    assert len(unneeded_nodes.read(unneeded_nodes.text(many), now)) == 1000
    assert len(unneeded_nodes.text(many)) < 64 * 1024


def test_the_annotation_is_written_as_it_is_read() -> None:
    since = (("a", at(0)), ("b", at(-30)))
    assert unneeded_nodes.read(unneeded_nodes.text(since), at(0)) == since
    assert contract.UNNEEDED_NODES.startswith(contract.PREFIX)
