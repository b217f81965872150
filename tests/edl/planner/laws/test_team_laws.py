"""Laws of teams, in any small cluster."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import assume, example
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.feasibility.horizon import FUTURE_IDLE
from edl.model import ClusterState, Code, JobKey, Reclaim, Team, Teams, TrainingJob
from edl.model.causes.reason_subjects import Minimum, Other, PendingPods
from edl.planner.decide import allocate
from edl.planner.decision_limits import Limits
from edl.planner.pass_results import PassResults
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.passes.team_growth import growth_order
from edl.planner.policies import POLICIES, Policy
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.extras.team_extras import TeamExtras
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.planner.teams.reclaim_priority import ReclaimPriority, ReclaimScope
from edl.planner.teams.team_balance import TeamBalance
from edl.planner.teams.team_guarantees import NO_TEAM
from edl.quantities import Resources
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner import teams as teamed
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.clusters import ALL_RUN, ROOMY, states
from tests.edl.planner.laws.test_laws import settle
from tests.edl.planner.plans import ALL, plan_for
from tests.edl.planner.states import cluster, node, worker
from tests.edl.planner.ways import Way, law, scheduled_otherwise, wait
from tests.edl.reached import Reached, drawn

if TYPE_CHECKING:
    from edl.planner.snapshot.role_allocation import RoleAllocation

pytestmark = pytest.mark.laws

NAMES = ("a", "b", "c")
FULL = (0.0, 0.0, 0.5)
"""CPU that nodes have left: what waits must take it from what runs."""
OWED = (None, 0, 2, 4, 12)
SOME = (False, False, False, False, True)
TREES = (
    (("a", ""), ("b", ""), ("c", "")),
    (("top", ""), ("a", "top"), ("b", "top"), ("c", "")),
    (("top", ""), ("mid", "top"), ("a", "mid"), ("b", "mid"), ("c", "top")),
)


def trees(
    draw: Draw,
    owed: Sequence[int | None] = OWED,
    limited: Sequence[bool] = SOME,
    keeps: Sequence[bool] = SOME,
) -> Teams:
    """Teams at one to three levels, each with a namespace of its name."""
    found = []
    for name, parent in draw.one_of(*TREES):
        cores = draw.one_of(*owed) if name in NAMES else None
        most = 3 * max(one or 0 for one in owed)
        found.append(
            teamed.team(
                name,
                cores,
                parent,
                limit=(("cpu", draw.between(most // 3, most) * 1000),)
                if draw.one_of(*limited) and name in NAMES
                else (),
                weight=draw.one_of(1.0, 1.0, 2.0, 0.5),
                lend=not draw.one_of(*keeps),
                reclaim=draw.one_of(*Reclaim),
            )
        )
    return Teams.of(found)


def split(draw: Draw, state: ClusterState, found: Teams) -> ClusterState:
    """Its jobs and waiting pods belong to any of the teams."""
    jobs = tuple(replace(job, key=JobKey(draw.one_of(*NAMES), job.key.name)) for job in state.jobs)
    demands = tuple(replace(one, team=draw.one_of(*NAMES, "default")) for one in state.demands)
    return replace(
        state,
        jobs=jobs,
        demands=demands,
        teams=found,
        namespace_teams={name: name for name in NAMES},
    )


@packed
def any_state(
    draw: Draw,
    /,
    owed: Sequence[int | None] = OWED,
    limited: Sequence[bool] = SOME,
    **fields: object,
) -> ClusterState:
    found = trees(draw, owed, limited)
    return split(draw, draw.of(states(**fields)), found)  # type: ignore[arg-type]


@packed
def uniform(draw: Draw, *, idle: int = 0, keeps: Sequence[bool] = (False,)) -> ClusterState:
    """Elastic jobs of pods with one core each on one node, which they fill but for some cores."""
    jobs, used = [], 0
    for number in range(draw.between(2, 6)):
        low = draw.between(1, 3)
        size = draw.between(low, low + 6)
        job = worker(f"j{number}", low, low + 12, on=["n"] * size, priority=draw.between(0, 2))
        jobs.append(job)
        used += size
    for number in range(0 if idle else draw.between(1, 3)):
        low = draw.between(1, 6)
        jobs.append(worker(f"q{number}", low, low, priority=draw.between(0, 2)))
    free = idle and draw.between(4, idle)
    found = trees(draw, (None, None, 0, 2) if idle else (4, 8, None), (False,), keeps)
    return split(draw, cluster(node("n", used + free), *jobs), found)


GUARANTEED_BELOW_ONE_THAT_BORROWS: Final = teamed.with_teams(
    cluster(
        node("n", 12),
        *teamed.of("a", worker("j0", 1, 13, on=["n"] * 6)),
        *teamed.of("b", worker("j1", 1, 13, on=["n"])),
        *teamed.of("c", worker("j2", 1, 13, on=["n"])),
    ),
    Team("top"),
    teamed.team("a", parent="top"),
    teamed.team("b", 2, parent="top"),
    teamed.team("c"),
)

TWO_REPLICAS_APART: Final = teamed.with_teams(
    cluster(
        node("n", 10),
        *teamed.of("a", worker("j0", 1, 13, on=["n"] * 6)),
        *teamed.of("b", worker("j1", 1, 13, on=["n"] * 4)),
    ),
    teamed.team("a"),
    teamed.team("b"),
)

TWO_REPLICAS_APART_BESIDE_ONE_THAT_KEEPS: Final = teamed.with_teams(
    cluster(
        node("n", 14),
        *teamed.of("a", worker("j0", 1, 13, on=["n"] * 6)),
        *teamed.of("b", worker("j1", 1, 13, on=["n"] * 4)),
    ),
    teamed.team("a"),
    teamed.team("b"),
    teamed.team("c", 4, lend=False),
)

ONE_BORROWED_OF_AN_OWNER: Final = teamed.with_teams(
    cluster(
        node("n", 8),
        *teamed.of("a", worker("j0", 1, 13, on=["n"] * 3)),
        *teamed.of("b", worker("j1", 1, 13, on=["n"] * 5)),
    ),
    teamed.team("a", 4),
    teamed.team("b", 4),
)


def decided(
    state: ClusterState, policy: Policy = POLICIES["fair"]
) -> tuple[Snapshot, PassResults, TeamBalance]:
    snapshot, results = take_snapshot(state, policy, ALL), PassResults()
    allocate(snapshot, results, GrowthCeiling(snapshot))
    assert snapshot.teams
    return snapshot, results, snapshot.teams


def within(amounts: Resources, owed: Resources) -> bool:
    return bool(owed) and all(amounts.get(name) <= most for name, most in owed)


@law(
    any_state(owed=(40, 40, 40, 4, None), limited=(False,), runs=ALL_RUN, others=(3, 4), spare=FULL)
)
def test_a_team_within_its_guarantee_loses_nothing_to_others(
    reached: Reached, state: ClusterState, way: Way
) -> None:
    """Pending pods of a team's Deployments count in its share: beside them its jobs may borrow."""
    plan, found = way.plan(state), state.teams
    held, after = teamed.before(state), teamed.after(state, plan)
    safe = [
        team.name
        for team in found
        for owed in [found.guaranteed[team.name]]
        for asked in [_asked_for(state, team.name)]
        if within(held[team.name] + asked, owed)
        and within(after[team.name] + asked, owed)
        and not any(map(_asks, _below(state, team.name)))
    ]
    reached(safe and (plan.suspensions or plan.resizes))
    for name in safe:
        mine = {job.key for job in _below(state, name)}
        lost = [one for one in plan.resizes if one.after < one.before and one.job in mine]
        stopped = [one.reason for one in plan.suspensions if one.job in mine]
        for reason in (*(one.reason for one in lost), *stopped):
            taker = _taker(state, reason.about)
            assert taker is None or name in found.path(taker)


