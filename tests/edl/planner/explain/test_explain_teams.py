"""Limits and guarantees of teams as blockers: only where extras of jobs do not make way."""

import pytest
from msgspec.structs import replace

from edl import messages
from edl.model import Code, JobKey, ResizePolicy, Teams, TrainingJob
from edl.model.causes.blockers import (
    Blocker,
    InProgress,
    InsufficientResources,
    Outranked,
    TooLarge,
)
from edl.model.causes.reason_codes import PROMISING_CODES
from edl.planner.explain.explanation import explain
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.plan_builder import build_plan
from edl.planner.policies import POLICIES
from edl.quantities import Resources
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
    results = given.run_passes().results
    held = results.wait_reasons.get(WAITS)
    return WAITS in results.admitted or (held is not None and held.code in PROMISING_CODES)


def blocker(given: DecisionInput) -> Blocker:
    """The only one that does not pass by itself."""
    found = explain(given, WAITS)
    assert found is not None
    assert found.start_blockers is not None
    assert found.start_blockers.complete
    first, *rest = found.start_blockers.found
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
    assert messages.remedy(found) == f"limit of team lab raised to cpu={raised}"
    assert not gets_room(limited(*jobs, limit=raised - 1))
    assert gets_room(limited(*jobs, limit=raised))


