"""Laws of budgets, in any small cluster."""

from datetime import timedelta
from random import Random

import pytest
from hypothesis import assume
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import ClusterState, JobKey, QuotaCharge, Role
from edl.planner.decide import allocate
from edl.planner.decision_limits import Limits
from edl.planner.pass_results import PassResults
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.policies import POLICIES
from edl.planner.snapshot.quota_balance import QuotaLine
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.snapshot.take_snapshot import take_snapshot
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.acting import act
from tests.edl.planner.clusters import states
from tests.edl.planner.laws.test_laws import settle
from tests.edl.planner.plans import ALL, plan_for
from tests.edl.planner.snapshot.test_quota_balance import PODS, gpu_budget, quota
from tests.edl.planner.ways import Way, scheduled_otherwise
from tests.edl.reached import Reached, drawn

pytestmark = pytest.mark.laws


@packed
def budgeted(draw: Draw) -> ClusterState:
    """Any small cluster, its jobs in two namespaces with budgets that some of them are above."""
    state = draw.of(states())
    jobs = tuple(
        replace(
            found,
            key=JobKey(draw.one_of("ns", "other"), found.key.name),
            roles=tuple(_charged(part) for part in found.roles),
        )
        for found in state.jobs
    )
    found = [
        *(quota(draw.between(0, 20), draw.between(0, 3), name) for name in ("ns",)),
        *(gpu_budget(draw.between(0, 12), name) for name in ("ns", "other")),
    ]
    return replace(state, jobs=jobs, quotas=tuple(found))


def _charged(part: Role) -> Role:
    gpus = (QuotaCharge("edl.dev/gpu-budget", "GPUs", part.template.shape.requests.get("cpu")),)
    return part.changed(charges=(*PODS, *gpus))


@drawn(state=budgeted())
def test_nothing_is_taken_beyond_a_budget(reached: Reached, state: ClusterState) -> None:
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    before = {
        name: (line.remaining, line.future_remaining)
        for name, line in snapshot.quotas.lines.items()
    }
    allocate(snapshot, PassResults(), GrowthCeiling(snapshot))
    reached(
        any(
            before[name] != (at.remaining, at.future_remaining)
            for name, at in snapshot.quotas.lines.items()
        )
    )
    for name, line in snapshot.quotas.lines.items():
        now, soon = before[name]
        assert line.remaining >= min(now, 0)
        assert line.future_remaining >= min(soon, 0)


@drawn(state=budgeted())
def test_the_books_agree_with_the_seats(reached: Reached, state: ClusterState) -> None:
    """What is left soon is what replicas, and what is kept for the queue, do not count."""
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    before = {line: line.future_remaining for line in snapshot.quotas.lines.values()}
    counted = {line: _seated(snapshot.allocations, line) for line in before}
    results = PassResults()
    allocate(snapshot, results, GrowthCeiling(snapshot))
    reached(any(line.future_remaining != soon for line, soon in before.items()))
    for line, soon in before.items():
        left = soon + counted[line] - _seated(snapshot.allocations, line)
        assert line.future_remaining <= left
        assert line.future_remaining == left or results.wait_reasons


def _seated(allocations: list[RoleAllocation], line: QuotaLine) -> int:
    return sum(
        found.quota_request.amount(line)
        for found in allocations
        for one in found.placements
        if one.counts_in_quota
    )


@drawn(state=budgeted(), random=st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(
    reached: Reached, state: ClusterState, random: Random
) -> None:
    jobs, quotas = list(state.jobs), list(state.quotas)
    random.shuffle(jobs)
    random.shuffle(quotas)
    mixed = replace(state, jobs=tuple(jobs), quotas=tuple(quotas))
    plan = plan_for(state)
    reached(plan.resizes or plan.admissions)
    assert plan_for(mixed) == plan


@drawn(state=budgeted())
def test_deciding_and_acting_soon_reaches_a_fixed_point(
    reached: Reached, state: ClusterState
) -> None:
    settled, plans = settle(Way(POLICIES["fair"], ALL), state)
    reached(any(plan.resizes for plan in plans))
    assume(not scheduled_otherwise(plans))
    for plan in (plans[-1], plan_for(act(settled, plans[-1], after=timedelta(hours=1)))):
        assert plan == replace(plan, admissions=(), resizes=(), suspensions=())
