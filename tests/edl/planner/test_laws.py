"""Laws that hold in every cluster."""

from datetime import timedelta
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import ClusterState, JobKey, Resizing, Role, TrainingJob
from edl.planner.decide import seat
from edl.planner.growth import Ceiling
from edl.planner.ledger import Ledger
from edl.planner.opening import set_up
from edl.planner.plan import Plan
from edl.resources import Resources
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.clusters import states
from tests.edl.planner.states import cluster, node, shape, worker
from tests.edl.planner.ways import WAYS, Way, scheduled_otherwise, wait

pytestmark = pytest.mark.laws

under_every_policy = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


def role_of(state: ClusterState, key: JobKey, name: str) -> Role:
    found = next(job for job in state.jobs if job.key == key)
    return next(role for role in found.roles if role.name == name)


@under_every_policy
@settings(max_examples=30, deadline=None)
@given(states(), st.integers())
def test_the_order_of_the_input_does_not_matter(way: Way, state: ClusterState, seed: int) -> None:
    random = Random(seed)  # noqa: S311 (it only mixes)
    mixed = ClusterState(
        state.observed_at,
        tuple(random.sample(state.nodes, len(state.nodes))),
        tuple(random.sample(state.jobs, len(state.jobs))),
        tuple(random.sample(state.demands, len(state.demands))),
    )
    assert way.plan(mixed) == way.plan(state)


@under_every_policy
@settings(max_examples=30, deadline=None)
@given(states())
def test_what_is_started_now_fits_what_is_free_now(way: Way, state: ClusterState) -> None:
    """Counted over the whole cluster; by node the scheduler has the last word."""
    plan = way.plan(state)
    free = sum((n.allocatable - n.used for n in state.nodes if n.schedulable), Resources())
    for admission in plan.admissions:
        for name, size in admission.sizes:
            free -= role_of(state, admission.job, name).shape.requests * size
    for resize in plan.resizes:
        more = max(resize.after - resize.before, 0)
        free -= role_of(state, resize.job, resize.role).shape.requests * more
    assert all(amount >= 0 for _, amount in free)


@under_every_policy
@settings(max_examples=30, deadline=None)
@given(states())
def test_sizes_stay_between_min_and_max(way: Way, state: ClusterState) -> None:
    plan = way.plan(state)
    for resize in plan.resizes:
        role = role_of(state, resize.job, resize.role)
        assert resize.before == role.size
        assert role.min <= resize.after <= role.max
        assert role.resizing is not Resizing.FIXED
        assert resize.restart == (role.resizing is Resizing.RESTART)
    for admission in plan.admissions:
        for name, size in admission.sizes:
            role = role_of(state, admission.job, name)
            assert role.min <= size <= role.max


@under_every_policy
@settings(max_examples=30, deadline=None)
@given(states())
def test_a_gang_starts_with_all_its_roles_or_none(way: Way, state: ClusterState) -> None:
    for admission in way.plan(state).admissions:
        job = next(job for job in state.jobs if job.key == admission.job)
        assert [name for name, _ in admission.sizes] == [
            role.name for role in job.live if role.suspended
        ]


@under_every_policy
@settings(max_examples=30, deadline=None)
@given(states())
def test_shrinks_come_before_growths(way: Way, state: ClusterState) -> None:
    grows = [resize.after > resize.before for resize in way.plan(state).resizes]
    assert grows == sorted(grows)


@under_every_policy
@settings(max_examples=30, deadline=None)
@given(states())
def test_each_job_is_named_at_most_once_and_everybody_who_waits_is_told_why(
    way: Way, state: ClusterState
) -> None:
    plan = way.plan(state)
    roles = [(found.job, found.role) for found in plan.resizes]
    assert len(roles) == len(set(roles))
    started = {found.job for found in plan.admissions}
    held = [found.job for found in plan.held]
    assert len(held) == len(set(held))
    assert not started & set(held)
    waiting = {job.key for job in state.jobs if all(role.suspended for role in job.roles)}
    assert waiting <= started | set(held)
    positions = [found.position for found in plan.held if found.position]
    assert positions == list(range(1, len(positions) + 1))
    given_reasons = [found.reason for found in plan.held]
    given_reasons += [found.reason for found in plan.resizes]
    given_reasons += [found.reason for found in plan.admissions]
    assert all(given_reasons)


@under_every_policy
@settings(max_examples=30, deadline=None)
@given(states())
def test_only_the_lower_and_equal_priority_makes_room(way: Way, state: ClusterState) -> None:
    """Without others' pods and without a queue of its own priority or above, nobody shrinks."""
    highest = max((job.priority for job in state.jobs), default=0)
    plan = way.plan(ClusterState(state.observed_at, state.nodes, state.jobs))
    queued = [job.priority for job in state.jobs if all(role.suspended for role in job.roles)]
    if max(queued, default=-1) < highest:
        for resize in plan.resizes:
            job = next(job for job in state.jobs if job.key == resize.job)
            if resize.after < resize.before and job.priority == highest:
                assert "makes room" not in resize.reason


def settle(way: Way, state: ClusterState, rounds: int = 40) -> tuple[ClusterState, list[Plan]]:
    plans = []
    for _ in range(rounds):
        plan = way.plan(state)
        plans.append(plan)
        demands = state.demands
        state = act(state, plan, after=wait(plan))
        if quiet(plan) and plan.recheck_after is None and state.demands == demands:
            break
    return state, plans


@under_every_policy
@settings(max_examples=50, deadline=None)
@given(states())
def test_deciding_and_acting_soon_changes_nothing_any_more(way: Way, state: ClusterState) -> None:
    settled, plans = settle(way, state)
    assume(not scheduled_otherwise(plans))
    assert quiet(plans[-1])
    later = act(settled, plans[-1], after=timedelta(hours=1))
    assert quiet(way.plan(later))


