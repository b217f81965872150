"""The least time between two resizes: the job's own, else its framework's, else the flags'."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.contract import PLACEMENT_GATE
from edl.frameworks.base import Cooldown
from edl.job_state.cooldowns import cooldown
from edl.model import Code, JobKey, Pod, ResizePolicy, TrainingJob
from tests.edl.planner.plans import ALL, plan_for, sizes, wait_reasons
from tests.edl.planner.states import at, cluster, demand, job, node, pod, role, shape, worker

TEN = timedelta(seconds=10)
ROOM = node("a", 9)
LONG = timedelta(minutes=10)


def torch(name: str = "bert", **fields: Any) -> TrainingJob:  # noqa: ANN401
    """Resized a moment ago, unless `resized_at` says otherwise."""
    given = {"on": ["a"], "resized_at": at(-1)} | fields
    return job(name, role("worker", 1, 4, **given), framework="pytorch", mode="elastic")


def test_a_framework_that_stalls_at_each_resize_is_resized_less_often() -> None:
    """A start is no resize: soon after it there is little work to stall."""
    plan = plan_for(cluster(ROOM, torch(), seconds=58))
    assert (sizes(plan), wait_reasons(plan)) == ({}, {"bert": reasons.COOLDOWN})
    assert plan.recheck_after == timedelta(seconds=1)
    assert sizes(plan_for(cluster(ROOM, torch(), seconds=59))) == {"bert": 4}
    begun = job(
        "bert",
        role("worker", 1, 4, on=["a"], resized_at=at(0)),
        framework="pytorch",
        mode="elastic",
        started_at=at(0),
    )
    assert sizes(plan_for(cluster(ROOM, begun, seconds=9))) == {}
    assert sizes(plan_for(cluster(ROOM, begun, seconds=10))) == {"bert": 4}


def grown(**fields: Any) -> TrainingJob:  # noqa: ANN401
    """TensorFlow with parameter servers that grew into idle capacity at 0 s."""
    started = {"started_at": fields.pop("started_at", at(-60))}
    given = {"on": ["a"] * 3, "resized_at": at(0), "last": reasons.grown(3, 9)} | fields
    return job("mnist", role("ps", on=["a"]), role("worker", 1, 9, **given), mode="ps", **started)


def grows(mine: TrainingJob, seconds: float) -> bool:
    return bool(sizes(plan_for(cluster(ROOM, mine, seconds=seconds))))


def test_growth_that_stalls_no_replica_soon_follows_growth() -> None:
    """Else the first GPU that becomes idle keeps those after it idle for a whole cooldown."""
    plan = plan_for(cluster(ROOM, grown(), seconds=2))
    assert (wait_reasons(plan), plan.recheck_after) == (
        {"mnist": reasons.COOLDOWN},
        timedelta(seconds=1),
    )
    assert (grows(grown(), 2), grows(grown(), 3)) == (False, True)


@pytest.mark.parametrize(
    ("last_pod", "seconds"),
    [
        ((pod(2, created_at=at(1)),), 3),
        ((pod(2, created_at=at(1), gates=(PLACEMENT_GATE,)),), 10),
        ((), 10),
    ],
)
def test_growth_follows_growth_once_its_pods_exist_and_have_planned_nodes(
    last_pod: tuple[Pod, ...], seconds: float
) -> None:
    """Else the Job controller would still be busy with the last resize, and this one delay it.

    A whole cooldown at most: a quota or a webhook may refuse the pod.
    """
    mine = grown(on=None, suspended=False, size=3, pods=(pod(0, "a"), pod(1, "a"), *last_pod))
    assert (grows(mine, seconds - 1), grows(mine, seconds)) == (False, True)


def test_a_claim_and_a_manual_size_do_not_wait_for_pods_of_the_last_growth() -> None:
    pods = (pod(0, "a"), pod(1, "a"))
    given = {"on": None, "suspended": False, "size": 3, "pods": pods}
    assert grows(grown(**given, replicas=5), 1)
    claim = worker("queued", 7, 7)
    assert sizes(plan_for(cluster(ROOM, grown(**given), claim, seconds=1))) == {"mnist": 1}


@pytest.mark.parametrize(
    ("fields", "seconds"),
    [
        ({"last": reasons.room_for_job(JobKey("ns", "other"))}, 10),
        ({"last": reasons.gave(Code.FAIR_SHARING, JobKey("ns", "other"))}, 10),
        ({"started_at": at(0)}, 10),
        ({"reason": Code.NODE_TERMINATING}, 10),
        ({"cooldown": timedelta(seconds=20)}, 20),
    ],
)
def test_after_any_other_change_growth_waits_for_the_whole_cooldown(
    fields: dict[str, Any], seconds: float
) -> None:
    mine = grown(**fields)
    assert (grows(mine, seconds - 1), grows(mine, seconds)) == (False, True)


def test_a_role_that_has_just_grown_donates_nothing_for_the_whole_cooldown() -> None:
    rich, poor = grown(on=["a"] * 5), worker("poor", 1, 9, on=["a"])
    full = (node("a", 7), rich, poor)
    assert sizes(plan_for(cluster(*full, seconds=9))) == {}
    assert sizes(plan_for(cluster(*full, seconds=10))) == {"mnist": 3}


def test_what_the_job_says_counts_more() -> None:
    assert sizes(plan_for(cluster(ROOM, torch(cooldown=TEN), seconds=9))) == {"bert": 4}
    slow = worker("mnist", 1, 4, on=["a"], resized_at=at(-1), cooldown=LONG)
    assert wait_reasons(plan_for(cluster(ROOM, slow, seconds=598))) == {"mnist": reasons.COOLDOWN}
    assert sizes(plan_for(cluster(ROOM, slow, seconds=599))) == {"mnist": 4}


def test_a_restart_at_a_new_size_is_a_resize() -> None:
    def after(seconds: float, **fields: Any) -> dict[str, int]:  # noqa: ANN401
        times = {"started_at": at(0), "resized_at": at(0), "cooldown": 2 * LONG}
        given = times | {"resizing": ResizePolicy.RESTART, "on": ["a"]} | fields
        mine = worker("mnist", 1, 4, **given)
        return sizes(plan_for(cluster(ROOM, mine, seconds=seconds)))

    again = reasons.restarted(reasons.grown(1, 4))
    assert after(300) == {"mnist": 4}
    assert after(1199, last=again) == {}
    assert after(1200, last=again) == {"mnist": 4}


def test_balance_waits_for_it_and_a_minimum_does_not() -> None:
    rich = worker("rich", 1, 9, on=["a"] * 7, resized_at=at(-60), cooldown=LONG)
    poor = worker("poor", 1, 9, on=["a"])
    assert sizes(plan_for(cluster(node("a", 8), rich, poor))) == {}
    queued = worker("queued", 2, 2)
    assert sizes(plan_for(cluster(node("a", 8), rich, poor, queued))) == {"rich": 5}
    pending = demand("web", shape(2))
    assert sizes(plan_for(cluster(node("a", 8), rich, poor, pending))) == {"rich": 5}


def test_a_lost_pod_does_not_end_the_cooldown_of_its_job() -> None:
    """Its restart brings the pod back; no job takes its replicas meanwhile."""
    pods = tuple(pod(index, "a", terminating=index == 3) for index in range(8))
    times = {"resized_at": at(-60), "started_at": at(-60)}
    given = times | {"resizing": ResizePolicy.RESTART, "on": ["a"] * 8, "pods": pods}
    rich = worker("rich", 1, 9, **given, failures=1)
    plan = plan_for(cluster(node("a", 9), rich, worker("poor", 1, 9, on=["a"])))
    assert sizes(plan) == {}


@pytest.mark.parametrize(("left", "others"), [(60, {"other": 4}), (5, {})])
def test_room_is_kept_for_it_only_while_its_cooldown_ends_soon(
    left: float, others: dict[str, int]
) -> None:
    """Else a job whose user asks for a day would keep room idle for a day."""
    mine = worker("mine", 1, 5, on=["a"], resized_at=at(left) - LONG, cooldown=LONG)
    other = worker("other", 1, 5, on=["a", "a"])
    assert sizes(plan_for(cluster(node("a", 5), mine, other))) == others


def test_the_longest_of_its_jobs_is_the_training_jobs() -> None:
    all_roles = job("mnist", role("ps", cooldown=LONG), role("worker", 1, 3, cooldown=TEN))
    assert cooldown(all_roles, TEN) == Cooldown(LONG, "edl.dev/cooldown")


@pytest.mark.parametrize(
    ("framework", "mode", "roles", "found"),
    [
        ("pytorch", "elastic", ("worker",), Cooldown(timedelta(seconds=60), "torchrun")),
        ("tensorflow", "ps", ("ps", "worker"), Cooldown(TEN, after_growth=timedelta(seconds=3))),
        ("tensorflow", "collective", ("worker",), Cooldown(TEN)),
        ("horovod", "kubexec", ("launcher", "worker"), Cooldown(TEN)),
        ("nothing", "", ("worker",), Cooldown(TEN)),
    ],
)
def test_defaults(framework: str, mode: str, roles: tuple[str, ...], found: Cooldown) -> None:
    all_roles = job("mnist", *(role(name, 1, 3) for name in roles), framework=framework, mode=mode)
    assert cooldown(all_roles, TEN) == found


def test_a_reconciler_that_is_slower_than_a_framework_counts() -> None:
    assert cooldown(torch(), LONG) == Cooldown(LONG)
    assert cooldown(torch(cooldown=TEN), LONG) == Cooldown(TEN, "edl.dev/cooldown")


@pytest.mark.parametrize(("seconds", "growth"), [(0, {}), (289, {}), (290, {"gave": 5})])
def test_a_role_that_gave_rests_until_its_pod_has_left_its_node(
    seconds: int, growth: dict[str, int]
) -> None:
    """The scheduler would put its new pod where the other job waits for 2 CPU to come together."""
    leaves = pod(9, "b", terminating=True)
    stays = [pod(index, "c") for index in range(4)]
    last = reasons.gave(Code.FAIR_SHARING, JobKey("ns", "waits"))
    mine = worker("gave", 1, 9, size=4, suspended=False, shape=shape(0.5), pods=(*stays, leaves),
                  resized_at=at(-10), last=last)  # fmt: skip
    waits = worker("waits", 1, 3, on=["a"], shape=shape(2))
    limits = replace(ALL, queue_patience=timedelta(minutes=5))
    state = cluster(node("a", 2.5), node("b", 2), node("c", 2), mine, waits, seconds=seconds)
    assert sizes(plan_for(state, limits)) == growth