def _asked_for(state: ClusterState, team: str) -> Resources:
    """What the pending pods of a team's other owners request, with the teams below it."""
    found: Counter[str] = Counter()
    for one in state.demands:
        if one.team and team in state.teams.path(one.team):
            found.update({name: amount * one.count for name, amount in one.shape.requests})
    return Resources.of(found)


def _asks(job: TrainingJob) -> bool:
    return any(role.status.suspended or role.status.size < role.spec.min for role in job.live)


def _below(state: ClusterState, name: str) -> list[TrainingJob]:
    return [job for job in state.jobs if name in state.teams.path(state.team_of(job.key.namespace))]


def _taker(state: ClusterState, about: object) -> str | None:
    """The team for which replicas yield."""
    match about:
        case Other(job) | Minimum(job):
            return state.team_of(job.namespace)
        case PendingPods(example):
            return next(one.team for one in state.demands if one.example == example)
    return None


@drawn(state=uniform())
def test_no_borrower_keeps_extras_while_an_owner_waits(
    reached: Reached, state: ClusterState
) -> None:
    """Its guarantee covers it beside extras of its team that yield to it, which yield first.

    Rebalancing is left out: queued jobs come before what it moves in the next plan.
    """
    snapshot, results, balance = decided(state, replace(POLICIES["fair"], balances=False))
    extras = TeamExtras(balance, snapshot.allocations)
    waiting = [
        (job, charge)
        for job in snapshot.jobs
        if results.wait_reasons.get(job.key)
        and results.wait_reasons[job.key].code is Code.INSUFFICIENT_CAPACITY
        and job.key in results.queue
        for charge in [extras.with_yielding(_charge(snapshot, job), ReclaimPriority(job.priority))]
        if charge.covered_by() != NO_TEAM
    ]
    reached(waiting or any(one.reason for one in snapshot.allocations))
    for job, charge in waiting:
        scope = snapshot.reclaim_scope(ReclaimPriority(job.priority), charge)
        freed = _reclaimed(snapshot, scope)
        idle = dict(
            zip(snapshot.capacity.resources, snapshot.capacity.total_future_idle, strict=True)
        )
        assert idle["cpu"] // 1000 + freed < job.roles[0].spec.min


