"""Jobs that are nearly finished keep their size."""

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from edl.model import ResizePolicy, TrainingJob
from tests.edl.planner.plans import ALL, plan_for, sizes, told
from tests.edl.planner.states import at, cluster, demand, node, shape, worker

PATIENT = replace(ALL, queue_patience=timedelta(minutes=5))


def done(part: float, *args: Any, **fields: Any) -> TrainingJob:  # noqa: ANN401 - a builder's fields
    return worker(*args, **fields, progress=part)


def test_from_90_per_cent_on_it_does_not_grow_and_is_told_why() -> None:
    state = cluster(node("a", 8), done(0.9, "late", 1, 8, on=["a"]))
    assert sizes(plan_for(state)) == {}
    assert told(plan_for(state)) == {"late": "nearly finished: it keeps its size"}
    assert sizes(plan_for(cluster(node("a", 8), done(0.89, "mid", 1, 8, on=["a"])))) == {"mid": 8}


def test_its_limit_is_a_setting() -> None:
    state = cluster(node("a", 8), done(0.9, "late", 1, 8, on=["a"]))
    assert sizes(plan_for(state, replace(ALL, nearly_done=0.95))) == {"late": 8}


def test_what_one_of_its_jobs_says_holds_for_all() -> None:
    late = done(0.95, "late", 1, 8, on=["a"])
    other = late.roles[0].changed(name="evaluator", job="evaluator", progress=None)
    both = replace(late, roles=(late.roles[0], other))
    assert sizes(plan_for(cluster(node("a", 8), both))) == {}


def test_it_gives_nothing_for_an_equal_share() -> None:
    late = done(0.95, "late", 1, 8, on=["a"] * 8)
    poor = worker("poor", 1, 8, on=["b"])
    assert sizes(plan_for(cluster(node("a", 8), node("b", 1), late, poor))) == {}


def test_it_is_not_restarted_for_a_size() -> None:
    late = done(0.95, "late", 1, 8, on=["a"], resizing=ResizePolicy.RESTART)
    assert sizes(plan_for(cluster(node("a", 8), late))) == {}


def test_a_higher_priority_takes_its_extras() -> None:
    late = done(0.95, "late", 1, 4, on=["a"] * 4)
    urgent = worker("urgent", 1, 1, priority=1, queued=0)
    assert sizes(plan_for(cluster(node("a", 4), late, urgent))) == {"late": 3}


def test_pods_of_others_take_its_extras() -> None:
    late = done(0.95, "late", 1, 4, on=["a"] * 4)
    state = cluster(node("a", 4), late, demand("web", shape(1), 2))
    assert sizes(plan_for(state)) == {"late": 2}


def test_a_started_job_that_lost_a_pod_of_its_minimum_takes_its_extras() -> None:
    late = done(0.95, "late", 1, 3, on=["a"] * 3)
    poor = worker("poor", 2, 2, on=["b", ""], started_at=at(-5))
    assert sizes(plan_for(cluster(node("a", 3), node("b", 1), late, poor))) == {"late": 2}


def test_a_queued_job_of_its_priority_waits_for_its_end_but_not_for_ever() -> None:
    late = done(0.95, "late", 1, 4, on=["a"] * 4)
    fresh = cluster(node("a", 4), late, worker("waiting", 1, 1, queued=-299))
    assert sizes(plan_for(fresh, PATIENT)) == {}
    patient = cluster(node("a", 4), late, worker("waiting", 1, 1, queued=-300))
    assert sizes(plan_for(patient, PATIENT)) == {"late": 3}


def test_a_queued_job_reclaims_nearly_finished_jobs_last() -> None:
    late = done(0.95, "late", 1, 4, on=["a"] * 4)
    early = worker("early", 1, 9, on=["a", "a"])
    waiting = worker("waiting", 1, 1, queued=-9999)
    assert sizes(plan_for(cluster(node("a", 6), late, early, waiting))) == {"early": 1}


def test_what_its_user_asks_for_comes_first() -> None:
    manual = done(0.95, "late", 1, 8, on=["a"], replicas=4)
    assert sizes(plan_for(cluster(node("a", 8), manual))) == {"late": 4}
    raised = done(0.95, "late", 3, 8, on=["a"])
    assert sizes(plan_for(cluster(node("a", 3), raised))) == {"late": 3}
    lowered = done(0.95, "late", 1, 2, on=["a"] * 4)
    assert sizes(plan_for(cluster(node("a", 8), lowered))) == {"late": 2}
