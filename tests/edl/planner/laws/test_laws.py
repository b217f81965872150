"""Laws that hold in every cluster."""

from datetime import timedelta
from random import Random

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.feasibility.eligibility import Eligibility
from edl.model import ClusterState, JobKey, ResizePolicy, Role, TrainingJob
from edl.model.causes.reason_subjects import Other
from edl.planner.decide import allocate
from edl.planner.pass_results import PassResults
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.plan import Plan, Resize
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.quantities import Resources
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.clusters import ALL_RUN, MAX_WAIT, ROOMY, states
from tests.edl.planner.laws.test_constant_cluster import (
    giver_that_frees_more_than_its_taker_needs,
    job_in_its_cooldown_that_two_replicas_make_room_for,
    narrow_job_beside_one_that_may_use_every_node,
    restart_for_as_much_of_a_manual_size_as_fits,
    restarting_job_that_can_block_its_chief,
    smallest_donor_that_the_load_ceiling_excludes,
)
from tests.edl.planner.states import cluster, node, shape, worker
from tests.edl.planner.ways import WAYS, Way, law, scheduled_otherwise, wait
from tests.edl.reached import Reached

pytestmark = pytest.mark.laws

STATES = states()
GROWING = states(runs=ALL_RUN, spare=ROOMY, others=(0,))
PRESSED = states(others=(0,))
FULL = states(runs=ALL_RUN, spare=(0.0, 0.5), others=(0,))
QUEUES = states(runs=MAX_WAIT, spare=ROOMY, others=(0,))
STARTING = states(runs=(True, False), spare=(2.0, 4.0, 8.0), others=(0,))
under_every_policy = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())


def role_of(state: ClusterState, key: JobKey, name: str) -> Role:
    found = next(job for job in state.jobs if job.key == key)
    return next(role for role in found.roles if role.name == name)


@law(STATES, seed=st.integers())
def test_the_order_of_the_input_does_not_matter_and_each_job_is_named_once(
    reached: Reached, way: Way, state: ClusterState, seed: int
) -> None:
    random = Random(seed)  # noqa: S311 - it only mixes
    mixed = ClusterState(
        state.observed_at,
        tuple(random.sample(state.nodes, len(state.nodes))),
        tuple(random.sample(state.jobs, len(state.jobs))),
        tuple(random.sample(state.demands, len(state.demands))),
    )
    plan = way.plan(state)
    reached(plan.resizes or plan.admissions)
    assert way.plan(mixed) == plan
    check_that_each_job_is_named_once_and_every_queued_job_has_a_reason(plan, state)


def check_that_each_job_is_named_once_and_every_queued_job_has_a_reason(
    plan: Plan, state: ClusterState
) -> None:
    roles = [(found.job, found.role) for found in plan.resizes]
    assert len(roles) == len(set(roles))
    started = {found.job for found in plan.admissions}
    held = [found.job for found in plan.waiting]
    assert len(held) == len(set(held))
    assert not started & set(held)
    waiting = {job.key for job in state.jobs if all(role.status.suspended for role in job.roles)}
    assert waiting <= started | set(held)
    positions = [found.position for found in plan.waiting if found.position]
    assert positions == list(range(1, len(positions) + 1))
    given_reasons = [found.reason for found in plan.waiting]
    given_reasons += [found.reason for found in plan.resizes]
    given_reasons += [found.reason for found in plan.admissions]
    assert all(given_reasons)


@law(STARTING)
def test_what_is_started_now_fits_what_is_free_now(
    reached: Reached, way: Way, state: ClusterState
) -> None:
    """Counted over the whole cluster; by node the scheduler has the last word."""
    plan = way.plan(state)
    free = sum((n.allocatable - n.used for n in state.nodes if n.schedulable), Resources())
    for admission in plan.admissions:
        for name, size in admission.sizes:
            free -= role_of(state, admission.job, name).template.shape.requests * size
    for resize in plan.resizes:
        more = max(resize.after - resize.before, 0)
        free -= role_of(state, resize.job, resize.role).template.shape.requests * more
    grows = any(found.after > found.before for found in plan.resizes)
    reached(grows or plan.admissions)
    assert all(amount >= 0 for _, amount in free)


@law(GROWING)
def test_sizes_stay_between_min_and_max_and_shrinks_come_before_growths(
    reached: Reached, way: Way, state: ClusterState
) -> None:
    plan = way.plan(state)
    reached(plan.resizes)
    grows = [resize.after > resize.before for resize in plan.resizes]
    assert grows == sorted(grows)
    for resize in plan.resizes:
        role = role_of(state, resize.job, resize.role)
        assert resize.before == role.status.size
        assert role.spec.min <= resize.after <= role.spec.max
        assert role.spec.resizing is not ResizePolicy.FIXED
        assert resize.restart == (role.spec.resizing is ResizePolicy.RESTART)
    for admission in plan.admissions:
        for name, size in admission.sizes:
            role = role_of(state, admission.job, name)
            assert role.spec.min <= size <= role.spec.max


