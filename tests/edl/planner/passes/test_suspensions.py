"""Manual sizes, pauses, and pods that find no node."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from edl import reasons
from edl.annotations.last_change import read_reason
from edl.messages import message, remedy
from edl.model import (
    ClusterState,
    Code,
    JobEnd,
    JobKey,
    Pod,
    PodPhase,
    ResizePolicy,
    ScaleDeadline,
    TrainingJob,
)
from edl.model.causes.blockers import TimedHold
from tests.edl.planner.acting import act
from tests.edl.planner.plans import plan_for, sizes, started, told, wait_reasons
from tests.edl.planner.states import (
    at,
    busy,
    cluster,
    demand,
    job,
    node,
    pod,
    role,
    room,
    shape,
    worker,
)
from tests.reasons import invalid


def test_a_manual_size_is_moved_to_at_once() -> None:
    down = worker("down", 1, 9, on=["a"] * 4, replicas=2, resized_at=at(-1))
    assert plan_for(cluster(node("a", 9), down)).resizes[0].reason == reasons.MANUAL_SIZE
    up = worker("up", 1, 9, on=["a"] * 2, replicas=4, resized_at=at(-1))
    assert sizes(plan_for(cluster(node("a", 9), up))) == {"up": 4}


@pytest.mark.parametrize(("wanted", "size"), [(0, 2), (99, 5)])
def test_a_manual_size_stays_within_the_bounds(wanted: int, size: int) -> None:
    mine = worker("mnist", 2, 5, on=["a"] * 3, replicas=wanted)
    assert sizes(plan_for(cluster(node("a", 9), mine))) == {"mnist": size}


@pytest.mark.parametrize(("on", "size"), [(5, 3), (1, 3)])
def test_closed_bounds_are_moved_to(on: int, size: int) -> None:
    mine = worker("mnist", 3, 3, on=["a"] * on, resizing=ResizePolicy.LIVE)
    assert sizes(plan_for(cluster(node("a", 9), mine))) == {"mnist": size}


def test_a_raised_minimum_comes_before_others_extras() -> None:
    raised = worker("raised", 3, 3, on=["a"], resizing=ResizePolicy.LIVE)
    rich = worker("rich", 1, 9, on=["a"] * 6)
    assert sizes(plan_for(cluster(node("a", 7), raised, rich)))["rich"] == 4


def test_a_manual_size_gives_nothing_for_an_equal_share() -> None:
    rich, poor = worker("rich", 1, 9, on=["a"] * 7, replicas=7), worker("poor", 1, 9, on=["a"])
    assert not plan_for(cluster(node("a", 8), rich, poor)).resizes


def test_a_paused_job_is_suspended_and_its_room_kept_for_others() -> None:
    mine = worker("mnist", 1, 4, on=["a"] * 4, paused=True)
    plan = plan_for(cluster(node("a", 4), mine, worker("new", 4, 4)))
    assert [found.reason for found in plan.suspensions] == [reasons.PAUSED]
    assert told(plan) == {
        "mnist": "paused",
        "new": "4 pods wait for others to terminate",
    }


def pending(since: float, bound: int = 2, size: int = 4, **fields: object) -> ClusterState:
    pods = [pod(i, "a") for i in range(bound)]
    pods += [pod(i, created_at=at(since)) for i in range(bound, size)]
    mine = worker("mnist", 2, 9, suspended=False, size=size, pods=tuple(pods), **fields)
    return cluster(busy(node("a", 4), room(2)), mine)


def test_extras_that_stay_pending_are_given_back() -> None:
    (resize,) = plan_for(pending(-31)).resizes
    assert (resize.before, resize.after, resize.reason) == (4, 2, reasons.UNSCHEDULABLE)
    assert not plan_for(pending(-29)).resizes
    assert plan_for(pending(-29)).recheck_after == timedelta(seconds=1)


def test_extras_that_were_never_created_are_given_back_as_such() -> None:
    """The API server refuses them: a ServiceAccount is missing, or a quota is exceeded."""
    for pods in ((), (pod(0, "a"),), (pod(0, "a"), pod(1, "a"), pod(2, created_at=at(-31)))):
        mine = worker("mnist", 1, 9, suspended=False, size=4, pods=pods, started_at=at(-31))
        (resize,) = plan_for(cluster(node("a", 4), mine)).resizes
        assert resize.reason == reasons.UNSCHEDULABLE_CREATION
        assert message(resize.reason) == "pods above its minimum could not be created"


def test_extras_that_must_come_in_a_time_of_their_own_have_that_time() -> None:
    state = pending(-31)
    (mine,) = state.jobs
    (found,) = mine.roles
    limited = found.changed(replicas=4, scaling=ScaleDeadline(timedelta(minutes=5)))
    waiting = replace(state, jobs=(replace(mine, roles=(limited,)),))
    assert not plan_for(waiting).resizes


def test_gated_pods_wait_for_us_and_not_for_the_scheduler() -> None:
    gated = pod(1, gates=("edl.dev/hosts",), created_at=at(-3000))
    mine = worker("mnist", 1, 2, suspended=False, size=2, pods=(pod(0, "a"), gated))
    assert not plan_for(cluster(node("a", 1), mine)).resizes


LOST = {
    "still leaving": {"pods": (pod(2, "a", terminating=True),)},
    "failed": {"pods": (pod(2, "a", phase=PodPhase.FAILED),)},
    "gone": {"failures": 1},
}


@pytest.mark.parametrize("left", LOST.values(), ids=LOST)
@pytest.mark.parametrize("low", [1, 3], ids=["an extra", "of the minimum"])
def test_a_lost_pod_waits_for_the_job_controller_and_not_for_the_scheduler(
    low: int, left: dict[str, Any]
) -> None:
    others = (pod(0, "a"), pod(1, "a"))
    fields = left | {"pods": (*others, *left.get("pods", ()))}
    mine = worker("mnist", low, 9, suspended=False, size=3, replicas=3, **fields)
    plan = plan_for(cluster(node("a", 4), mine))
    assert (plan.suspensions, plan.resizes) == ((), ())


def test_what_was_given_back_is_not_asked_for_again_at_once() -> None:
    fields = {"resized_at": at(-59), "last": reasons.UNSCHEDULABLE}
    mine = worker("mnist", 1, 9, on=["a"], **fields)
    plan = plan_for(cluster(node("a", 4), mine))
    assert wait_reasons(plan) == {"mnist": reasons.BACK_OFF_GROWTH}
    assert plan.recheck_after == timedelta(seconds=1)
    assert sizes(plan_for(cluster(node("a", 4), mine, seconds=1))) == {"mnist": 4}


def test_a_gang_with_a_pending_minimum_goes_back_to_the_queue() -> None:
    (suspension,) = plan_for(pending(-121, bound=1, size=2)).suspensions
    assert suspension.reason == reasons.GANG_UNSCHEDULABLE
    assert not plan_for(pending(-119, bound=1, size=2)).suspensions


@pytest.mark.parametrize("made", [True, False], ids=["Pending", "not created"])
@pytest.mark.parametrize("room_left", [9, 2], ids=["idle capacity", "full"])
def test_a_gang_that_never_ran_goes_back_to_the_queue_whatever_its_size(
    room_left: int, *, made: bool
) -> None:
    """No node takes its pods, for a rule that no plan knows of, or none can be created."""
    state = cluster(node("a", room_left), worker("mnist", 2, 6))
    plans = []
    for _ in range(13):
        plans.append(plan_for(state))
        state = act(state, plans[-1], after=timedelta(seconds=10))
        state = replace(state, jobs=tuple(_unbound(one, made=made) for one in state.jobs))
        state = replace(state, nodes=(node("a", room_left),))
    assert [len(plan.suspensions) for plan in plans] == [0] * 12 + [1]
    (suspension,) = plans[-1].suspensions
    assert suspension.reason == (
        reasons.GANG_UNSCHEDULABLE if made else reasons.GANG_UNSCHEDULABLE_CREATION
    )
    assert not [one for plan in plans for one in plan.resizes if one.after > one.before]


def _unbound(found: TrainingJob, *, made: bool) -> TrainingJob:
    (part,) = found.roles
    pods = tuple(replace(one, node="", ready=False) for one in part.status.pods if made)
    return replace(found, roles=(part.changed(pods=pods),))


def test_a_role_does_not_grow_while_another_has_no_node_for_its_minimum() -> None:
    chief = role("chief", 1, 1, suspended=False, pods=(pod(0, created_at=at(-60)),))
    mine = job("tf", chief, role("worker", 1, 9, on=["a"]))
    plan = plan_for(cluster(busy(node("a", 9), room(1)), mine))
    assert sizes(plan) == {}
    assert wait_reasons(plan) == {"tf": reasons.minimum_pending(mine.key)}


def test_a_raised_minimum_has_time_for_its_pods_from_its_growth_on() -> None:
    """A quota that no plan knows of refuses them: the others run."""
    fields = {"last": reasons.grown(3, 9), "resized_at": at(-119)}
    mine = worker("mnist", 3, 9, suspended=False, size=3, pods=(pod(0, "a"),), **fields)
    assert plan_for(cluster(node("a", 9), mine)).suspensions == ()
    assert plan_for(cluster(node("a", 9), mine, seconds=2)).suspensions


@pytest.mark.parametrize(
    "told",
    [
        {"last": reasons.room_for_job(JobKey("ns", "other")), "reason": Code.NODE_UNSCHEDULABLE},
        {"last": reasons.UNSCHEDULABLE, "reason": Code.NODE_UNSCHEDULABLE},
        {"last": reasons.about_pods(Code.PODS_REMOVED, ["pod-1"]), "reason": Code.PODS_REMOVED},
    ],
    ids=["moved after a reclaim", "moved after a removal", "named by its user"],
)
def test_a_running_gang_has_time_for_the_replacement_of_a_pod_that_was_removed(
    told: dict[str, Any],
) -> None:
    """The pod is gone without a failure, and the Job controller creates the next in a second."""
    mine = worker("mnist", 2, 9, suspended=False, size=2, pods=(pod(0, "a"),), **told)
    mine = replace(mine, roles=(mine.roles[0].changed(resized_at=at(-1)),))
    assert plan_for(cluster(node("a", 9), mine)).suspensions == ()


def test_extras_that_are_yet_to_be_created_outlast_a_scale_down() -> None:
    """It follows the growth at once: another job came."""
    last = reasons.room_for_job(JobKey("ns", "other"))
    mine = worker("mnist", 1, 9, suspended=False, size=4, pods=(pod(0, "a"),), last=last)
    mine = replace(mine, roles=(mine.roles[0].changed(resized_at=at(-1)),))
    assert sizes(plan_for(cluster(node("a", 4), mine))) == {}


def test_a_gang_that_came_to_nothing_starts_again_later() -> None:
    mine = worker("mnist", 2, 2, last=reasons.GANG_UNSCHEDULABLE, started_at=at(-239))
    plan = plan_for(cluster(node("a"), node("b"), mine))
    assert wait_reasons(plan) == {"mnist": reasons.BACK_OFF_GANG}
    (admission,) = plan_for(cluster(node("a"), node("b"), mine, seconds=1)).admissions
    assert admission.sizes == (("worker", 2),)


def test_a_quota_that_lets_no_pod_be_made_is_noticed() -> None:
    mine = worker("mnist", 1, 9, suspended=False, size=3, pods=(pod(0, "a"),), resized_at=at(-31))
    assert sizes(plan_for(cluster(node("a", 9), mine))) == {"mnist": 1}


def test_the_nodes_of_a_role_that_was_taken_off_are_soon_free() -> None:
    ended = role("helper", 1, 1, on=["a"], ending=JobEnd.COMPLETE)
    mine = job("mnist", role("worker", 1, 2, on=["a"]), ended)
    plan = plan_for(cluster(node("a", 2), mine))
    assert told(plan) == {"mnist": "1 pod waits for others to terminate"}


def test_a_job_with_a_problem_keeps_its_size_and_others_give_instead() -> None:
    """No step is taken for it: room that it promised would never come."""
    odd = worker("odd", 1, 4, on=["a"] * 4, problem=invalid("its Jobs disagree"))
    good = worker("good", 1, 4, on=["b"] * 4, queued=-7200)
    web = demand("web", shape(), 2, priority=5)
    assert sizes(plan_for(cluster(node("a"), node("b"), odd, good, web))) == {"good": 2}


def test_a_job_with_a_problem_is_not_put_back_into_the_queue() -> None:
    odd = worker("odd", 2, 4, on=["a", "", ""], problem=invalid("its Jobs disagree"))
    assert plan_for(cluster(node("a"), odd)).suspensions == ()


@pytest.mark.parametrize("year", [1, 9999])
def test_a_start_time_at_the_end_of_the_calendar_stops_no_other_job(year: int) -> None:
    odd = worker("odd", 1, 2, on=["a"], started_at=datetime(year, 12, 31, tzinfo=UTC))
    plan = plan_for(cluster(node("a"), odd, worker("new", 1, 1)))
    assert [found.job.name for found in plan.admissions] == ["new"]


def _items(*pods: Pod, size: int, remaining: int | None) -> ClusterState:
    """Items of work at their size for long, two of them the minimum."""
    mine = worker(
        "sweep", 2, 4, suspended=False, size=size, pods=pods, remaining=remaining,
        resizing=ResizePolicy.ITEMS, indexed=False, resized_at=at(-3000),
    )  # fmt: skip
    return cluster(node("a", 4), mine)


@pytest.mark.parametrize("size", [2, 4])
def test_an_item_that_is_done_is_followed_by_another_soon(size: int) -> None:
    """The Job controller looks a second later; until then nobody stays pending."""
    done = pod(0, "a", phase=PodPhase.SUCCEEDED, ready=False)
    plan = plan_for(_items(done, *(pod(i, "a") for i in range(1, size)), size=size, remaining=30))
    assert (plan.suspensions, sizes(plan).get("sweep", 4)) == ((), 4)


def test_a_work_queue_makes_no_more_pods_once_one_has_succeeded() -> None:
    done = pod(0, "a", phase=PodPhase.SUCCEEDED, ready=False)
    plan = plan_for(_items(done, pod(1, "a"), size=2, remaining=1))
    assert (plan.suspensions, plan.resizes) == ((), ())


def _ranks(**fields: Any) -> ClusterState:  # noqa: ANN401 - fields of the role
    """Rank 1 of three is not there, and all have been started long ago."""
    pods = (pod(0, "a"), pod(2, "a"))
    mine = worker("mnist", 3, 3, suspended=False, size=3, pods=pods, resized_at=at(-900), **fields)
    return cluster(node("a", 4), mine)


def test_a_rank_that_is_done_is_not_missed_when_its_pod_is_deleted() -> None:
    assert plan_for(_ranks()).suspensions
    assert not plan_for(_ranks(finished_indexes=frozenset({1}))).suspensions


def test_an_uncounted_lost_pod_suspends_no_gang() -> None:
    assert not plan_for(_ranks(ignores=True)).suspensions


def test_a_start_asks_for_no_more_pods_than_there_is_work() -> None:
    left = worker("sweep", 4, 8, remaining=1, resizing=ResizePolicy.ITEMS, indexed=False)
    assert started(plan_for(cluster(node("a", 1), left))) == {"sweep": {"worker": 1}}


def test_a_gang_that_comes_to_nothing_again_waits_twice_as_long() -> None:
    """Until 4, 8, 16 minutes after its start, and so on."""
    state, waits = cluster(node("a", 9), waiting_gang()), []
    for _ in range(3):
        state = replace(state, observed_at=state.observed_at + timedelta(seconds=121))
        plan = plan_for(state)
        assert [one.reason.code for one in plan.suspensions] == [Code.GANG_UNSCHEDULABLE]
        state = act(state, plan, after=timedelta(seconds=1))
        (found,) = plan_for(state).waiting
        assert found.reason == reasons.BACK_OFF_GANG
        assert found.until is not None
        (mine,) = state.jobs
        assert mine.started_at is not None
        waits.append(found.until - mine.started_at)
        state = replace(state, observed_at=found.until)
        state = act(state, plan_for(state), after=timedelta(seconds=1))
        state = replace(state, jobs=tuple(unbound(one) for one in state.jobs))
    assert waits == [timedelta(minutes=4), timedelta(minutes=8), timedelta(minutes=16)]


def test_pods_that_were_not_created_stay_the_reason_while_the_job_backs_off() -> None:
    """One role's ServiceAccount does not exist; the other role's pods wait for its pods."""
    gated = [pod(0, created_at=at(-121), gates=("edl.dev/placement",))]
    chief = role("chief", 1, 1, suspended=False, pods=tuple(gated))
    late = job("tf", chief, role("worker", 2, 2, suspended=False, size=2), started_at=at(-121))
    state = cluster(node("a", 9), late)
    plan = plan_for(state)
    assert [one.reason for one in plan.suspensions] == [reasons.GANG_UNSCHEDULABLE_CREATION]
    (found,) = plan_for(act(state, plan, after=timedelta(seconds=1))).waiting
    assert message(found.reason) == "back-off: not all pods of its last start could be created"


@pytest.mark.parametrize(
    ("cause", "text", "mended"),
    [
        (
            {"scheduler": "volcano"},
            'scheduler "volcano" has not processed them',
            'scheduler "volcano" running; then',
        ),
        (
            {"refusal": "0/3 nodes are available"},
            "0/3 nodes are available",
            "its cause removed; then",
        ),
    ],
    ids=["not processed", "refused"],
)
def test_a_failed_start_records_what_its_scheduler_answered(
    cause: dict[str, Any], text: str, mended: str
) -> None:
    failed = "not all pods of its last start could be scheduled"
    late = (pod(0, created_at=at(-121), **cause), pod(1, created_at=at(-121)))
    mine = worker("mnist", 2, 2, suspended=False, size=2, pods=late, started_at=at(-130))
    (suspension,) = plan_for(cluster(node("a", 9), mine)).suspensions
    assert message(suspension.reason) == f"{failed} ({text}): requeued"
    (part,) = mine.roles
    record = read_reason(msgspec.json.encode(suspension.reason).decode())
    again = part.changed(suspended=True, pods=(), last=record)
    plan = plan_for(cluster(node("a", 9), replace(mine, roles=(again,))))
    assert told(plan) == {"mnist": f"back-off: {failed} ({text})"}
    assert remedy(TimedHold(wait_reasons(plan)["mnist"], at(110))).startswith(mended)


def failed_start(**fields: Any) -> ClusterState:  # noqa: ANN401 - of the role
    """A start of 130 s ago failed, and there is room again."""
    given = {"last": reasons.GANG_UNSCHEDULABLE, "started_at": at(-130)} | fields
    return cluster(node("a", 9), worker("mnist", 1, 1, **given))


@pytest.mark.parametrize(
    "resumed", [{"reason": Code.PAUSED}, {"resumed_at": at(-5)}], ids=["just now", "recorded"]
)
def test_a_resumption_after_a_failed_start_ends_its_back_off(resumed: dict[str, Any]) -> None:
    """Its user has mended what made the start fail, and says so."""
    assert wait_reasons(plan_for(failed_start())) == {"mnist": reasons.BACK_OFF_GANG}
    assert started(plan_for(failed_start(**resumed))) == {"mnist": {"worker": 1}}


def test_a_resumption_is_one_start_and_a_failure_of_that_doubles_the_back_off() -> None:
    state = failed_start(resumed_at=at(-5))
    state = act(state, plan_for(state), after=timedelta(seconds=1))
    state = replace(state, jobs=tuple(unbound(one) for one in state.jobs))
    state = replace(state, observed_at=state.observed_at + timedelta(seconds=121))
    state = act(state, plan_for(state), after=timedelta(seconds=1))
    (found,) = plan_for(state).waiting
    (mine,) = state.jobs
    assert mine.started_at
    assert (found.reason, found.until) == (
        reasons.BACK_OFF_GANG,
        mine.started_at + timedelta(minutes=8),
    )


def test_a_resumption_before_a_failed_start_ends_no_back_off() -> None:
    plan = plan_for(failed_start(resumed_at=at(-131)))
    assert wait_reasons(plan) == {"mnist": reasons.BACK_OFF_GANG}


def begun(started: float, *pods: Pod, **fields: Any) -> TrainingJob:  # noqa: ANN401 - of a role
    """A gang of two gated pods, which was started then."""
    usual = {"suspended": False, "size": 2, "pods": pods, "gated": True, "started_at": at(started)}
    return worker("mnist", 2, 2, **(usual | fields))


THERE, ANEW = pod(0, "a"), pod(1, created_at=at(-1), gates=("edl.dev/placement",))


@pytest.mark.parametrize("pods", [(THERE, ANEW), (replace(ANEW, index=0), ANEW)])
def test_a_gang_that_loses_its_nodes_at_its_start_goes_back_at_once(
    pods: tuple[Pod, ...],
) -> None:
    state = cluster(node("a", 1), begun(-3, *pods))
    plan = plan_for(state)
    assert [one.reason for one in plan.suspensions] == [reasons.GANG_UNSCHEDULABLE_PLACEMENT]
    waits = []
    for _ in range(2):
        state = act(state, plan_for(state), after=timedelta(seconds=1))
        (mine,) = state.jobs
        (found,) = plan_for(state).waiting
        assert message(found.reason) == ("back-off: its nodes were removed or taken by other pods")
        assert mine.started_at
        assert found.until
        waits.append(found.until - mine.started_at)
        state = replace(state, nodes=(node("a", 2),), observed_at=found.until)
        state = act(state, plan_for(state), after=timedelta(seconds=1))
        state = replace(state, nodes=(node("a", 1),))
    assert waits == [timedelta(seconds=10), timedelta(seconds=20)]


@pytest.mark.parametrize(
    ("started", "pods"),
    [
        (-40, (THERE, ANEW)),
        (-3, (THERE, pod(1, created_at=at(-1)))),
        (-3, (THERE, pod(1, created_at=at(-1), assigned="away", placed_at=at(-1)))),
        (-3, (THERE,)),
    ],
    ids=["made anew later", "not placed by the plan", "its node is away", "not made yet"],
)
def test_other_gangs_wait_for_a_node_in_their_place(started: float, pods: tuple[Pod, ...]) -> None:
    assert plan_for(cluster(node("a", 1), begun(started, *pods))).suspensions == ()


def test_a_gang_that_goes_back_takes_no_extras_for_the_part_that_lacks_a_node() -> None:
    extras = worker("other", 1, 3, on=["b", "b"], resizing=ResizePolicy.LIVE)
    state = cluster(node("a", 1), node("b", 2), begun(-3, THERE, ANEW), extras)
    plan = plan_for(state)
    assert [one.reason for one in plan.suspensions] == [reasons.GANG_UNSCHEDULABLE_PLACEMENT]
    assert sizes(plan) == {}


def test_a_gang_that_goes_back_gives_none_of_its_pods_a_node() -> None:
    pods = (THERE, ANEW, replace(ANEW, name="pod-2", index=2))
    fields = {"suspended": False, "size": 3, "gated": True, "started_at": at(-3)}
    plan = plan_for(cluster(node("a", 2), worker("mnist", 3, 3, pods=pods, **fields)))
    assert [one.reason for one in plan.suspensions] == [reasons.GANG_UNSCHEDULABLE_PLACEMENT]
    assert plan.node_assignments == ()


def waiting_gang() -> TrainingJob:
    """Its pod is refused by a rule that no plan knows of."""
    return unbound(worker("mnist", 1, 1, on=["a"], started_at=at(-1)))


def unbound(found: TrainingJob) -> TrainingJob:
    (part,) = found.roles
    moment = found.started_at or at(0)
    return replace(found, roles=(part.changed(pods=(pod(0, created_at=moment),)),))


def _half_started(since: float, **servers: Any) -> TrainingJob:  # noqa: ANN401
    waiting = role("ps", 1, 1, **servers)
    return job("half", waiting, role("worker", 1, 8, on=("a",)), started_at=at(-since))


def test_no_replica_is_given_to_a_start_that_is_taken_back() -> None:
    other = worker("other", 1, 8, on=("b",) * 8)
    state = cluster(node("a", 1), node("b", 8), _half_started(600, shape=shape(50)), other)
    plan = plan_for(state)
    assert [one.job.name for one in plan.suspensions] == ["half"]
    assert plan.resizes == ()


def test_no_replica_yields_to_the_rest_of_a_start_that_is_taken_back() -> None:
    other = worker("other", 1, 8, on=("b",) * 8)
    late = cluster(node("a", 1), node("b", 8), _half_started(600, shape=shape(3)), other)
    assert [one.job.name for one in plan_for(late).suspensions] == ["half"]
    assert plan_for(late).resizes == ()
    early = cluster(node("a", 1), node("b", 8), _half_started(60, shape=shape(3)), other)
    assert plan_for(early).suspensions == ()
    assert sizes(plan_for(early)) == {"other": 5}


def test_the_room_of_a_start_that_is_taken_back_goes_to_the_queue() -> None:
    waiting = worker("next", 1, 1, queued=-10)
    plan = plan_for(cluster(node("a", 1), _half_started(600, shape=shape(50)), waiting))
    assert [one.job.name for one in plan.suspensions] == ["half"]
    assert wait_reasons(plan)["next"] == reasons.leaving(1)


def _lacking(lost: int, **fields: Any) -> TrainingJob:  # noqa: ANN401 - of a role
    """A gang of four that has lost so many pods, and its Job controller is in its back-off."""
    pods = tuple(pod(index, "a") for index in range(4 - lost))
    usual = {"suspended": False, "size": 4, "pods": pods, "failures": 5, "priority": -5}
    return worker("low", 4, 4, **(usual | fields))


def test_a_gang_without_room_for_its_lost_pods_says_that_they_are_missing() -> None:
    plan = plan_for(cluster(node("a", 2), _lacking(2)))
    assert told(plan)["low"].startswith("2 of 4 pods of its minimum are missing: ")