def _reclaimed(snapshot: Snapshot, scope: ReclaimScope) -> int:
    """How many replicas a claim can take, one after the other; they count as gone no longer."""
    gone: list[RoleAllocation] = []
    while True:
        may = (
            one
            for one in snapshot.allocations
            if one.resizable
            and one.size - gone.count(one) > one.min_replicas
            and not one.starts
            and scope.includes(one.team, one.reclaim_priority)
        )
        if (found := next(may, None)) is None or found.quota_request is None:
            break
        found.quota_request.reserve(FUTURE_IDLE, -1)
        gone.append(found)
    for one in gone:
        one.quota_request.reserve(FUTURE_IDLE, 1)
    return len(gone)


def _charge(snapshot: Snapshot, job: TrainingJob):  # type: ignore[no-untyped-def] # noqa: ANN202
    request = snapshot.quotas.request_of(job, [(role, role.spec.min) for role in job.roles])
    assert request.team
    return request.team


@example(state=GUARANTEED_BELOW_ONE_THAT_BORROWS)
@drawn(state=uniform(idle=20))
def test_idle_capacity_is_shared_within_a_replica_of_weighted_dominant_shares(
    reached: Reached, state: ClusterState
) -> None:
    """Growth within a guarantee comes before that, also below a team that borrows already."""
    snapshot, _, balance = decided(state, replace(POLICIES["fair"], balances=False))
    got = {one.team for one in snapshot.allocations if one.growth > 0}
    could = [one for one in snapshot.allocations if one.size < one.max_replicas]
    core, compared = balance.charge(0, [("cpu", 1000)]), 0
    for one in could:
        for team in got - {one.team}:
            mine, theirs = _parted(balance, one.team, team)
            if mine and theirs and not any(_is_within(balance, level) for level in theirs):
                compared += 1
                less = balance.share_without(theirs[-1], core.amounts)
                assert less <= balance.share(mine[-1]) + 1e-9
                charge = one.quota_request.team
                assert not any(charge and charge.is_within(level) for level in mine)
    reached(compared)


@drawn(state=any_state(), random=st.randoms(use_true_random=False))
def test_roles_wait_for_moves_to_recipients_if_their_team_does(
    reached: Reached, state: ClusterState, random: Random
) -> None:
    """They wait for a team with a smaller share."""
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    assert snapshot.teams
    numbers = range(len(snapshot.teams.names))
    recipients = random.sample(state.jobs, min(2, len(state.jobs)))
    for job in recipients:
        snapshot.moves.recipients[job.key] = random.choice(numbers)
    others = [one for one in snapshot.allocations if one.job not in recipients]
    reached(others)
    for one in others:
        has_least = all(
            has_at_most_the_share(snapshot.teams, one.team, other)
            for other in snapshot.moves.recipients.values()
        )
        assert snapshot.waits_for_moves(one, one.size) == (not has_least)


def has_at_most_the_share(balance: TeamBalance, team: int, other: int) -> bool:
    """Compared where their paths part, from the top; False if one is above the other, or both."""
    levels = zip(reversed(balance.paths[team]), reversed(balance.paths[other]), strict=False)
    for mine, theirs in levels:
        if mine != theirs:
            return balance.share(mine) <= balance.share(theirs)
    return False


