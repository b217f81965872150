"""The limit of a team as a blocker: only where the extras of its jobs do not make way."""

import pytest

from edl import messages, reasons
from edl.model import JobKey, TrainingJob
from edl.model.blockers import Blocker, InProgress, TooLarge
from edl.planner.explain.explanation import explain
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.policies import POLICIES
from tests.edl.planner.plans import ALL
from tests.edl.planner.states import cluster, node, shape, worker
from tests.edl.planner.teams import of, team, with_teams

WAITS = JobKey("lab", "pz")


def limited(*jobs: TrainingJob, limit: int = 16) -> DecisionInput:
    """Team `lab` is guaranteed 10 CPU, and its jobs may hold `limit`; the node has room."""
    owed = team("lab", 10, limit=(("cpu", limit * 1000),))
    state = with_teams(cluster(node("n", 64), *of("lab", *jobs)), owed)
    return DecisionInput(state, POLICIES["fair"], ALL)


def runs(low: int, size: int = 16) -> TrainingJob:
    return worker("e1", low, 30, on=["n"] * size, queued=-900)


def gets_room(given: DecisionInput) -> bool:
    decisions = given.decided().decisions
    held = decisions.held.get(WAITS)
    return WAITS in decisions.admitted or (held is not None and reasons.promises(held))


def blocker(given: DecisionInput) -> Blocker:
    """The only one that does not pass by itself."""
    found = explain(given, WAITS)
    assert found is not None
    assert found.start_blockers is not None
    assert found.start_blockers.complete
    first, *rest = found.start_blockers.blockers
    assert all(isinstance(one, InProgress) for one in rest)
    return first


@pytest.mark.parametrize("size", [15, 16])
def test_a_limit_blocks_nothing_where_extras_release_enough(size: int) -> None:
    pz = worker("pz", 2, 4, shape=shape(1, gpu=8))
    assert isinstance(blocker(limited(runs(1, size), pz)), TooLarge)


@pytest.mark.parametrize(("low", "pods", "raised"), [(16, 2, 18), (15, 2, 17), (1, 20, 21)])
def test_a_limit_is_raised_by_what_the_gang_lacks_beside_the_extras(
    low: int, pods: int, raised: int
) -> None:
    jobs = (runs(low), worker("pz", pods, pods))
    found = blocker(limited(*jobs))
    assert messages.remedy(found) == f"limit of team lab raised to {raised} CPU"
    assert not gets_room(limited(*jobs, limit=raised - 1))
    assert gets_room(limited(*jobs, limit=raised))
