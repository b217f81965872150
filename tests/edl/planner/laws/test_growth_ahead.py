"""The order of growth that is computed at once is the one that is found turn by turn."""

from unittest.mock import patch

import pytest
from hypothesis import strategies as st

from edl.feasibility.horizon import IDLE
from edl.model import ClusterState, Team
from edl.planner.passes import growth
from edl.planner.passes.team_growth import growth_order
from edl.planner.policies import POLICIES
from edl.planner.snapshot.role_allocation import NO_NODE, Placement
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.quantities import Resources
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.plans import ALL
from tests.edl.planner.states import cluster, node, shape, worker
from tests.edl.planner.teams import of, with_teams
from tests.edl.reached import Reached, drawn

pytestmark = pytest.mark.laws

SHAPES = (shape(1), shape(1), shape(2), shape(1, gpu=1), shape(3, gpu=2), shape(0, gpu=1))
_REPLICA = Placement(NO_NODE, holds_idle=True, is_new=True)


@packed
def nested(draw: Draw, /) -> ClusterState:
    """Teams at any level have jobs, with teams below them or not."""
    names = [f"t{number}" for number in range(draw.between(2, 6))]
    teams = [_team(draw, name, draw.one_of("", *names[:at])) for at, name in enumerate(names)]
    jobs = [
        worker(
            f"j{number}",
            1,
            draw.between(2, 12),
            on=["n"] * draw.between(1, 3),
            shape=draw.one_of(*SHAPES),
            priority=draw.between(0, 1),
        )
        for number in range(draw.between(3, 8))
    ]
    owned = [one for job in jobs for one in of(draw.one_of(*names, "default"), job)]
    return with_teams(cluster(node("n", 20, gpu=draw.between(0, 8)), *owned), *teams)


def _team(draw: Draw, name: str, parent: str) -> Team:
    owed = {"cpu": draw.between(0, 12), "nvidia.com/gpu": draw.between(0, 6)}
    guaranteed = Resources.parse({one: amount for one, amount in owed.items() if draw.yes()})
    weight = draw.one_of(1.0, 1.0, 2.0, 0.5)
    return Team(name, parent, (name,), guaranteed=guaranteed, weight=weight)


def _order(state: ClusterState, policy: str, most: int, *, ahead: bool) -> list[int]:
    """Ranks of the roles in the order in which they are asked to grow; up to `most` replicas do.

    Jobs at even places of the queue are refused replicas beyond the sixth.
    """
    snapshot = take_snapshot(state, POLICIES[policy], ALL)
    assert snapshot.teams
    asking = [one for one in snapshot.allocations if one.size < one.max_replicas]
    order = []
    for role in growth_order(snapshot.teams, snapshot.policy, asking, ahead=ahead):
        order.append(role.rank)
        if len(order) <= most and (role.queue_rank % 2 or role.size < 6):
            role.placements.append(_REPLICA)
            role.quota_request.reserve(IDLE)
    return order


@drawn(state=nested(), policy=st.sampled_from(sorted(POLICIES)), most=st.integers(0, 80))
def test_roles_grow_in_one_order_however_it_is_computed(
    reached: Reached, state: ClusterState, policy: str, most: int
) -> None:
    turn_by_turn = _order(state, policy, most, ahead=False)
    assert _order(state, policy, most, ahead=True) == turn_by_turn
    reached(len(set(turn_by_turn)) > 1)


@drawn(state=nested())
def test_roles_get_the_same_nodes_however_the_order_is_computed(
    reached: Reached, state: ClusterState
) -> None:
    placements = []
    for ahead in (True, False):
        snapshot = take_snapshot(state, POLICIES["fair"], ALL)
        before = sum(one.size for one in snapshot.allocations)
        with patch.object(growth, "_mostly_fit", return_value=ahead):
            growth.grow(snapshot, growth.GrowthCeiling(snapshot))
        placements.append([one.placements for one in snapshot.allocations])
    assert placements[0] == placements[1]
    reached(sum(map(len, placements[0])) > before)
