"""A full cluster that nothing else changes comes to rest: no replica moves there and back again."""

from datetime import timedelta
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from edl.model import ClusterState, Code
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES, Policy
from edl.simulator import Elastic, Scenario, Watcher, simulate
from tests.edl.simulator.mixes import churn, mix, mixes

_SETTLED = 180.0


class Move(NamedTuple):
    """A role's size changed; 0 while it is suspended."""

    at: float
    job: str
    role: str
    before: int
    after: int
    reason: Code | None


def moves(world: Scenario, elastic: Elastic, until: float) -> list[Move]:
    """Every change of a size, as a watcher of the Jobs sees it."""
    sizes: dict[tuple[str, str], int] = {}
    found: list[Move] = []

    def decided(now: float, state: ClusterState, _: Plan) -> None:
        for job in state.jobs:
            for role in job.roles:
                key, size = (
                    (job.key.name, role.name),
                    0 if role.status.suspended else role.status.size,
                )
                before = sizes.setdefault(key, size)
                if before != size:
                    found.append(Move(now, *key, before, size, role.record.reason))
                    sizes[key] = size

    simulate(world, elastic, until, Watcher(decided=decided))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "gpu_nodes"), [(5, 0), (7, 0), (24, 0), (14, 2), (24, 2)])
def test_a_full_mix_rests_while_restarting_jobs_are_in_their_cooldown(
    seed: int, gpu_nodes: int
) -> None:
    """The room kept for them is no room for which others shrink, nor fills their gaps in turns."""
    found = moves(mix(seed, gpu_nodes=gpu_nodes), Elastic(POLICIES["fair"]), until=300)
    assert [move for move in found if move.at > _SETTLED] == []


_QUICK = Limits(restart_cooldown=timedelta(seconds=20))
_HOUR = 3600.0


@pytest.mark.laws
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(mixes())
def test_any_mix_rests_when_all_cooldowns_are_over(policy: Policy, world: Scenario) -> None:
    found = moves(world, Elastic(policy, _QUICK), until=2 * _HOUR)
    assert [move for move in found if move.at > _HOUR] == []


@pytest.mark.laws
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 9_999))
@example(2008)
def test_a_cluster_rests_when_a_churn_is_over(seed: int) -> None:
    """Also where pods take longer to leave than a cooldown: the scheduler fills other nodes first.

    Ten minutes are two times as long as anything waits for its turn (`Limits.queue_patience`).
    """
    world, over = churn(seed)
    found = moves(world, Elastic(POLICIES["fair"]), until=over + 900)
    assert [move for move in found if move.at > over + 600] == []


def test_a_node_counts_the_pods_that_would_have_to_go_elsewhere_without_it() -> None:
    differing: list[float] = []

    def decided(now: float, state: ClusterState, _: Plan) -> None:
        for node in state.nodes:
            staying = node.used.get("pods") - node.releasing.get("pods")
            differing.extend([now] if node.evictable_pods != staying else [])

    simulate(mix(5), Elastic(POLICIES["fair"]), 300, Watcher(decided=decided))
    assert differing == []
