"""Every explanation is tried: what it names is changed, and the job gets more. Or it says so."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pytest
from hypothesis import example
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import ClusterState, JobKey, TrainingJob
from edl.model.causes.blockers import InProgress, LackOfRoom, OwnCondition, QuotaExceeded
from edl.model.causes.reason_codes import PROMISING_CODES
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.explain.blocker_search import BlockerSearch
from edl.planner.explain.explanation import Explanation, explain
from edl.planner.explain.remedies import without_blockers
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.policies import POLICIES
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.clusters import MAX_WAIT, states
from tests.edl.planner.laws.test_topology_laws import racks
from tests.edl.planner.plans import ALL
from tests.edl.planner.states import at, cluster, job, node, role, shape, worker
from tests.edl.planner.teams import of, team, with_teams
from tests.edl.reached import Reached, drawn

pytestmark = pytest.mark.laws

LIMITS = Limits()


def size(state: ClusterState, key: JobKey, role: str) -> int:
    """Replicas that it has; 0 while it is suspended."""
    job = next(job for job in state.jobs if job.key == key)
    found = next(one for one in job.roles if one.name == role)
    return 0 if found.status.suspended else found.status.size


def size_after(given: DecisionInput, key: JobKey, role: str) -> int:
    """As the next plan has it."""
    plan = decide(given.state, given.policy, given.limits)
    starts = (dict(one.sizes).get(role) for one in plan.admissions if one.job == key)
    moves = (one.after for one in plan.resizes if (one.job, one.role) == (key, role))
    return next(filter(None, (*starts, *moves)), size(given.state, key, role))


def explained(
    given: DecisionInput, asks: Callable[[TrainingJob], object] = lambda _: True
) -> Iterator[Explanation]:
    for one in filter(asks, given.state.jobs):
        found = explain(given, one.key)
        assert found is not None
        yield found


def stopped(found: Explanation) -> Iterator[tuple[str, int, BlockerSearch]]:
    """What is explained: (role, size after this plan, what stops more of it)."""
    if found.start_blockers:
        yield found.roles[0].role, 0, found.start_blockers
    for one in found.roles:
        if one.blockers:
            yield one.role, one.after, one.blockers


def gets_more(given: DecisionInput, found: Explanation, role: str, search: BlockerSearch) -> int:
    """Its size with all changed that is named."""
    return size_after(without_blockers(given, found.job, search.found), found.job, role)


def starts_or_reserves(given: DecisionInput, key: JobKey) -> bool:
    results = given.run_passes().results
    held = results.wait_reasons.get(key)
    return key in results.admitted or (held is not None and held.code in PROMISING_CODES)


def is_promised(search: BlockerSearch) -> bool:
    return any(isinstance(blocker, InProgress) for blocker in search.found)


@drawn(100, state=states(), preempt=st.booleans())
def test_preemption_is_forbidden_to_a_job_that_starts_without_the_policy(
    reached: Reached,
    state: ClusterState,
    preempt: bool,  # noqa: FBT001 - drawn
) -> None:
    waiting = 0
    for job_of_state in state.jobs:
        allowed = DecisionInput(state, POLICIES["fair"], replace(LIMITS, preempt=preempt))
        given = allowed.with_job(job_of_state.key, _forbidden)
        (waits,) = (one for one in given.state.jobs if one.key == job_of_state.key)
        waits_on = not starts_or_reserves(given, waits.key)
        helps = waits_on and starts_or_reserves(allowed, waits.key)
        found = explain(given, waits.key)
        assert found is not None
        assert found.trials.permission is helps
        waiting += waits_on and waits.suspended
    reached(waiting)


def _forbidden(job_of_state: TrainingJob) -> TrainingJob:
    roles = tuple(one.changed(preempts=False) for one in job_of_state.roles)
    return replace(job_of_state, roles=roles)


@drawn(100, state=racks())
def test_with_all_changed_that_it_names_a_job_with_a_topology_gets_more(
    reached: Reached, state: ClusterState
) -> None:
    given, looked = DecisionInput(state, POLICIES["fair"], LIMITS), 0
    for found in explained(given, lambda job: job.topology.required):
        for name, after, search in stopped(found):
            if search.complete and not is_promised(search):
                looked += 1
                assert gets_more(given, found, name, search) > after, (found.job, name, search)
    reached(looked)


def _two_roles(on: tuple[list[str], list[str]], **fields: Any) -> TrainingJob:  # noqa: ANN401
    """A role with room for many, and one with room for few."""
    ps, few = on
    return job("two", role("ps", 1, 9, on=ps), role("worker", 1, 2, on=few), **fields)


KEPT_FOR_A_QUEUED_JOB = cluster(
    node("a", 4, gpu=1),
    node("b", 6),
    job(
        "first",
        role("ps", 3, 4, on=["x"] * 4, shape=shape(1, gpu=1)),
        role("worker", 1, 3, on=["a", "b"], shape=shape(3)),
        queued=-331,
        priority=1,
    ),
    job(
        "mine",
        role("ps", 3, 4, on=["x", "a", "x"], shape=shape(1, gpu=1)),
        role("worker", 1, 3, on=["b"], shape=shape(3)),
        queued=-331,
        priority=1,
        started_at=at(-5),
    ),
    worker("queued", 2, 2, shape=shape(3), queued=-73, priority=2),
)
LEFT_OVER_BY_A_MOVE = cluster(
    node("a", 11),
    job(
        "first",
        role("ps", 1, 9, on=["a", "x", "x", "x", "a"], shape=shape(3)),
        role("worker", 2, 4, on=["x", "a"], shape=shape(2)),
        priority=2,
    ),
    worker("mine", 1, 5, on=["a", "x"], shape=shape(2), priority=1),
)
IN_GAPS = cluster(
    node("a", 4),
    node("b", 1),
    _two_roles((["a", "a", "x", "x"], ["x", "a"]), queued=-3),
    worker("queued", 1, 1, shape=shape(0.5), queued=0),
)


@example(state=KEPT_FOR_A_QUEUED_JOB, policy="fair")
@example(state=LEFT_OVER_BY_A_MOVE, policy="fair")
@example(state=IN_GAPS, policy="fair")
@drawn(100, state=states(), policy=st.sampled_from(sorted(POLICIES)))
def test_with_all_changed_that_it_names_a_job_gets_more(
    reached: Reached, policy: str, state: ClusterState
) -> None:
    """And it names all, unless the job itself is the reason."""
    given, looked = DecisionInput(state, POLICIES[policy], LIMITS), 0
    for found in explained(given):
        for name, after, search in stopped(found):
            if search.complete and not is_promised(search):
                looked += 1
                assert gets_more(given, found, name, search) > after, (found.job, name, search)
            assert search.complete or any(
                isinstance(blocker, OwnCondition) for blocker in search.found
            )
    reached(looked)


TAKEN_BY_OTHERS = cluster(
    node("a", 2, gpu=1),
    worker("first", 1, 9, shape=shape(3), queued=-480),
    worker("mine", 2, 10, shape=shape(3, gpu=1), queued=-100),
    job(
        "grows",
        role("ps", 1, 5, shape=shape(1, gpu=1)),
        role("worker", 2, 10, shape=shape(0.5), replicas=0),
        queued=-98,
        priority=1,
    ),
    worker("vip", 1, 1, shape=shape(3, gpu=1), queued=-1, priority=1),
)
"""Each added node goes to another of the jobs, until all of these are known to come first."""


@example(state=TAKEN_BY_OTHERS, preempt=False)
@drawn(60, state=states(7, runs=MAX_WAIT), preempt=st.booleans())
def test_room_for_one_pod_less_than_it_names_starts_no_job(
    reached: Reached, state: ClusterState, *, preempt: bool
) -> None:
    given, looked = DecisionInput(state, POLICIES["fair"], replace(LIMITS, preempt=preempt)), 0
    for found in explained(given):
        every = found.start_blockers.found if found.start_blockers else ()
        for place, one in enumerate(every):
            if isinstance(one, LackOfRoom) and one.pods > 1:
                looked += 1
                less = (*every[:place], replace(one, pods=one.pods - 1), *every[place + 1 :])
                after = without_blockers(given, found.job, less)
                assert not starts_or_reserves(after, found.job), (found.job, every)
    reached(looked)


def _needs_lending(given: DecisionInput, found: Explanation, search: BlockerSearch) -> int:
    """How many teams it tells to lend; each has to, beside all else that it names."""
    teams = 0
    for one in search.found:
        if isinstance(one, QuotaExceeded) and one.quota.kept_by:
            teams += 1
            others = tuple(other for other in search.found if other is not one)
            changed = without_blockers(given, found.job, others)
            assert not starts_or_reserves(changed, found.job), (found.job, one)
            assert starts_or_reserves(without_blockers(changed, found.job, [one]), found.job)
            assert one.quota.kept_by != given.state.team_of(found.job.namespace)
    return teams


@packed
def beside_keepers(draw: Draw) -> ClusterState:
    """Gangs wait beside room that the teams `a` and `b` keep for the most part."""
    sizes = [draw.between(1, 4) for _ in range(draw.between(1, 3))]
    runs = [worker(f"r{at}", 1, size, on=["n"] * size) for at, size in enumerate(sizes)]
    wants = [draw.between(1, 6) for _ in range(draw.between(2, 4))]
    waits = [worker(f"q{at}", low, low) for at, low in enumerate(wants)]
    owned = (of(draw.one_of("a", "b", "c", "c"), one) for one in (*runs, *waits))
    keepers = [team(name, draw.between(2, 8), lend=False) for name in "ab"]
    state = cluster(node("n", sum(sizes) + draw.between(4, 12)), *chain.from_iterable(owned))
    return with_teams(state, *keepers, team("c"))


@drawn(100, state=beside_keepers())
def test_a_team_that_is_told_to_lend_keeps_what_a_queued_job_lacks(
    reached: Reached, state: ClusterState
) -> None:
    given, told = DecisionInput(state, POLICIES["fair"], ALL), 0
    for found in explained(given):
        if found.start_blockers and found.start_blockers.complete:
            told += _needs_lending(given, found, found.start_blockers)
    reached(told)