def beside_guarantees(pods: int, red: int = 77, blue: int = 0) -> DecisionInput:
    """Two teams are guaranteed half of 80 CPU each; a gang of a third one needs 3 CPU per pod."""
    names = [f"n{number:02}" for number in range(20)]
    items = {"resizing": ResizePolicy.ITEMS, "indexed": False, "remaining": 200}
    jobs = of("red", worker("a", 4, 100, on=[names[at % 20] for at in range(red)], **items))
    fixed = worker("b", blue, blue, on=[names[19 - at // 4] for at in range(blue)])
    jobs += of("blue", fixed) if blue else []
    gang = worker("pz", pods, pods, shape=shape(3), priority=1000, queued=-60)
    state = cluster(*map(node, names), *jobs, *of("lab", gang))
    owed = team("red", 40), team("blue", 40), team("lab")
    return DecisionInput(with_teams(state, *owed), POLICIES["fair"], ALL)


BESIDE_GUARANTEES = pytest.mark.parametrize(
    ("pods", "blue", "red", "fit"), [(20, 0, 77, 13), (8, 36, 41, 1), (14, 36, 41, 1)]
)


@BESIDE_GUARANTEES
def test_replicas_within_a_guarantee_do_not_count_as_room(
    pods: int, blue: int, red: int, fit: int
) -> None:
    given = beside_guarantees(pods, red, blue)
    found = blocker(given)
    assert isinstance(found, InsufficientResources)
    assert (found.fitting, found.kept) == (fit, ("red",))
    assert messages.message(given.run_passes().results.wait_reasons[WAITS]).endswith(
        f"; {fit} of {pods} pods fit"
    )
    assert messages.blocker_text(found).endswith(
        "replicas of team red that would make room are within its guarantee"
    )
    fewer = f"fewer worker replicas (at most {fit} fit on these nodes)"
    assert messages.remedy(found).startswith(f"{fewer}, or new nodes")
    assert gets_room(beside_guarantees(fit, red, blue))
    assert not gets_room(beside_guarantees(fit + 1, red, blue))
    like = given.node(found.node)
    assert like is not None
    assert gets_room(given.with_nodes(like, like.allocatable, found.pods))
    assert not gets_room(given.with_nodes(like, found.requests, found.pods - 1))


@BESIDE_GUARANTEES
def test_nodes_are_requested_for_pods_that_get_no_replicas_within_a_guarantee(
    pods: int, blue: int, red: int, fit: int
) -> None:
    given = beside_guarantees(pods, red, blue).changed(autoscaled=True, takes_requests=True)
    (found,) = build_plan(given.run_passes()).requests
    assert found.pods == (("worker", pods - fit),)


def beside_extras(owed: int, priority: int = 0) -> DecisionInput:
    """A gang needs 3 CPU: `red` has 6 CPU of extras on one node, `blue` 1 CPU on another one."""
    jobs = of("red", worker("a", 1, 7, on=["n"] * 7, priority=priority))
    jobs += of("blue", worker("b", 2, 3, on=["other"] * 3))
    jobs += of("lab", worker("pz", 1, 1, shape=shape(3), priority=5, queued=-60))
    state = cluster(node("n", 8), node("other", 3), *jobs)
    teams = team("red", owed), team("blue", 4), team("lab")
    return DecisionInput(with_teams(state, *teams), POLICIES["fair"], ALL)


def test_extras_that_the_guarantee_of_their_team_covers_are_named() -> None:
    found = blocker(beside_extras(8))
    assert isinstance(found, InsufficientResources)
    assert found.kept == ("red",), "the extras of blue would not suffice"
    assert messages.blocker_text(found).endswith(
        "; replicas of team red that would make room are within its guarantee"
    )
    assert messages.remedy(found) == "2 CPU more free on n"
    assert gets_room(beside_extras(4)), "a team that borrows yields"


def test_extras_of_a_higher_priority_are_not_named() -> None:
    found = blocker(beside_extras(8, priority=9))
    assert isinstance(found, InsufficientResources)
    assert found.kept == ()


def test_extras_of_a_borrower_are_named_only_if_they_make_room() -> None:
    jobs = of("red", worker("a", 1, 4, on=["s1", "s1", "s2", "s2"]))
    gang = worker("pz", 1, 1, shape=shape(3), priority=5, queued=-60)
    jobs += of("lab", worker("b", 6, 6, on=["m"] * 6), gang)
    state = cluster(node("s1", 2), node("s2", 2), node("m", 8), *jobs)
    teams = team("red", 3), team("lab", 8)
    found = blocker(DecisionInput(with_teams(state, *teams), POLICIES["fair"], ALL))
    assert isinstance(found, InsufficientResources)
    assert found.kept == ()
    assert messages.remedy(found) == "1 CPU more free on m"


def test_capacity_that_a_team_keeps_is_not_a_limit_to_raise() -> None:
    keeps = team("c", 20, lend=False)
    jobs = of("lab", worker("e1", 30, 30, on=["n"] * 30), worker("pz", 20, 20))
    given = DecisionInput(
        with_teams(cluster(node("n", 64), *jobs), keeps, team("lab")), POLICIES["fair"], ALL
    )
    found = blocker(given)
    assert messages.blocker_text(found).startswith("exceeded capacity beside what team c keeps, ")
    assert messages.remedy(found) == ("lend: true or a smaller guarantee for team c, or more nodes")
    lent = replace(given.state, teams=Teams.of([replace(keeps, lend=True), team("lab")]))
    assert not gets_room(given)
    assert gets_room(replace(given, state=lent))


ON_A_NODE = shape(1, gpu=8)


@pytest.mark.parametrize("most", [5, 9])
def test_a_team_that_uses_its_guarantee_is_not_what_jobs_wait_for(most: int) -> None:
    """All nodes are full, so none has what team nlp would keep."""
    names = [f"n{number:02}" for number in range(12)]
    jobs = of("nlp", worker("k1", 3, most, shape=ON_A_NODE, on=names[:3]))
    jobs += of("nlp", worker("k2", 1, 1, shape=ON_A_NODE, queued=-50))
    jobs += of("red", worker("r1", 9, 9 + most, shape=ON_A_NODE, on=names[3:]))
    jobs += of("lab", worker("pz", 2, 2, shape=ON_A_NODE, queued=-100))
    state = cluster(*(node(name, 8, gpu=8) for name in names), *jobs)
    nlp = replace(team("nlp", lend=False), guaranteed=Resources.parse({"nvidia.com/gpu": 24}))
    teams = nlp, team("red"), team("lab")
    given = DecisionInput(with_teams(state, *teams), POLICIES["fair"], ALL)
    for one in state.jobs:
        found = explain(given, one.key)
        assert found is not None
        searches = found.start_blockers, *(role.blockers for role in found.roles)
        every = [blocker for search in filter(None, searches) for blocker in search.found]
        assert {type(blocker) for blocker in every} <= {InsufficientResources, Outranked}
        assert found.waiting is None or found.waiting.reason.code is Code.INSUFFICIENT_CAPACITY


def test_capacity_that_pods_on_a_cordoned_node_need_is_what_the_nodes_have_too_little_of() -> None:
    jobs = of("nlp", worker("k1", 4, 4, on=["old"] * 4))
    jobs += of("lab", worker("pz", 4, 4))
    state = cluster(node("old", 4, cordoned=True), node("n", 5), *jobs)
    teams = team("nlp", 4, lend=False), team("lab")
    given = DecisionInput(with_teams(state, *teams), POLICIES["fair"], ALL)
    assert messages.remedy(blocker(given)) == "3 CPU more on schedulable nodes"
    for more, gets in ((2, False), (3, True)):
        assert gets_room(given.with_more("n", Resources.parse({"cpu": more}))) is gets


def test_it_names_the_team_above_whose_guarantee_would_stop_a_borrower() -> None:
    jobs = [*of("b", worker("borrows", 4, 4, on=["n"] * 4)), *of("a", worker("asks", 4, 4))]
    tree = (team("top", 4), team("a", parent="top"), team("b"))
    state = with_teams(cluster(node("n", 4), *jobs), *tree)
    found = explain(DecisionInput(state, POLICIES["fair"], ALL), JobKey("a", "asks"))
    assert found is not None
    assert found.trials.reclaiming_team == "top"
