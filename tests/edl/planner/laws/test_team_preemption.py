"""Guarantees and priorities agree: a cluster of teams that nothing else changes comes to rest."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import ClusterState, Code, Reclaim, Team, Teams, TrainingJob
from edl.planner.plan import Plan
from edl.quantities import Resources
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.plans import ALL, plan_for
from tests.edl.planner.states import cluster, node, shape, worker
from tests.edl.planner.teams import of, team
from tests.edl.planner.ways import wait
from tests.edl.reached import Reached, drawn

pytestmark = pytest.mark.laws

GPU = "nvidia.com/gpu"
NAMES = ("a", "b", "c")
PARENTS = (
    {"a": "", "b": "", "c": ""},
    {"top": "", "a": "top", "b": "top", "c": ""},
    {"top": "", "mid": "top", "a": "mid", "b": "mid", "c": "top"},
)
ROUNDS = 40


def amounts(cpu: int, gpu: int) -> Resources:
    return Resources.parse({"cpu": cpu, GPU: gpu})


def trees(draw: Draw) -> Teams:
    """Guarantees of CPU, of GPUs, of both or of neither."""
    found = []
    for name, parent in draw.one_of(*PARENTS).items():
        owed = amounts(draw.one_of(0, 0, 1, 2, 3, 4, 6), draw.one_of(0, 0, 1, 2))
        fields: dict[str, Any] = {
            "guaranteed": owed if name in NAMES else Resources(),
            "lend": draw.one_of(0, 1, 1, 1) == 1,
            "reclaim": draw.one_of(Reclaim.JOBS, Reclaim.JOBS, Reclaim.REPLICAS),
        }
        found.append(replace(team(name, parent=parent), **fields))
    return Teams.of(found)


@packed
def contended(draw: Draw) -> ClusterState:
    """Jobs that mostly have one size ask for more than a few small nodes have."""
    nodes = [
        node(f"n{number}", draw.between(2, 6), gpu=draw.one_of(0, 1, 2))
        for number in range(draw.between(1, 3))
    ]
    room = {one.name: one.allocatable for one in nodes}
    jobs = [_job(draw, number, room) for number in range(draw.between(4, 9))]
    return in_teams(cluster(*nodes, *jobs), trees(draw))


def _job(draw: Draw, number: int, room: dict[str, Resources]) -> TrainingJob:
    """One that runs where it finds room in their order, or waits."""
    low = draw.between(1, 3)
    kind = shape(draw.one_of(1, 1, 1, 2, 3), gpu=draw.one_of(0, 1))
    on = _placed(kind.requests, low, room) if draw.yes() else []
    for name in on:
        room[name] -= kind.requests
    fields = {"priority": draw.one_of(0, 0, 1, 2), "queued": -draw.between(0, 9000)}
    job = worker(
        f"j{number}", low, low + draw.one_of(0, 0, 0, 2), shape=kind, on=on or None, **fields
    )
    return of(draw.one_of(*NAMES), job)[0]


def _placed(needs: Resources, pods: int, room: dict[str, Resources]) -> list[str]:
    """The nodes of all its pods, or none."""
    asked = dict(needs.items)
    fitting = [
        name
        for name, free in room.items()
        for _ in range(min(free.get(one) // amount for one, amount in asked.items()))
    ]
    return fitting[:pods] if len(fitting) >= pods else []


def in_teams(state: ClusterState, teams: Teams) -> ClusterState:
    return replace(state, teams=teams, namespace_teams={name: name for name in NAMES})


def owed(name: str, cpu: int = 0, gpu: int = 0) -> Team:
    return replace(team(name, reclaim=Reclaim.JOBS), guaranteed=amounts(cpu, gpu))


def large_job_between_a_borrower_and_a_job_within_its_teams_guarantee() -> ClusterState:
    """`large` comes before `small` in its team, `small` before `high`, `high` before `large`."""
    jobs = (
        *of("a", worker("large", 2, 2, on=["n"] * 2, priority=1), worker("small", 1, 1)),
        *of("b", worker("high", 2, 2, priority=2)),
    )
    teams = Teams.of((team("a", 1, reclaim=Reclaim.JOBS), team("b")))
    return in_teams(cluster(node("n", 2), *jobs), teams)


def borrower_of_gpus_that_waits_longer_than_their_owner() -> ClusterState:
    """It is within its team's guarantee of CPU, the only one that this team has."""
    gpu = shape(1, gpu=1)
    jobs = (
        *of("a", worker("longer", 1, 1, on=["n"], shape=gpu, queued=-9000)),
        *of("b", worker("owner", 1, 1, shape=gpu)),
    )
    teams = Teams.of((owed("a", cpu=4), owed("b", gpu=1)))
    return in_teams(cluster(node("n", 4, gpu=1), *jobs), teams)


