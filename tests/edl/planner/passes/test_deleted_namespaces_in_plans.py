"""A started job of a namespace that is being deleted holds the capacity of present pods alone."""

from msgspec.structs import replace

from edl import reasons
from edl.model import TrainingJob
from tests.edl.planner.plans import ALL, plan_for, sizes, started
from tests.edl.planner.states import cluster, node, worker


def dying(low: int, size: int, present: int, priority: int = 0) -> TrainingJob:
    """A job on node `a`, whose first pods are present and whose namespace is being deleted."""
    problem = reasons.NAMESPACE_TERMINATING
    made = worker("dying", low, size, on=["a"] * size, problem=problem, priority=priority)
    (role,) = made.roles
    return replace(made, roles=(role.changed(pods=role.status.pods[:present]),))


def test_a_job_behind_it_starts_where_its_pods_were() -> None:
    plan = plan_for(cluster(node("a", 4), dying(4, 4, present=0), worker("next", 4, 4)))
    assert started(plan) == {"next": {"worker": 4}}


def test_its_present_pods_keep_their_capacity() -> None:
    state = cluster(node("a", 4), dying(1, 4, present=1), worker("next", 4, 4))
    assert started(plan_for(state)) == {}
    state = cluster(node("a", 4), dying(1, 4, present=1), worker("next", 3, 3))
    assert started(plan_for(state)) == {"next": {"worker": 3}}


def test_no_other_job_scales_down_for_its_missing_pods() -> None:
    other = worker("other", 1, 4, on=["a"] * 4)
    assert sizes(plan_for(cluster(node("a", 4), dying(2, 2, 0, priority=10), other))) == {}


def test_no_other_job_is_preempted_for_its_missing_pods() -> None:
    other = worker("other", 4, 4, on=["a"] * 4)
    state = cluster(node("a", 4), dying(4, 4, 0, priority=10), other)
    assert plan_for(state, replace(ALL, preempt=True)).suspensions == ()
