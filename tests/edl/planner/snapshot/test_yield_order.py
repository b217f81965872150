"""Which team's replicas yield next depends on what the teams above it use at that moment."""

from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.extras.reclaimable import Reclaimable, reclaim_order
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.planner.teams.reclaim_priority import ReclaimPriority, ReclaimScope
from tests.edl.planner.states import cluster, node, worker
from tests.edl.planner.teams import of, team, with_teams


def scope_of(snapshot: Snapshot, priority: int, place: int) -> ReclaimScope:
    """The scope of a claim of one core by some team, if there are any."""
    teams = snapshot.teams
    charge = teams.charge(place % len(teams.names), [("cpu", 1000)]) if teams else None
    return snapshot.reclaim_scope(ReclaimPriority(priority), charge)


def test_a_replica_that_yields_lowers_the_rank_of_the_teams_below_the_same_parent() -> None:
    """The teams `left` and `right` share their parent's share; `alone` is beside the parent."""
    names = "left", "right", "alone"
    jobs = [one for name in names for one in of(name, worker(name, 1, 9, on=["n"] * 4))]
    teams = team("left", parent="top"), team("right", parent="top"), team("alone")
    state = with_teams(cluster(node("n", 12), *jobs), team("top"), *teams, team("owner", 12))
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    assert snapshot.teams is not None
    extras = Reclaimable(snapshot, snapshot.allocations, reclaim_order(snapshot))
    scope, found = scope_of(snapshot, 0, snapshot.teams.names.index("owner")), []
    while allocation := extras.queue.next(scope):
        extras.evict(allocation)
        extras.queue.requeue(allocation)
        found.append(allocation.job.key.name)
    assert " ".join(found) == "right left right left alone right alone left alone"
