"""Looking ahead at the replicas that yield to a claim says the same as evicting them."""

from typing import Final

import pytest
from hypothesis import strategies as st

from edl.model import ClusterState
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES, Policy
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.extras.reclaim_preview import ReclaimPreview
from edl.planner.snapshot.extras.reclaimable import Reclaimable, reclaim_order
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.planner.teams.reclaim_priority import ReclaimPriority, ReclaimScope
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.clusters import ALL_RUN, states
from tests.edl.planner.laws.test_team_laws import any_state, split, trees
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


def ahead(extras: Reclaimable, scope: ReclaimScope) -> list[tuple[str, int]]:
    """The jobs that yield, and the nodes of their replicas, without an eviction."""
    looking, found = ReclaimPreview(extras, extras.queue, scope), []
    while allocation := looking.next():
        found.append((allocation.job.key.name, looking.node_of(allocation)))
        looking.take(allocation)
    looking.undo()
    return found


def evicted(extras: Reclaimable, scope: ReclaimScope) -> list[tuple[str, int]]:
    found = []
    while allocation := extras.queue.next(scope):
        found.append((allocation.job.key.name, extras.evict(allocation).node))
        extras.queue.requeue(allocation)
    return found


def scope_of(snapshot: Snapshot, priority: int, place: int) -> ReclaimScope:
    """The scope of a claim of one core by some team, if there are any."""
    teams = snapshot.teams
    charge = teams.charge(place % len(teams.names), [("cpu", 1000)]) if teams else None
    return snapshot.reclaim_scope(ReclaimPriority(priority), charge)


@drawn(
    state=ANY_THAT_RUN,
    policy=st.sampled_from(list(POLICIES.values())),
    priority=st.sampled_from((1, 2, 2)),
    places=st.tuples(st.integers(0, 4), st.integers(0, 4)),
)
def test_replicas_yield_ahead_in_the_order_in_which_they_are_evicted(
    reached: Reached,
    state: ClusterState,
    policy: Policy,
    priority: int,
    places: tuple[int, int],
) -> None:
    """The second claim looks at what the first has evicted and got back in part."""
    snapshot = take_snapshot(state, policy, Limits())
    movable = [one for one in snapshot.allocations if one.resizable]
    extras = Reclaimable(snapshot, movable, reclaim_order(snapshot))
    used = snapshot.teams and [list(one) for one in snapshot.teams.used]
    for place in places:
        scope = scope_of(snapshot, priority, place)
        found = ahead(extras, scope)
        assert used == (snapshot.teams and snapshot.teams.used)
        before = {one: list(one.placements) for one in movable}
        assert found == evicted(extras, scope)
        for one in movable:
            for placement in before[one][one.size :][: 1 + one.rank % 2]:
                extras.restore(one, placement)
            extras.queue.requeue(one)
        used = snapshot.teams and [list(used) for used in snapshot.teams.used]
        reached(len(found) > 1)


@drawn(
    state=ANY_THAT_RUN,
    policy=st.sampled_from(list(POLICIES.values())),
    place=st.integers(0, 4),
    claims=st.lists(st.tuples(st.sampled_from((1, 2, 2)), st.integers(0, 4)), min_size=3),
)
def test_each_claim_looks_ahead_as_if_no_other_had_done_so_before(
    reached: Reached,
    state: ClusterState,
    policy: Policy,
    place: int,
    claims: list[tuple[int, int]],
) -> None:
    """Between claims the usage of a team grows, and sometimes a replica yields."""
    snapshot = take_snapshot(state, policy, Limits())
    movable = [one for one in snapshot.allocations if one.resizable]
    order = reclaim_order(snapshot)  # once in a decision: colocation keeps its first nodes
    extras, seen = Reclaimable(snapshot, movable, order), 0
    for priority, grows in claims:
        scope = scope_of(snapshot, priority, place)
        found = ahead(extras, scope)
        assert found == ahead(Reclaimable(snapshot, movable, order), scope)
        seen = max(seen, len(found))
        if teams := snapshot.teams:
            teams.charge(grows % len(teams.names), [("cpu", 2000)]).reserve(1)
        first = ReclaimPreview(extras, extras.queue, scope).next()
        if first and grows % 2:
            extras.evict(first)
            for one in (one for one in movable if one.job is first.job):  # their keys may change
                extras.queue.requeue(one)
    reached(seen > 1)
