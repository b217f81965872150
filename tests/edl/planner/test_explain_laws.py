"""Every explanation is tried: what it names is changed, and the job gets more. Or it says so."""

from collections.abc import Iterator

import pytest
from hypothesis import strategies as st

from edl.model import ClusterState, JobKey
from edl.planner.causes import Itself, Promised
from edl.planner.decide import decide
from edl.planner.explain import Explanation, Stops, explain
from edl.planner.limits import Limits
from edl.planner.mending import mended
from edl.planner.policies import POLICIES
from edl.planner.situation import Situation
from tests.edl.planner.clusters import states
from tests.edl.planner.reached import Reached, drawn

pytestmark = pytest.mark.laws

LIMITS = Limits()


def size(state: ClusterState, key: JobKey, role: str) -> int:
    """Replicas that it has; 0 while it is suspended."""
    job = next(job for job in state.jobs if job.key == key)
    found = next(one for one in job.roles if one.name == role)
    return 0 if found.suspended else found.size


def size_after(situation: Situation, key: JobKey, role: str) -> int:
    """As the next plan has it."""
    plan = decide(situation.state, situation.policy, situation.limits)
    starts = (dict(one.sizes).get(role) for one in plan.admissions if one.job == key)
    moves = (one.after for one in plan.resizes if (one.job, one.role) == (key, role))
    return next(filter(None, (*starts, *moves)), size(situation.state, key, role))


def explained(situation: Situation) -> Iterator[Explanation]:
    for job in situation.state.jobs:
        found = explain(situation, job.key)
        assert found is not None
        yield found


def stopped(found: Explanation) -> Iterator[tuple[str, int, Stops]]:
    """What is explained: (role, size after this plan, what stops more of it)."""
    if found.start:
        yield found.roles[0].role, 0, found.start
    for role in found.roles:
        if role.stops:
            yield role.role, role.after, role.stops


def gets_more(situation: Situation, found: Explanation, role: str, stops: Stops) -> int:
    """Its size with all changed that is named."""
    return size_after(mended(situation, found.job, stops.causes), found.job, role)


def is_promised(stops: Stops) -> bool:
    return any(isinstance(cause, Promised) for cause in stops.causes)


@drawn(100, state=states(), policy=st.sampled_from(sorted(POLICIES)))
def test_with_all_changed_that_it_names_a_job_gets_more(
    reached: Reached, policy: str, state: ClusterState
) -> None:
    situation, looked = Situation(state, POLICIES[policy], LIMITS), 0
    for found in explained(situation):
        for role, after, stops in stopped(found):
            if stops.complete and not is_promised(stops):
                looked += 1
                assert gets_more(situation, found, role, stops) > after, (found.job, role, stops)
    reached(looked)


@pytest.mark.xfail(
    reason="rarely a job that is short of room is told a job that room goes first to, and no more",
    strict=False,
)
@drawn(100, state=states())
def test_nothing_is_left_open_but_what_nobody_can_change(
    reached: Reached, state: ClusterState
) -> None:
    looked = 0
    for found in explained(Situation(state, POLICIES["fair"], LIMITS)):
        for _, _, stops in stopped(found):
            looked += 1
            assert stops.complete or any(isinstance(cause, Itself) for cause in stops.causes)
    reached(looked)
