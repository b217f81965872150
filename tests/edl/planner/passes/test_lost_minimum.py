"""Gangs that lack lost pods, beside claims of a higher priority."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.job_state.lost_pods import delayed_until
from edl.messages import message
from edl.model import Code, JobKey, TrainingJob
from edl.model.causes.reason_codes import Reason, Restart
from edl.planner.decision_limits import Limits
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.plans import ALL, plan_for, sizes, started, told, wait_reasons
from tests.edl.planner.states import at, cluster, demand, job, node, pod, role, shape, worker
from tests.edl.planner.teams import of, team, with_teams
from tests.reasons import invalid

SECOND = timedelta(seconds=1)


def lacking(lost: int = 2, **fields: Any) -> TrainingJob:  # noqa: ANN401 - of a role
    """Four pods of torchrun, of which so many were lost; the fifth failure means 160 s."""
    framework = fields.pop("framework", "pytorch")
    pods = tuple(pod(index, "a") for index in range(4 - lost))
    usual = {"suspended": False, "size": 4, "pods": pods, "failures": 5, "priority": -5}
    return replace(worker("low", 4, 4, **(usual | fields)), framework=framework)


def high(**fields: Any) -> TrainingJob:  # noqa: ANN401 - of a role
    return worker("high", 3, 3, **({"priority": 1000} | fields))


def test_a_gang_that_stands_still_yields_to_a_higher_priority() -> None:
    plan = plan_for(cluster(node("a", 4), lacking(), high()))
    (found,) = plan.suspensions
    assert message(found.reason) == (
        "2 of 4 pods of its minimum are missing, and the Job controller creates no pod for up to "
        "160 s: requeued, as others need its nodes"
    )
    assert wait_reasons(plan)["high"] == reasons.leaving(3, [JobKey("ns", "low")])


def test_it_yields_to_pods_of_other_owners_too() -> None:
    web = demand("web", shape(), 3, priority=0)
    assert plan_for(cluster(node("a", 4), lacking(), web)).suspensions


@pytest.mark.parametrize(
    ("changed", "waiting"),
    [
        ({}, {"priority": -5}),
        ({}, {"low": 9}),
        ({"failures": 4}, {}),
        ({"failures": 6, "failures_at_start": 6}, {}),
        ({"framework": "horovod"}, {}),
        ({"framework": "none"}, {}),
        ({"reason": Code.NODE_UNSCHEDULABLE}, {}),
        ({"size": 5, "pods": tuple(pod(index, "a") for index in (0, 1, 3, 4))}, {}),
        ({"finished_indexes": frozenset({0})}, {}),
        ({"problem": invalid("its Jobs disagree")}, {}),
    ],
    ids=[
        "of its own priority",
        "too large for the room",
        "made again within the gang limit",
        "not made yet",
        "the others go on",
        "work items",
        "its pods move",
        "enough pods without the lost one",
        "nearly done",
        "out of the plan",
    ],
)
def test_other_gangs_stay(changed: dict[str, Any], waiting: dict[str, Any]) -> None:
    needs = waiting.pop("low", 3)
    other = worker("high", needs, needs, **({"priority": 1000} | waiting))
    assert plan_for(cluster(node("a", 5), lacking(**changed), other)).suspensions == ()


def test_of_one_priority_the_gang_that_stands_still_is_preempted_first() -> None:
    young = worker("young", 3, 3, on=["b"] * 3, priority=-5, queued=-1)
    state = cluster(node("a", 4), node("b", 3), lacking(), young, high())
    plan = plan_for(state, replace(ALL, preempt=True))
    assert [one.job.name for one in plan.suspensions] == ["low"]


def test_it_starts_again_when_the_job_controller_may_make_its_pods() -> None:
    state = cluster(node("a", 4), node("b", 4), lacking(), high())
    state = replace(state, nodes=state.nodes[:1])
    stopped, waits = 0, []
    for _ in range(4):
        plan = plan_for(state)
        stopped += len(plan.suspensions)
        state = act(state, plan, after=SECOND)
        waits += [one for one in plan.waiting if one.job.name == "low" and one.position]
    assert stopped == 1
    assert quiet(plan)
    assert waits[-1].reason == reasons.BACK_OFF_RECREATION
    assert waits[-1].until == at(160)
    free = replace(state, nodes=(*state.nodes, node("b", 4)))
    assert wait_reasons(plan_for(free))["low"] == reasons.BACK_OFF_RECREATION
    later = replace(free, observed_at=at(160))
    assert started(plan_for(later)) == {"low": {"worker": 4}}


def test_a_restart_after_a_loss_keeps_no_room_from_a_higher_priority() -> None:
    """The Job controller's back-off outlasts the stop: no pod is there yet."""
    last = Reason(Code.POD_LOST, restart=Restart.STARTED)
    fields = {"failures": 5, "failures_at_start": 5, "last": last, "started_at": at(-3)}
    fields |= {"delayed_until": at(157)}
    plan = plan_for(cluster(node("a", 4), lacking(4, framework="tensorflow", **fields), high()))
    assert told(plan)["low"].startswith("4 of 4 pods of its minimum are missing: ")
    assert started(plan) == {"high": {"worker": 3}}


