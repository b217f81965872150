"""Which replica yields next to a claim depends on the present state only, not on former claims."""

from typing import Final

import pytest
from hypothesis import strategies as st

from edl.model import ClusterState
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES, Policy
from edl.planner.snapshot.extras.reclaimable import Reclaimable, reclaim_order
from edl.planner.snapshot.extras.yield_queue import YieldQueue
from edl.planner.snapshot.take_snapshot import take_snapshot
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.clusters import ALL_RUN, states
from tests.edl.planner.laws.test_team_laws import any_state, split, trees
from tests.edl.planner.snapshot.test_yield_order import scope_of
from tests.edl.planner.states import cluster, node, worker
from tests.edl.reached import Reached, drawn

pytestmark = pytest.mark.laws


@packed
def full(draw: Draw) -> ClusterState:
    """Nodes that many jobs fill with replicas of one core, most of them beyond their minimum."""
    names = [f"n{number}" for number in range(draw.between(2, 4))]
    jobs = []
    for number in range(draw.between(4, 9)):
        low = draw.one_of(1, 1, 2)
        on = [draw.one_of(*names) for _ in range(low + draw.between(1, 5))]
        priority = draw.one_of(0, 0, 0, 1)
        jobs.append(worker(f"j{number}", low, low + 6, on=on, priority=priority))
    used = [pod.node for job in jobs for pod in job.roles[0].status.pods]
    state = cluster(*(node(name, max(used.count(name), 1)) for name in names), *jobs)
    return split(draw, state, trees(draw, limited=(False,))) if draw.between(0, 3) else state


ANY_THAT_RUN: Final = st.one_of(any_state(runs=ALL_RUN), states(runs=ALL_RUN), full(), full())


@drawn(
    state=ANY_THAT_RUN,
    policy=st.sampled_from(list(POLICIES.values())),
    claims=st.lists(
        st.tuples(st.sampled_from((1, 2, 2)), st.integers(0, 4), st.integers(1, 9), st.booleans()),
        min_size=3,
    ),
)
def test_each_replica_yields_as_if_all_roles_had_just_been_queued(
    reached: Reached,
    state: ClusterState,
    policy: Policy,
    claims: list[tuple[int, int, int, bool]],
) -> None:
    """Between claims a part of what has yielded is restored, and the usage of a team grows."""
    snapshot = take_snapshot(state, policy, Limits())
    movable = [one for one in snapshot.allocations if one.resizable]
    order = reclaim_order(snapshot)  # once in a decision: colocation keeps its first nodes
    extras, seen, scope = Reclaimable(snapshot, movable, order), 0, scope_of(snapshot, 2, 0)
    for priority, place, replicas, again in claims:
        scope = scope if again else scope_of(snapshot, priority, place)
        before = {one: list(one.placements) for one in movable}
        for _ in range(replicas):
            anew = YieldQueue(snapshot.teams, order, movable).next(scope)
            assert extras.queue.next(scope) is anew
            if anew is not None:
                extras.evict(anew)
                extras.queue.requeue(anew)
                seen += 1
        for one in movable:
            for placement in before[one][one.size :][: 1 + one.rank % 2]:
                extras.restore(one, placement)
            extras.queue.requeue(one)
        if (teams := snapshot.teams) and not again:
            teams.charge(place % len(teams.names), [("cpu", 2000)]).reserve(1)
    reached(seen > 1)