@law(QUEUES)
def test_a_gang_starts_with_all_its_roles_or_none(
    reached: Reached, way: Way, state: ClusterState
) -> None:
    plan = way.plan(state)
    reached(plan.admissions)
    for admission in plan.admissions:
        job = next(job for job in state.jobs if job.key == admission.job)
        assert [name for name, _ in admission.sizes] == [
            role.name for role in job.live if role.status.suspended
        ]


@law(PRESSED)
def test_only_the_lower_and_equal_priority_makes_room(
    reached: Reached, way: Way, state: ClusterState
) -> None:
    """Without others' pods, equal shares and manual sizes, only the queue makes jobs shrink."""
    asking = worker("asks", 3, 3, priority=1, queued=-60)
    state = replace(state, jobs=(asking, *(ranked(one) for one in state.jobs)))
    asks = max((job.priority for job in state.jobs if waits(job)), default=-1)
    above = {job.key: job for job in state.jobs if job.priority > asks and not waits(job)}
    plan = Way(replace(way.policy, balances=False), way.limits).plan(state)
    reclaimable = any(
        role.status.size > role.spec.min for job in above.values() for role in job.roles
    )
    reached(reclaimable)
    shrinks = [found.job for found in plan.resizes if found.after < found.before]
    assert not [key for key in shrinks if key in above]


def waits(job: TrainingJob) -> bool:
    return all(role.status.suspended for role in job.roles) and not job.paused


def ranked(job: TrainingJob) -> TrainingJob:
    """Most that run come before those that wait; none has a manual size, and none is paused."""
    priority = job.priority if waits(job) else job.priority + 2
    roles = tuple(role.changed(replicas=None) for role in job.roles)
    return replace(job, priority=priority, roles=roles, paused=False)


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


@example(way=WAYS["weighted"], state=restarting_job_that_can_block_its_chief())
@law(STATES)
def test_deciding_and_acting_soon_reaches_a_fixed_point_and_does_not_thrash(
    reached: Reached, way: Way, state: ClusterState
) -> None:
    """Until then, every replica that could be placed moves a few times at most."""
    settled, plans = settle(way, state)
    reached(any(plan.resizes for plan in plans))
    most = sum(role.spec.max for job in state.jobs for role in job.roles)
    moved = sum(abs(found.after - found.before) for plan in plans for found in plan.resizes)
    assert moved <= 3 * most + 3
    assume(not scheduled_otherwise(plans))
    assert quiet(plans[-1])
    later = act(settled, plans[-1], after=timedelta(hours=1))
    assert quiet(way.plan(later))


@under_every_policy
@pytest.mark.parametrize("spreading", [False, True])
def test_growth_never_keeps_a_claim_of_higher_priority_waiting(
    way: Way, *, spreading: bool
) -> None:
    """The scheduler knows of no claim: it may put new pods wherever there is room."""
    low = worker("low", 2, 10, replicas=6, on=["std", "std"] + ["gpu"] * 4)
    high = worker("high", 3, 3, shape=shape(2, gpu=1), priority=1000, queued=-60)
    state = cluster(node("gpu", 6, gpu=3), node("std", 4), low, high)
    plans = []
    for _ in range(40):
        plans.append(way.plan(state))
        state = act(state, plans[-1], after=timedelta(seconds=2), spreading=spreading)
    assert sum(len(plan.admissions) for plan in plans) == 1
    assert quiet(plans[-1])


def two_steps(way: Way, state: ClusterState) -> tuple[Plan, Plan]:
    """Two plans for the jobs that run; pods that leave for the first still hold their room."""
    run = tuple(job for job in state.jobs if not any(role.status.suspended for role in job.roles))
    alone = replace(state, jobs=run, demands=())
    plan = way.plan(alone)
    return plan, way.plan(act(alone, plan, after=timedelta(), lingering=True))


def check_that_only_held_roles_grow(first: Plan, again: Plan) -> None:
    assert again.suspensions == ()
    assert all(found.after > found.before for found in again.resizes)
    waited = {found.job for found in first.waiting}
    grown = {found.job for found in again.admissions} | {found.job for found in again.resizes}
    assert grown <= waited


