"""What teams are guaranteed, use, borrow and lend."""

from msgspec.structs import replace

from edl.model import ClusterState, JobKey, Team, Teams
from edl.quantities import Resources
from edl.visibility.team_figures import TeamFigures, team_figures
from tests.edl.planner.states import cluster, node, role, shape, worker


def gpus(count: int) -> Resources:
    return Resources.of({"nvidia.com/gpu": count})


def state(*teams: Team, nodes: int = 8, **used: int) -> ClusterState:
    """`used`: GPUs that pods of other owners hold, by team."""
    held = {name: gpus(count) + Resources.of({"cpu": 1}) for name, count in used.items()}
    there = (node(f"n{number}", gpu=1) for number in range(nodes))
    return replace(cluster(*there), teams=Teams.of(teams), team_usage=held)


def figures(found: ClusterState, *waiting: JobKey) -> dict[str, TeamFigures]:
    return {one.team.name: one for one in team_figures(found, waiting)}


def test_children_stand_below_their_parent_and_count_in_it() -> None:
    top, one, two = Team("top", guaranteed=gpus(6)), Team("b", "top"), Team("a", "top")
    found = team_figures(state(top, one, two, a=2, b=3), ())
    assert [(each.team.name, each.level) for each in found] == [
        *(("default", 0), ("top", 0), ("a", 1), ("b", 1)),
    ]
    assert {each.team.name: each.used for each in found if each.used} == {
        "top": gpus(5),
        "a": gpus(2),
        "b": gpus(3),
    }


def test_usage_beyond_the_guarantee_is_borrowed_from_teams_that_leave_theirs() -> None:
    owner, other = Team("owner", guaranteed=gpus(6)), Team("other", guaranteed=gpus(2))
    found = figures(state(owner, other, owner=1, other=5))
    assert (found["other"].borrowed, found["owner"].lent) == (gpus(3), gpus(3))
    assert not found["owner"].borrowed
    assert not found["other"].lent


def test_what_a_team_borrows_from_the_teams_below_it_counts_as_borrowed() -> None:
    top, low = Team("top", guaranteed=gpus(4)), Team("low", "top", guaranteed=gpus(4))
    found = figures(state(top, low, top=3))
    assert (found["top"].borrowed, found["low"].lent) == (gpus(3), gpus(3))


def test_what_no_team_is_owed_is_borrowed_of_none() -> None:
    owner = Team("owner", guaranteed=gpus(4))
    found = figures(state(owner, default=4))
    assert (found["default"].borrowed, found["owner"].lent) == (gpus(4), Resources())
    assert figures(state(owner, default=6))["owner"].lent == gpus(2)


def test_a_team_that_does_not_lend_lends_nothing() -> None:
    keeper = Team("keeper", guaranteed=gpus(4), lend=False)
    owner = Team("owner", guaranteed=gpus(4))
    found = figures(state(keeper, owner, default=4))
    assert (found["keeper"].lent, found["owner"].lent) == (Resources(), gpus(4))


def test_pods_of_training_jobs_count_until_they_terminate_and_queued_jobs_by_team() -> None:
    team = Team("vision", namespaces=("ns",), guaranteed=gpus(1))
    running = worker("runs", 1, 4, on=["n0", "n1"], shape=shape(gpu=1))
    leaving = role("worker", 1, 1, on=["n2"], shape=shape(gpu=1))
    pods = tuple(replace(one, terminating=True) for one in leaving.status.pods)
    gone = replace(worker("goes", 1, 1, on=["n2"]), roles=(leaving.changed(pods=pods),))
    found = replace(
        state(team), jobs=(running, gone), namespace_teams={"ns": "vision", "x": "default"}
    )
    told = figures(found, JobKey("ns", "waits"), JobKey("x", "waits"), JobKey("ns", "too"))
    assert told["vision"].used == gpus(2)
    assert (told["vision"].waiting, told["default"].waiting) == (2, 1)


def test_without_guarantees_all_that_is_used_is_told() -> None:
    used = gpus(2) + Resources.of({"cpu": 1})
    found = state(Team("a"), a=2)
    assert figures(found)["a"].used == used
    cordoned = tuple(replace(one, cordoned=True) for one in found.nodes)
    assert figures(replace(found, nodes=cordoned))["a"].used == used


def test_a_share_is_what_a_team_borrows_of_the_cluster_by_its_weight() -> None:
    owner = Team("owner", guaranteed=gpus(2))
    heavy, light = Team("heavy", weight=2), Team("light")
    found = figures(state(owner, heavy, light, owner=2, heavy=2, light=2))
    assert {name: one.share for name, one in found.items()} == {
        "owner": 0.0,
        "default": 0.0,
        "heavy": 0.125,
        "light": 0.25,
    }
