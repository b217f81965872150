"""The room that extras hold, while claims take replicas and give them back."""

from collections.abc import Iterable

import pytest

from edl.feasibility.eligibility import Ints
from edl.planner.decision_limits import Limits
from edl.planner.packing.pod_class import PodClass
from edl.planner.policies import POLICIES
from edl.planner.snapshot.extras.reclaimable import Reclaimable, reclaim_order
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.planner.teams.reclaim_priority import ALL_IN_REACH
from tests.edl.planner.states import cluster, node, worker


def test_claims_that_take_nothing_in_the_end_leave_no_more_to_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = cluster(node("a", 4), worker("running", 1, 4, on=["a"] * 4))
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    reclaimable = Reclaimable(snapshot, snapshot.allocations, reclaim_order(snapshot))
    (allocation,) = snapshot.allocations
    for _ in range(50):
        reclaimable.restore(allocation, reclaimable.evict(allocation))
    counted: list[int] = []
    release_in = PodClass.release_in

    def counting(found: PodClass, room: Ints, nodes: Iterable[int]) -> None:
        counted.extend(nodes)
        release_in(found, room, nodes)

    monkeypatch.setattr(PodClass, "release_in", counting)
    room = reclaimable.capacity.with_idle(ALL_IN_REACH)
    assert room[snapshot.capacity.resources.index("cpu"), 0] == 3000
    assert len(counted) == 3


def test_the_next_claim_does_not_count_a_replica_that_was_taken() -> None:
    state = cluster(node("a", 4), worker("running", 1, 4, on=["a"] * 4))
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    reclaimable = Reclaimable(snapshot, snapshot.allocations, reclaim_order(snapshot))
    (allocation,) = snapshot.allocations
    reclaimable.evict(allocation)
    room = reclaimable.capacity.with_idle(ALL_IN_REACH)
    assert room[snapshot.capacity.resources.index("cpu"), 0] == 3000