def without_late_moves(way: Way, first: Plan, again: Plan) -> Plan:
    """The second plan without the moves that the first one could have made.

    A plan does not try all sets of donors: of those that suffice alone it tries the most satisfied,
    of several it collects them in one order, and a recipient that got nothing does not ask again
    once others have freed more than they needed. The second plan has fewer donors, as some cool
    down or restart, and places anew what has no pods yet: it may find a donor that the first one
    did not. But such a donor is a role whose size the first plan left, and gives to a job that it
    let wait.
    """
    sized = {(found.job, found.role) for found in first.resizes}
    waited = {found.job for found in first.waiting}

    def is_late(found: Resize) -> bool:
        about = found.reason.about
        gives = found.after < found.before and found.reason.code is way.policy.rebalance_code
        left = (found.job, found.role) not in sized
        return gives and left and isinstance(about, Other) and about.job in waited

    return replace(again, resizes=tuple(found for found in again.resizes if not is_late(found)))


@example(way=WAYS["utilisation"], state=smallest_donor_that_the_load_ceiling_excludes())
@law(GROWING)
def test_one_step_leaves_no_size_to_change_except_by_late_moves(
    reached: Reached, way: Way, state: ClusterState
) -> None:
    """Where the plan places all pods: kube-scheduler may bind others to nodes meant for a third."""
    jobs = tuple(
        replace(job, roles=tuple(role.changed(gated=True) for role in job.roles))
        for job in state.jobs
    )
    first, again = two_steps(way, replace(state, jobs=jobs))
    reached(first.resizes)
    check_that_only_held_roles_grow(first, without_late_moves(way, first, again))


@pytest.mark.parametrize(
    ("way", "state"),
    [
        ("fair", narrow_job_beside_one_that_may_use_every_node()),
        ("fair", giver_that_frees_more_than_its_taker_needs()),
        ("fifo", job_in_its_cooldown_that_two_replicas_make_room_for()),
        ("utilisation", restart_for_as_much_of_a_manual_size_as_fits()),
    ],
)
def test_one_step_leaves_no_size_to_change_where_kube_scheduler_places_pods(
    way: str, state: ClusterState
) -> None:
    check_that_only_held_roles_grow(*two_steps(WAYS[way], state))


@law(FULL)
def test_a_higher_priority_never_waits_for_extras_of_a_lower(
    reached: Reached, way: Way, state: ClusterState
) -> None:
    """One pod of the highest priority that fits beside all minimums starts, or extras shrink."""
    high = worker("high", 1, 1, shape=shape(1.5), priority=9, queued=-60)
    run = tuple(job for job in state.jobs if not waits(job) and not job.paused)
    state = replace(state, jobs=(*run, high), demands=())
    pod_classes = room_without_extras(state, high)
    reached(pod_classes and not room_without_extras(state, high, reclaimable=False))
    plan = way.plan(state)
    shrinks = any(found.after < found.before for found in plan.resizes)
    assert shrinks or not pod_classes or high.key in {found.job for found in plan.admissions}


def room_without_extras(
    state: ClusterState, asks: TrainingJob, *, reclaimable: bool = True
) -> bool:
    """Whether one pod fits a node on which others have only their minimums, or all they have."""
    (role,) = asks.roles
    mask = Eligibility(state.nodes).mask(role.template.shape)
    free = {found.name: found.allocatable - found.used for found in state.nodes}
    for part in (part for job in state.jobs for part in job.roles if reclaimable):
        movable = part.spec.resizing is not ResizePolicy.FIXED
        for pod in part.status.pods[part.spec.min :] if movable else ():
            free[pod.node] += part.template.shape.requests
    return any(
        may
        and all(
            free[found.name].get(name) >= amount for name, amount in role.template.shape.requests
        )
        for found, may in zip(state.nodes, mask, strict=True)
    )


@law(GROWING)
def test_no_node_is_filled_beyond_its_allocatable(
    reached: Reached, way: Way, state: ClusterState
) -> None:
    snapshot = take_snapshot(state, way.policy, way.limits)
    now, soon = snapshot.capacity.idle.copy(), snapshot.capacity.future_idle.copy()
    allocate(snapshot, PassResults(), GrowthCeiling(snapshot))
    reached((snapshot.capacity.future_idle != soon).any())
    assert (snapshot.capacity.idle >= np.minimum(now, 0)).all()
    assert (snapshot.capacity.future_idle >= np.minimum(soon, 0)).all()
    assert (
        snapshot.capacity.total_future_idle
        == snapshot.capacity.future_idle[:, snapshot.capacity.schedulable].sum(axis=1).tolist()
    )
    assert (
        snapshot.capacity.total_idle
        == snapshot.capacity.idle[:, snapshot.capacity.schedulable].sum(axis=1).tolist()
    )


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
            if not job.roles[0].status.suspended:
                ends.setdefault(job.key, minute + length)
        if JobKey("ns", "large") in ends:
            return
    raise AssertionError("the large job starves")