@example(state=TWO_REPLICAS_APART)
@example(state=ONE_BORROWED_OF_AN_OWNER)
@example(state=TWO_REPLICAS_APART_BESIDE_ONE_THAT_KEEPS)
@drawn(state=uniform(idle=20, keeps=(False, False, True)))
def test_teams_come_to_rest_within_a_replica_of_weighted_dominant_shares(
    reached: Reached, state: ClusterState
) -> None:
    """None moves to the team that is the next to grow, and an owner lacks no borrowed replica."""
    kept = {name: getattr(state, name) for name in ("teams", "namespace_teams")}
    plan = plan_for(state)
    for _ in range(40):
        if quiet(plan) and plan.recheck_after is None:
            break
        state = replace(act(state, plan, after=wait(plan)), **kept)
        plan = plan_for(state)
    assert quiet(plan)
    snapshot, _, balance = decided(state)
    could = [one for one in snapshot.allocations if one.size < one.max_replicas]
    first = next(growth_order(balance, snapshot.policy, could), None)
    gives = {one.team for one in snapshot.allocations if one.size > one.min_replicas}
    core, compared = balance.charge(0, [("cpu", 1000)]).amounts, 0
    overlent = balance.kept.left(balance.resources.index("cpu")) < 0
    for team in gives if not overlent else ():
        if first is None:
            break
        mine, theirs = _parted(balance, first.team, team)
        if mine and theirs and balance.all_borrow(first.team, team):
            compared += 1
            less = balance.share_without(theirs[-1], core)
            assert less <= balance.share(mine[-1]) + 1e-9
            charge = first.quota_request.team
            assert charge is not None
            assert not any(charge.is_within(level) for level in mine)
    reached(compared)


def _parted(balance: TeamBalance, team: int, other: int) -> tuple[Sequence[int], Sequence[int]]:
    """The paths of two teams below the lowest that both belong to."""
    return balance.below_common(other, team), balance.below_common(team, other)


def _is_within(balance: TeamBalance, team: int) -> bool:
    """Whether all that a team holds is guaranteed to it."""
    return bool(balance.guaranteed[team]) and not balance.borrows(team)


@law(any_state(spare=ROOMY), random=st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(
    reached: Reached, state: ClusterState, way: Way, random: Random
) -> None:
    jobs, found, names = list(state.jobs), list(state.teams), list(state.namespace_teams.items())
    for one in (jobs, found, names):
        random.shuffle(one)
    mixed = replace(state, jobs=tuple(jobs), teams=Teams.of(found), namespace_teams=dict(names))
    plan = way.plan(state)
    reached(plan.resizes or plan.admissions)
    assert way.plan(mixed) == plan


@law(any_state(spare=ROOMY))
def test_one_team_alone_decides_as_none_does(
    reached: Reached, state: ClusterState, way: Way
) -> None:
    alone = replace(state, teams=Teams.of([Team("a")]), namespace_teams={})
    alone = replace(alone, demands=tuple(replace(one, team="default") for one in alone.demands))
    none = replace(state, teams=Teams())
    plan = way.plan(none)
    reached(plan.resizes or plan.admissions)
    assert way.plan(alone) == plan


@drawn(state=any_state(spare=ROOMY))
def test_deciding_and_acting_soon_reaches_a_fixed_point(
    reached: Reached, state: ClusterState
) -> None:
    settled, plans = settle(Way(POLICIES["fair"], ALL), state)
    reached(any(plan.resizes or plan.suspensions for plan in plans))
    assume(not scheduled_otherwise(plans))
    for plan in (plans[-1], plan_for(act(settled, plans[-1], after=timedelta(hours=1)))):
        assert plan == replace(plan, admissions=(), resizes=(), suspensions=())


@drawn(state=any_state())
def test_the_books_agree_with_the_placements_at_each_level(
    reached: Reached, state: ClusterState
) -> None:
    """What teams hold is what their replicas do, and what is kept for those that wait."""
    snapshot, results, balance = decided(state)
    reached(snapshot.allocations)
    counted = TeamBalance(state.teams, state.team_usage, {"cpu": 1})
    for one in snapshot.allocations:
        if one.quota_request.team:
            pods = sum(found.counts_in_quota for found in one.placements)
            amounts = [(name, amount) for name, amount in one.role.template.shape.requests]
            counted.charge(one.team, amounts).reserve(pods)
    for resource in set(balance.resources) & set(counted.resources):
        at, there = balance.resources.index(resource), counted.resources.index(resource)
        for number in range(len(balance.names)):
            assert balance.used[number][at] >= counted.used[number][there]
            if not (results.wait_reasons or state.demands or results.suspended):
                assert balance.used[number][at] == counted.used[number][there]


@law(any_state(limited=(True,), spare=ROOMY))
def test_no_team_is_brought_above_its_limit(
    reached: Reached, state: ClusterState, way: Way
) -> None:
    plan = way.plan(state)
    before, after = teamed.before(state), teamed.after(state, plan)
    limited = [(team.name, *limit) for team in state.teams for limit in team.limit]
    reached(limited and (plan.resizes or plan.admissions))
    for name, resource, most in limited:
        assert after[name].get(resource) <= max(most, before[name].get(resource))