@under_every_policy
@pytest.mark.parametrize("spreading", [False, True])
def test_who_grows_never_keeps_a_claim_of_higher_priority_waiting(
    way: Way, *, spreading: bool
) -> None:
    """The scheduler knows of no claim: it may put new pods wherever there is room."""
    low = worker("low", 2, 10, wanted=6, on=["std", "std"] + ["gpu"] * 4)
    high = worker("high", 3, 3, shape=shape(2, gpu=1), priority=1000, queued=-60)
    state = cluster(node("gpu", 6, gpu=3), node("std", 4), low, high)
    plans = []
    for _ in range(40):
        plans.append(way.plan(state))
        state = act(state, plans[-1], after=timedelta(seconds=2), spreading=spreading)
    assert sum(len(plan.admissions) for plan in plans) == 1
    assert quiet(plans[-1])


@under_every_policy
@settings(max_examples=30, deadline=None)
@given(states())
def test_one_step_leaves_no_size_to_change(way: Way, state: ClusterState) -> None:
    """Among those who run, while pods that leave still hold their room.

    What comes then has waited for the scheduler to place others.
    """
    run = tuple(job for job in state.jobs if not any(role.suspended for role in job.roles))
    alone = replace(state, jobs=run, demands=())
    plan = way.plan(alone)
    again = way.plan(act(alone, plan, after=timedelta(), lingering=True))
    assert again.suspensions == ()
    assert all(found.after > found.before for found in again.resizes)
    waited = {found.job for found in plan.held}
    assert {found.job for found in (*again.admissions, *again.resizes)} <= waited


@under_every_policy
@settings(max_examples=30, deadline=None)
@given(states())
def test_a_constant_cluster_does_not_thrash(way: Way, state: ClusterState) -> None:
    """Every replica that could be placed moves a few times at most."""
    _, plans = settle(way, state)
    most = sum(role.max for job in state.jobs for role in job.roles)
    moved = sum(abs(found.after - found.before) for plan in plans for found in plan.resizes)
    assert moved <= 3 * most + 3


@under_every_policy
@settings(max_examples=30, deadline=None)
@given(states())
def test_a_higher_priority_never_waits_for_extras_of_a_lower(way: Way, state: ClusterState) -> None:
    """If a queued one-role gang would fit without all lower extras, extras go or it starts."""
    plan = way.plan(state)
    held = {found.job: found for found in plan.held if found.position}
    for job in state.jobs:
        if job.key in held and "needs" in held[job.key].reason:
            assert not would_fit(state, job, plan), held[job.key]


def would_fit(state: ClusterState, job: TrainingJob, plan: Plan) -> bool:
    """One pod at least, on a node that is empty but for what lower extras hold there."""
    if len(job.roles) > 1 or job.roles[0].min > 1 or state.demands or plan.admissions:
        return False
    role = job.roles[0]
    if role.wanted is not None or any(other.paused for other in state.jobs):
        return False
    lower = [other for other in state.jobs if other.priority < job.priority]
    higher = [other for other in state.jobs if other.priority >= job.priority and other is not job]
    if any(part.suspended for other in higher for part in other.roles):
        return False
    for found in state.nodes:
        selector = dict(role.shape.node_selector)
        if (
            not found.schedulable
            or found.taints
            or not selector.items() <= (found.labels or {}).items()
        ):
            continue
        free = found.allocatable - found.used
        for other in lower:
            for part in other.roles:
                if part.resizing is not Resizing.FIXED:
                    extras = [pod for pod in part.pods[part.min :] if pod.node == found.name]
                    free += part.shape.requests * len(extras)
        if all(free.get(name) >= amount for name, amount in role.shape.requests):
            return True
    return False


@under_every_policy
@settings(max_examples=30, deadline=None)
@given(states())
def test_no_node_is_filled_beyond_its_allocatable(way: Way, state: ClusterState) -> None:
    board = set_up(state, way.policy, way.limits)
    now, soon = board.grid.now.copy(), board.grid.soon.copy()
    seat(board, Ledger(), Ceiling(board))
    assert (board.grid.now >= np.minimum(now, 0)).all()
    assert (board.grid.soon >= np.minimum(soon, 0)).all()
    assert board.grid.idle_soon == board.grid.soon[:, board.grid.open].sum(axis=1).tolist()
    assert board.grid.idle_now == board.grid.now[:, board.grid.open].sum(axis=1).tolist()


@under_every_policy
@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.integers(1, 3), min_size=30, max_size=30),
    st.lists(st.integers(1, 6), min_size=30, max_size=30),
)
def test_a_large_job_starts_although_small_ones_keep_coming(
    way: Way, pods: list[int], minutes: list[int]
) -> None:
    """Jobs end after at most 6 minutes; patience is 5: the large job starts within 12."""
    state = cluster(node("a", 2), node("b", 2), worker("large", 4, 4, queued=0))
    ends: dict[JobKey, int] = {}
    for minute, (size, length) in enumerate(zip(pods, minutes, strict=True)):
        small = worker(f"small-{minute:02}", size, size, queued=60 * minute - 30)
        running = [job for job in (*state.jobs, small) if ends.get(job.key, 99) > minute]
        state = cluster(node("a", 2), node("b", 2), *running, seconds=60 * minute)
        state = act(state, way.plan(state), after=timedelta())
        for job in state.jobs:
            if not job.roles[0].suspended:
                ends.setdefault(job.key, minute + length)
        if JobKey("ns", "large") in ends:
            return
    raise AssertionError("the large job starves")
