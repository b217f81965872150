"""Workers that a host list does not name any more: plans treat them as gone."""

from msgspec.structs import replace

from edl import reasons
from edl.messages import message
from edl.model import Code, JobKey, Leaving, RefusedSize, TrainingJob, WriteRefusal
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.passes.delisted_workers import with_removals_of_delisted
from edl.planner.plan import Drain, Plan, Resize
from edl.planner.policies import POLICIES
from tests.edl.planner.states import at, cluster, job, node, pod, role, worker
from tests.reasons import because

KEY = job("hvd").key
WEB = because("to make room for web", Code.RECLAIMED)


def hvd(leaving: Leaving | None, size: int = 4, low: int = 1) -> TrainingJob:
    """A Horovod job whose launcher's list was written a second ago."""
    launcher = pod(0, "a", name="launcher", leaving=leaving, published_at=at(-1))
    workers = role("worker", low, 8, on=["a"] * size, is_leader=False, resized_at=at(-600))
    named = tuple(replace(one, name=f"worker-{one.index}") for one in workers.status.pods)
    all_roles = (role("launcher", pods=(launcher,), suspended=False, is_leader=True), workers)
    return job("hvd", all_roles[0], workers.changed(pods=named), framework="horovod")


def plan_for(*jobs: TrainingJob, roomy: int = 16) -> Plan:
    return decide(cluster(node("a", roomy), *jobs), POLICIES["fair"], Limits())


def gone(*indexes: int, size: int) -> Leaving:
    return Leaving(frozenset(f"worker-{index}" for index in indexes), size, WEB)


def test_a_shrink_that_was_published_happens_though_the_room_is_free_again() -> None:
    plan = plan_for(hvd(gone(2, 3, size=2)))
    assert plan.resizes == (Resize(KEY, "worker", 4, 2, WEB),)


def test_a_published_size_leaves_a_rank_that_has_not_ended() -> None:
    found = hvd(gone(1, 2, 3, size=1))
    launcher, workers = found.roles
    ended = workers.changed(finished_indexes=frozenset({0}))
    (resize,) = plan_for(replace(found, roles=(launcher, ended))).resizes
    assert resize.after == 2


def test_without_it_the_job_would_grow() -> None:
    (resize,) = plan_for(hvd(None)).resizes
    assert resize.after > 4


def test_the_room_of_those_who_leave_is_for_others() -> None:
    late = worker("late", 2, 2, is_leader=False)
    found = hvd(gone(2, 3, size=2))
    assert (
        message(plan_for(found, late, roomy=5).waiting[0].reason)
        == "2 pods wait for others to terminate"
    )


def test_room_of_those_who_leave_is_not_counted_while_the_smaller_size_is_refused() -> None:
    refused = WriteRefusal(at(-1), 1, "no", RefusedSize("worker", 2, grows=False))
    found = replace(hvd(gone(2, 3, size=2)), refusals=(refused,))
    plan = plan_for(found, worker("late", 2, 2, is_leader=False), roomy=5)
    assert plan.resizes == ()
    assert [one.reason.code for one in plan.waiting] == [
        Code.INSUFFICIENT_CAPACITY,
        Code.WRITE_REFUSED,
    ]


def test_a_pod_that_moves_is_ended_though_its_node_may_stay() -> None:
    plan = plan_for(hvd(gone(1, size=4)))
    assert plan.resizes == ()
    assert plan.drains == (Drain(KEY, "worker", ("worker-1",), WEB),)


def test_a_pod_whose_removal_is_recorded_is_not_removed_once_more() -> None:
    """A crash came between the record and its deletion: the history would have it twice."""
    found = hvd(gone(1, size=4))
    launcher, workers = found.roles
    recorded = workers.changed(removed=frozenset({"worker-1"}))
    assert plan_for(replace(found, roles=(launcher, recorded))).drains == ()


def test_a_size_between_ends_the_rest_by_name() -> None:
    found = hvd(gone(2, 3, size=2))
    launcher, workers = found.roles
    held = replace(found, roles=(launcher, workers.changed(replicas=3)))
    plan = plan_for(held)
    assert plan.resizes == (Resize(KEY, "worker", 4, 3, reasons.MANUAL_SIZE),)
    assert [one.pods for one in plan.drains] == [("worker-2",)]


def test_a_size_that_no_plan_would_give_is_held_to_the_minimum() -> None:
    (resize,) = plan_for(hvd(gone(3, size=-7), low=3)).resizes
    assert resize.after == 3


def test_departed_workers_give_no_departure() -> None:
    found = hvd(gone(4, 5, size=4))
    assert found.leaving is None
    ended = found.roles[0].changed(pods=(replace(found.roles[0].status.pods[0], terminating=True),))
    over = replace(hvd(gone(3, size=3)), roles=(ended, found.roles[1]))
    assert over.leaving is None


def test_a_job_that_stops_stops() -> None:
    plan = plan_for(replace(hvd(gone(3, size=3)), paused=True))
    assert [one.job for one in plan.suspensions] == [KEY]
    assert (plan.resizes, plan.drains) == ((), ())


def test_pods_of_another_job_that_leave_their_nodes_stay_apart_from_its_own() -> None:
    other = Drain(JobKey("ns", "other"), "worker", ("other-worker-0",), because("node n1 goes"))
    state = cluster(node("a", 16), hvd(gone(1, size=4)))
    plan = with_removals_of_delisted(Plan(drains=(other,)), state)
    own = Drain(KEY, "worker", ("worker-1",), WEB)
    assert plan.drains == (other, own)