def test_a_gang_whose_pods_are_yet_to_be_created_keeps_its_room() -> None:
    """It has just started, long after its failures: none of its pods is lost."""
    usual = {"failures": 5, "failures_at_start": 5, "last": Reason(Code.ADMITTED)}
    begun = lacking(4, **usual, started_at=at(-1))
    assert started(plan_for(cluster(node("a", 4), begun, high()))) == {}


def test_a_team_keeps_its_guaranteed_room_for_lost_pods() -> None:
    """A priority orders what other teams borrow of it, and the jobs of one team."""
    mine = of("owner", lacking(framework="horovod"))
    state = cluster(node("a", 2), node("b", 3), *mine, *of("other", high()))
    owns = with_teams(state, team("owner", 4), team("other", 0))
    assert started(plan_for(owns)) == {}
    borrows = with_teams(state, team("owner", 0), team("other", 0))
    assert started(plan_for(borrows)) == {"high": {"worker": 3}}


def test_room_for_lost_pods_goes_first_to_a_higher_priority() -> None:
    """Also that of a gang whose other pods go on, and of one that is whole again in a moment."""
    mine = lacking(framework="horovod")
    state = cluster(node("a", 2), node("b", 3), mine, high())
    assert started(plan_for(state)) == {"high": {"worker": 3}}
    equal = cluster(node("a", 2), node("b", 3), mine, high(priority=-5))
    assert started(plan_for(equal)) == {}


def test_lost_pods_come_before_claims_of_their_own_priority_and_below() -> None:
    mine, web = lacking(framework="horovod"), demand("web", shape(), 3, priority=-5)
    state = cluster(node("a", 2), node("b", 5), mine, high(), worker("equal", 2, 2, priority=-5))
    assert started(plan_for(state)) == {"high": {"worker": 3}}
    assert started(plan_for(cluster(node("a", 2), node("b", 5), mine, high(), web)))


def test_the_message_of_the_wait_names_the_back_off_and_its_latest_end() -> None:
    assert message(reasons.BACK_OFF_RECREATION, at(160)) == (
        "back-off: after lost pods the Job controller creates no pod (until 12:02:40 UTC)"
    )


def test_a_paused_job_that_lost_pods_waits_for_the_back_off_after_its_resume() -> None:
    """Started before, it would hold the nodes of all its replicas without a pod."""
    elastic = worker("low", 2, 9, suspended=False, size=4, pods=(pod(0, "a"), pod(1, "a")),
                     failures=5)  # fmt: skip
    state = cluster(node("a", 9), replace(elastic, paused=True))
    paused = act(state, plan_for(state), after=SECOND)
    resumed = replace(paused, jobs=tuple(replace(one, paused=False) for one in paused.jobs))
    (wait,) = plan_for(resumed).waiting
    assert (wait.reason, wait.until) == (reasons.BACK_OFF_RECREATION, at(160))
    assert "low" in started(plan_for(replace(resumed, observed_at=at(160))))


def test_a_second_pause_prolongs_no_back_off() -> None:
    (again,) = lacking(failures_at_start=5, delayed_until=at(7)).roles
    assert delayed_until(again, at(3)) == at(7)
    assert delayed_until(again.changed(failures=6), at(3)) == at(323)


def test_a_gang_takes_no_extra_that_a_lost_pod_needs_once_it_is_created_again() -> None:
    """Others' recreated pods have its node; only that of its job's own extra is large enough."""
    workers = role(
        "worker",
        2,
        4,
        suspended=False,
        size=3,
        pods=(pod(0, "a"), pod(2, "d")),
        shape=shape(4),
        failures=5,
    )
    lost = job("det", role("chief", on=["b"]), workers)
    sweep = worker("sweep", 1, 60, shape=shape(1), on=["c", "c"])
    gang = worker("gang", 4, 4, shape=shape(2))
    nodes = (node("a", 4), node("b", 1), node("c", 4), node("d", 4), node("e", 3))
    plan = plan_for(cluster(*nodes, lost, sweep, gang), Limits(load_ceiling=1))
    assert "det" not in sizes(plan)
