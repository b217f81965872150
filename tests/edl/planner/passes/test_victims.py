"""Which gangs make room for a higher priority: those that a search finds that counts all anew."""

from collections.abc import Sequence

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from edl.feasibility.horizon import Horizon
from edl.model import ClusterState
from edl.planner.decision_limits import Limits
from edl.planner.packing.pod_class import PodSetRequest, pack
from edl.planner.passes.preemption.victims import (
    Victim,
    select_victims,
    trial_by_amounts,
    victim_candidates,
)
from edl.planner.policies import POLICIES
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.take_snapshot import take_snapshot
from tests.edl.planner.states import cluster, job, node, role, shape


def is_enough(
    snapshot: Snapshot, chosen: Sequence[Victim], requests: Sequence[PodSetRequest]
) -> bool:
    room = snapshot.capacity.future_idle.copy()
    for victim in chosen:
        victim.release_in(room)
    return pack(room, requests, Horizon.EMPTY) == [request.pods for request in requests]


def plainly_spared(
    snapshot: Snapshot, found: Sequence[Victim], requests: Sequence[PodSetRequest]
) -> list[Victim]:
    """The first that are enough; then each that the others are enough without, the last first."""
    first = (list(found[:count]) for count in range(1, len(found) + 1))
    chosen = next(some for some in first if is_enough(snapshot, some, requests))
    for victim in reversed(chosen):
        rest = [other for other in chosen if other is not victim]
        if is_enough(snapshot, rest, requests):
            chosen = rest
    return chosen


@st.composite
def crowded(draw: st.DrawFn) -> ClusterState:
    """Nodes that are nearly full of small gangs."""
    free = {f"node-{at}": draw(st.integers(2, 8)) for at in range(draw(st.integers(2, 6)))}
    nodes = [node(name, cpu) for name, cpu in free.items()]
    jobs = []
    for number in range(draw(st.integers(3, 12))):
        parts = []
        for name in ("ps", "worker")[: draw(st.integers(1, 2))]:
            cpu = draw(st.integers(1, 3))
            on = [one for one in draw(st.permutations(sorted(free))) if free[one] >= cpu]
            on = on[: draw(st.integers(1, 3))]
            for one in on:
                free[one] -= cpu
            if on:
                parts.append(role(name, len(on), len(on), shape=shape(cpu), on=on))
        if parts:
            jobs.append(job(f"job-{number}", *parts))
    return cluster(*nodes, *jobs)


@pytest.mark.slow
@given(crowded(), st.lists(st.tuples(st.integers(1, 4), st.integers(1, 6)), min_size=1, max_size=2))
@settings(max_examples=300)
def test_the_same_gangs_make_room_as_if_room_were_counted_anew_for_each_of_them(
    state: ClusterState, asked: list[tuple[int, int]]
) -> None:
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    found = list(victim_candidates(snapshot.allocations, frozenset()))
    requests = [PodSetRequest(snapshot.pod_class(shape(cpu)), pods) for cpu, pods in asked]
    assume(is_enough(snapshot, found, requests) and not is_enough(snapshot, (), requests))
    chosen = select_victims(found, trial_by_amounts(snapshot.capacity.future_idle.copy(), requests))
    event(f"{len(chosen)} of {len(found)}")
    assert is_enough(snapshot, chosen, requests)
    assert [one.job.key for one in chosen] == [
        one.job.key for one in plainly_spared(snapshot, found, requests)
    ]