def borrower_of_gpus_in_a_team_with_cpu_left() -> ClusterState:
    """`rest` needs the CPU that `first` leaves; `high` has a higher priority than both."""
    jobs = (
        *of("a", worker("first", 1, 1, on=["n"], shape=shape(3, gpu=1), priority=1)),
        *of("a", worker("rest", 1, 1, shape=shape(4))),
        *of("b", worker("high", 1, 1, shape=shape(2, gpu=1), priority=2)),
    )
    teams = Teams.of((owed("a", cpu=4), owed("b"), owed("c", gpu=1)))
    return in_teams(cluster(node("n", 5, gpu=1), *jobs), teams)


def borrower_before_a_job_that_fits_no_node() -> ClusterState:
    """`never` stays within the guarantee, so that its team always has a claim on it."""
    gpu = shape(1, gpu=1)
    jobs = (
        *of("a", worker("first", 1, 1, on=["n1"], shape=gpu, priority=1)),
        *of("a", worker("never", 1, 1, shape=shape(4))),
        *of("b", worker("high", 1, 1, shape=gpu, priority=2)),
    )
    teams = Teams.of((owed("a", cpu=4), owed("b"), owed("c", gpu=1)))
    return in_teams(cluster(node("n1", 3, gpu=1), node("n2", 3), *jobs), teams)


def head_that_a_guarantee_covers_once_extras_are_gone() -> ClusterState:
    """`large` never fits beside the others; it has waited for long, so `small` may not pass it."""
    running = (worker("first", 1, 1, on=["n"]), worker("second", 1, 1, on=["n"]))
    jobs = of(
        "a",
        *running,
        worker("elastic", 1, 3, on=["n"]),
        worker("large", 3, 3, queued=-40000),
        worker("small", 1, 1),
    )
    owner = replace(owed("b", cpu=6), parent="top", lend=False)
    teams = Teams.of((team("top"), replace(owed("a"), parent="top"), owner))
    return in_teams(cluster(node("n", 4), *jobs), teams)


def team_that_gives_more_than_it_can_use() -> ClusterState:
    """Of what a replica of `big` frees, `small` takes a half, and no job of `a` needs the rest.

    Then `a` has less than `c`, which would give a replica, and take one of `small` back.
    """
    big = worker("big", 1, 7, on=["n"] * 6)
    small = worker("small", 1, 3, shape=shape(0.5), on=["n"] * 2)
    other = worker("other", 1, 21, on=["n"] * 21)
    teams = Teams.of((team("a"), team("b"), team("c", weight=3)))
    return in_teams(cluster(node("n", 28.1), *of("a", big, small), *of("c", other)), teams)


LOOPS = (
    large_job_between_a_borrower_and_a_job_within_its_teams_guarantee(),
    borrower_of_gpus_that_waits_longer_than_their_owner(),
    borrower_of_gpus_in_a_team_with_cpu_left(),
    borrower_before_a_job_that_fits_no_node(),
    head_that_a_guarantee_covers_once_extras_are_gone(),
    team_that_gives_more_than_it_can_use(),
)


def course(state: ClusterState, *, preempt: bool, lingering: bool) -> Sequence[Plan]:
    kept = {name: getattr(state, name) for name in ("teams", "namespace_teams")}
    plans: list[Plan] = []
    while len(plans) < ROUNDS:
        plans.append(plan_for(state, replace(ALL, preempt=preempt)))
        if quiet(plans[-1]) and plans[-1].recheck_after is None:
            break
        state = act(state, plans[-1], after=wait(plans[-1]), lingering=lingering)
        state = replace(state, **kept)
    return plans


def stops(plans: Sequence[Plan]) -> Counter[str]:
    """How often each job was stopped for another; not for want of nodes for a part of it."""
    return Counter(
        one.job.name
        for plan in plans
        for one in plan.suspensions
        if one.reason.code is not Code.GANG_UNSCHEDULABLE
    )


@example(state=LOOPS[0], preempt=True, lingering=False)
@example(state=LOOPS[1], preempt=False, lingering=False)
@example(state=LOOPS[2], preempt=True, lingering=False)
@example(state=LOOPS[3], preempt=True, lingering=False)
@example(state=LOOPS[4], preempt=False, lingering=False)
@example(state=LOOPS[5], preempt=False, lingering=False)
@drawn(state=contended(), preempt=st.booleans(), lingering=st.booleans())
def test_no_job_is_stopped_again_and_again_and_all_come_to_rest(
    reached: Reached,
    state: ClusterState,
    preempt: bool,  # noqa: FBT001 - drawn
    lingering: bool,  # noqa: FBT001 - drawn
) -> None:
    plans = course(state, preempt=preempt, lingering=lingering)
    reached(stops(plans) or any(plan.admissions for plan in plans))
    assert quiet(plans[-1])
    # The scheduler may put a pod elsewhere than planned: then the claim stops the same job again.
    assert max(stops(plans).values(), default=0) <= 2
