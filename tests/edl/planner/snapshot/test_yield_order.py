"""Which team's replicas yield next depends on what the teams above it use at that moment."""

from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.planner.snapshot.extras.reclaimable import Reclaimable, reclaim_order
from edl.planner.snapshot.take_snapshot import take_snapshot
from tests.edl.planner.snapshot.test_reclaim_preview import ahead, evicted, scope_of
from tests.edl.planner.states import cluster, node, worker
from tests.edl.planner.teams import of, team, with_teams


def test_a_replica_that_yields_lowers_the_rank_of_the_teams_below_the_same_parent() -> None:
    """The teams `left` and `right` share their parent's share; `alone` is beside the parent."""
    names = "left", "right", "alone"
    jobs = [one for name in names for one in of(name, worker(name, 1, 9, on=["n"] * 4))]
    teams = team("left", parent="top"), team("right", parent="top"), team("alone")
    state = with_teams(cluster(node("n", 12), *jobs), team("top"), *teams, team("owner", 12))
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    assert snapshot.teams is not None
    extras = Reclaimable(snapshot, snapshot.allocations, reclaim_order(snapshot))
    scope = scope_of(snapshot, 0, snapshot.teams.names.index("owner"))
    first = [name for name, _ in ahead(extras, scope)]
    assert " ".join(first) == "right left right left alone right alone left alone"
    assert first == [name for name, _ in evicted(extras, scope)]
