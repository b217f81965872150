"""Laws of growth that waits to be one step, in clusters where some pod is always terminating."""

import dataclasses
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace

from edl.model import ClusterState, JobKey, ResizePolicy
from edl.planner.decision_limits import Limits
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.acting import act
from tests.edl.planner.states import cluster, node, worker
from tests.edl.planner.ways import Way, law, wait
from tests.edl.reached import Reached

pytestmark = pytest.mark.laws

REST = timedelta(seconds=40)
LONGEST = 4 * REST
"""What a restart soon after others rests."""
LIMITS = Limits(load_ceiling=1, restart_cooldown=REST)
ROUNDS = 30

_Key: TypeAlias = tuple[JobKey, str]
_RESTARTS: dict[str, Any] = {"resizing": ResizePolicy.RESTART}


@packed
def resting(draw: Draw) -> ClusterState:
    """Jobs that rest for long after growth, and a few idle CPU."""
    jobs = []
    for number in range(draw.between(1, 3)):
        fields = _RESTARTS if draw.yes() else {"cooldown": REST}
        size = draw.between(1, 3)
        most = size + draw.between(1, 6)
        jobs.append(worker(f"job-{number}", 1, most, on=["a"] * size, **fields))
    used = sum(role.status.size for job in jobs for role in job.roles)
    return cluster(node("a", used + draw.between(1, 5)), *jobs)


def trickling(state: ClusterState) -> ClusterState:
    """Pods of other owners are always terminating on one node, and others take their places."""
    full = node("trickle", 16)
    busy = replace(full, used=full.allocatable, releasing=full.allocatable)
    others = (one for one in state.nodes if one.name != busy.name)
    return replace(state, nodes=(*others, busy))


@law(resting())
def test_growth_waits_no_longer_than_its_role_would_rest(
    reached: Reached, way: Way, state: ClusterState
) -> None:
    """Then it takes what is idle: no capacity stays idle for longer because of a wait."""
    way = dataclasses.replace(way, limits=replace(LIMITS, preempt=way.limits.preempt))
    state, since, grew = trickling(state), dict[_Key, datetime](), 0
    for _ in range(ROUNDS):
        plan, now = way.plan(state), state.observed_at
        grown = {(one.job, one.role) for one in plan.resizes if one.after > one.before}
        for key in since.keys() - {*plan.growth_waits}:
            grew += key in grown
            del since[key]
        for key in plan.growth_waits:
            restarts = any(one.key == key[0] and not one.cooldown for one in state.jobs)
            assert now - since.setdefault(key, now) < (LONGEST if restarts else REST)
        state = trickling(act(state, plan, after=min(wait(plan), REST / 4)))
    reached(grew)
