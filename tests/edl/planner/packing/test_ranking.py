"""Domains in the order in which pods use them, while pods come and leave."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edl.feasibility.horizon import FUTURE_IDLE, IDLE
from edl.planner.decision_limits import Limits
from edl.planner.packing.domain_ranking import DomainRanking
from edl.planner.packing.pod_class import PodSetRequest
from edl.planner.policies import POLICIES
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.take_snapshot import take_snapshot
from tests.edl.planner.states import cluster, node, shape

NODES = 40
MOVED = 12
MOVES = st.tuples(st.integers(0, MOVED - 1), st.integers(0, 1), st.booleans(), st.integers(0, 4))


def board(cpus: list[int]) -> Snapshot:
    """Two nodes in each rack, and one node without."""
    labels = [{"rack": f"r{at // 2}"} for at in range(NODES - 1)] + [{}]
    nodes = [node(f"node-{at:02}", cpu, labels=labels[at]) for at, cpu in enumerate(cpus)]
    return take_snapshot(cluster(*nodes), POLICIES["fair"], Limits())


@pytest.mark.slow
@given(
    st.lists(st.integers(0, 6), min_size=NODES, max_size=NODES),
    st.lists(st.lists(MOVES, min_size=1, max_size=MOVED), min_size=1, max_size=4),
    st.tuples(st.integers(0, 6), st.integers(0, 6)),
)
def test_a_ranking_that_follows_placements_is_the_one_that_reads_all_nodes_anew(
    cpus: list[int], rounds: list[list[tuple[int, int, bool, int]]], pods: tuple[int, int]
) -> None:
    there = board(cpus)
    pod_classes = [
        there.pod_class(shape(1)),
        there.pod_class(shape(2)),
    ]
    requests = [
        PodSetRequest(pod_class, count) for pod_class, count in zip(pod_classes, pods, strict=True)
    ]
    for moves in rounds:
        for horizon in (IDLE, FUTURE_IDLE):
            list(there.domains.ranking("rack", requests, horizon).tightest(requests))
        for at, which, now, comes in moves:
            if comes:
                taken = IDLE if now else FUTURE_IDLE
                pod_classes[which].reserve(at, taken, comes - 2)
            else:
                there.capacity.defer([at], pod_classes[which])
        for horizon in (IDLE, FUTURE_IDLE):
            room = partial(there.capacity.available, horizon=horizon)
            anew = DomainRanking(there.domains.by_label("rack"), pod_classes, room, horizon)
            kept = there.domains.ranking("rack", requests, horizon)
            assert list(kept.tightest(requests)) == list(anew.tightest(requests))
            assert list(kept.roomiest(requests)) == list(anew.roomiest(requests))
