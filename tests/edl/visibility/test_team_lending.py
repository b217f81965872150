"""Which team lends to which: examples, and what holds in any tree of teams."""

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import Team, Teams
from edl.quantities import Resources
from edl.visibility.team_lending import NO_OWNER, ResourceLending, apportion
from edl.visibility.usage_by_team import lending, team_balance
from tests.edl.planner.states import cluster, node

GPU = "nvidia.com/gpu"
NAMES = ("a", "b", "c", "d", "e")


def gpus(count: int) -> Resources:
    return Resources.of({GPU: count})


def built(teams: Teams, own: Mapping[str, int], capacity: int) -> ResourceLending:
    held = {name: gpus(count) for name, count in own.items()}
    state = replace(cluster(node("n", gpu=capacity)), teams=teams, team_usage=held)
    return lending(state, team_balance(state))[GPU]


def lent_by(*teams: Team, capacity: int = 0, **own: int) -> ResourceLending:
    return built(Teams.of(teams), own, capacity)


def sources(found: ResourceLending, team: str) -> Mapping[str, int]:
    return found.own_sources(team)


def test_a_team_borrows_first_what_no_team_is_guaranteed() -> None:
    owner, other = Team("owner", guaranteed=gpus(6)), Team("other", guaranteed=gpus(2))
    found = lent_by(owner, other, capacity=10, other=6)
    assert sources(found, "other") == {NO_OWNER: 2, "owner": 2}
    assert found.lent["owner"] == 2


def test_lenders_give_in_proportion_to_their_unused_guarantee() -> None:
    teams = [Team(name, guaranteed=gpus(8)) for name in ("a", "b", "c")]
    keeper = Team("k", guaranteed=gpus(8), lend=False)
    found = lent_by(*teams, keeper, Team("x"), capacity=32, a=2, b=5, c=8, x=6)
    assert sources(found, "x") == {"a": 4, "b": 2}
    assert [found.lent[name] for name in ("c", "k")] == [0, 0]


def test_one_gpu_of_two_equal_lenders_is_lent_by_one() -> None:
    teams = [Team(name, guaranteed=gpus(4)) for name in ("a", "b")]
    found = lent_by(*teams, Team("x"), capacity=8, x=1)
    assert [found.lent[name] for name in ("a", "b")] == [1, 0]
    assert sources(found, "x") == {"a": 1}


def test_inside_a_parent_its_own_guarantee_comes_first_then_siblings_then_others() -> None:
    top, other = Team("top", guaranteed=gpus(10)), Team("other", guaranteed=gpus(6))
    low = [Team("a", "top", guaranteed=gpus(4)), Team("b", "top", guaranteed=gpus(4))]
    found = lent_by(top, other, *low, capacity=16, a=12, b=1)
    assert sources(found, "a") == {"top": 2, "b": 3, "other": 3}
    assert found.lent["other"] == 3


def test_a_parents_own_namespaces_borrow_beside_the_teams_below_it() -> None:
    top = Team("top", guaranteed=gpus(6))
    low = Team("a", "top", guaranteed=gpus(4))
    found = lent_by(top, low, capacity=6, top=5)
    assert found.own_guarantee("top") == 2
    assert sources(found, "top") == {"a": 3}


def test_borrowed_capacity_that_no_team_lends_is_of_none() -> None:
    keeper = Team("k", guaranteed=gpus(4), lend=False)
    assert sources(lent_by(keeper, Team("x"), capacity=4, x=2), "x") == {NO_OWNER: 2}


@st.composite
def situations(draw: st.DrawFn) -> tuple[Teams, dict[str, int], int]:
    teams: list[Team] = []
    for place, name in enumerate(NAMES):
        parent = draw(st.sampled_from(["", *NAMES[:place]]))
        owed = draw(st.sampled_from([0, 0, 1, 3, 8] if place else [1, 3, 8]))
        teams.append(Team(name, parent, guaranteed=gpus(owed), lend=draw(st.booleans())))
    found = Teams.of(teams)
    sums = {
        name: max(
            found[name].guaranteed.get(GPU),
            sum(found.guaranteed[child].get(GPU) for child in found.children.get(name, ())),
        )
        for name in NAMES
    }
    for name in reversed(found.top_down):
        below = sum(sums.get(child, 0) for child in found.children.get(name, ()))
        sums[name] = max(sums.get(name, 0), below)
    fitting = [
        Team(one.name, one.parent, guaranteed=gpus(sums[one.name]), lend=one.lend) for one in teams
    ]
    own = {name: draw(st.integers(0, 9)) for name in (*NAMES, "default")}
    return Teams.of(fitting), own, draw(st.integers(0, 60))


@given(situations())
def test_what_a_team_borrows_sums_up_over_its_sources(
    situation: tuple[Teams, dict[str, int], int],
) -> None:
    teams, own, capacity = situation
    found = built(teams, own, capacity)
    for name in (*NAMES, "default"):
        beyond = own[name] - found.own_guarantee(name)
        assert sum(sources(found, name).values()) == max(beyond, 0)


@pytest.mark.slow
@given(situations())
def test_no_team_lends_more_than_it_leaves_or_what_it_keeps(
    situation: tuple[Teams, dict[str, int], int],
) -> None:
    teams, own, capacity = situation
    found = built(teams, own, capacity)
    taken: Counter[str] = Counter()
    for name in (*NAMES, "default"):
        taken.update(sources(found, name))
    for name in NAMES:
        used = sum(own[one] for one in NAMES if name in teams.path(one))
        idle = max(teams.guaranteed[name].get(GPU) - used, 0)
        lent = found.lent[name]
        assert lent <= (idle if teams[name].lend else 0)
        below = [one for one in NAMES if teams[one].parent == name]
        if not below:
            assert taken[name] <= lent


@given(situations())
def test_beside_each_other_all_that_is_lent_is_borrowed(
    situation: tuple[Teams, dict[str, int], int],
) -> None:
    teams, own, capacity = situation
    flat = Teams.of(
        Team(one.name, guaranteed=one.guaranteed, lend=one.lend)
        for one in teams
        if one.name in NAMES
    )
    found = built(flat, own, capacity)
    taken: Counter[str] = Counter()
    for name in (*NAMES, "default"):
        taken.update(sources(found, name))
    for name in NAMES:
        assert taken[name] == found.lent[name]


@pytest.mark.slow
@given(situations(), st.permutations((*NAMES, "default")))
def test_the_order_of_teams_does_not_matter(
    situation: tuple[Teams, dict[str, int], int], order: list[str]
) -> None:
    teams, own, capacity = situation
    first = built(teams, own, capacity)
    second = built(teams, {name: own[name] for name in order}, capacity)
    assert [sources(first, name) for name in NAMES] == [sources(second, name) for name in NAMES]


@given(st.dictionaries(st.sampled_from(NAMES), st.integers(0, 20), min_size=1), st.floats(0, 1))
def test_parts_sum_up_and_none_is_above_its_weight(weights: dict[str, int], part: float) -> None:
    amount = int(sum(weights.values()) * part)
    found = apportion(amount, weights)
    assert sum(found.values()) == amount
    assert all(found[name] <= weights[name] for name in found)


@pytest.mark.parametrize("weights", [{}, {"a": 0}])
def test_without_weights_there_are_no_parts(weights: dict[str, int]) -> None:
    assert apportion(3, weights) == {}
