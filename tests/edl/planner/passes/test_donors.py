"""Donors: found by where their last replica is, as it moves, and by each priority anew."""

import numpy as np

from edl.model import ClusterState, Code
from edl.planner.passes.rebalancing.donors import Donors
from edl.planner.policies import POLICIES
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.take_snapshot import take_snapshot
from tests.edl.planner.plans import ALL, plan_for, sizes, wait_reasons
from tests.edl.planner.states import cluster, node, shape, worker


def board_of(state: ClusterState) -> Snapshot:
    return take_snapshot(state, POLICIES["fair"], ALL)


def test_a_role_that_has_given_is_looked_at_where_its_last_replica_is_now() -> None:
    nodes = [node(name, 1, labels={"name": name}) for name in "abc"]
    donor = worker("giver", 1, 3, on=["a", "b", "c"])
    recipient = worker("taker", 1, 1, shape=shape(1, node_selector=(("name", "b"),)))
    snapshot = board_of(cluster(*nodes, donor, recipient))
    (allocation,) = snapshot.allocations
    donors = Donors(snapshot, [allocation])
    pod_class, all_places = (
        snapshot.pod_class(recipient.roles[0].template.shape),
        np.arange(1),
    )
    assert list(donors.helpful(pod_class, all_places)) == []
    allocation.evict()
    donors.refresh(allocation)
    assert list(donors.helpful(pod_class, all_places)) == [0]


def test_a_role_takes_of_several_donors_although_a_lower_priority_found_too_few() -> None:
    """Only `low` may give to `first`, which is less satisfied and asks before `second`."""
    first = worker("first", 1, 4, shape=shape(3), on=["a"])
    second = worker("second", 1, 5, shape=shape(3), on=["a"] * 2, priority=1)
    low = worker("low", 1, 3, shape=shape(2), on=["a"] * 3)
    high = worker("high", 1, 3, shape=shape(2), on=["a"] * 3, priority=1)
    plan = plan_for(cluster(node("a", 21), first, second, low, high))
    assert sizes(plan) == {"low": 2, "high": 2}
    assert wait_reasons(plan)["second"].code is Code.PODS_TERMINATING
