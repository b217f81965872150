"""What the metrics say: of decisions, waits, stalls, writes, and of the cluster as it stands."""

import json
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import generate_latest

from edl import reasons
from edl.errors import Conflict, EdlError, Forbidden, Invalid, NotFound, Unreachable
from edl.kube.writer.executor import StepFailure, StepReport, WriteDefect
from edl.model import (
    ClusterState,
    Code,
    JobKey,
    ObjectRef,
    PodPhase,
    ProvisionalPod,
    Provisioning,
)
from edl.model.failures import WriteRefusal
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Admission, Drain, Plan, Resize, Suspension, WaitingJob
from edl.planner.policies import POLICIES
from edl.writes import Action, JobEvent, Step
from reconciler.debug_plan import last_plan
from reconciler.leader_election import AlwaysLeader
from reconciler.leader_only_cluster import LeaderOnlyCluster
from reconciler.metrics.counters import Metrics
from reconciler.metrics.decision_log import DecisionLog
from reconciler.metrics.state_metrics import LastDecision
from tests.edl.kube.faults import FaultyCluster
from tests.edl.planner.states import at, cluster, demand, job, node, pod, role, shape, worker
from tests.fake_cluster.cluster import FakeCluster
from tests.reasons import because
from tests.reconciler.times import Time

A = JobKey("ns", "a")


class Told:
    """A journal whose clock is ours."""

    def __init__(self) -> None:
        self.time = Time()
        self.metrics = Metrics()
        self.journal = DecisionLog(self.metrics, self.time.monotonic)

    def decides(self, plan: Plan, state: ClusterState, waited: float | None = None) -> None:
        self.journal.decided(LastDecision(state, plan), 0.01, waited)

    def acts(self, *words: Action, of: JobKey = A) -> None:
        notes = tuple(
            JobEvent(ObjectRef("Job", *of), "uid", word, Code.IDLE_CAPACITY, "") for word in words
        )
        self.journal.acted(StepReport(done=(Step(of, (), notes),)), ())

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)


@pytest.fixture
def told() -> Told:
    return Told()


def test_a_job_that_starts_first_tells_how_long_it_waited(told: Told) -> None:
    plan = Plan(admissions=(Admission(A, (("worker", 2),), because("its gang fits")),))
    told.decides(plan, cluster(worker("a", 2, 4, queued=-90)))
    told.acts(Action.STARTED)
    assert told.value("edl_queue_wait_seconds_sum") == 90
    again = worker("a", 2, 4, queued=-90, started_at=cluster().observed_at)
    told.decides(plan, cluster(again))
    told.acts(Action.STARTED)
    assert told.value("edl_queue_wait_seconds_count") == 1
    assert told.value("edl_decisions_total", decision="admitted") == 2


def test_a_growth_stalls_until_all_its_pods_work(told: Told) -> None:
    plan = Plan(resizes=(Resize(A, "worker", 1, 2, because("idle capacity")),))
    told.decides(plan, cluster(worker("a", 1, 4, on=["n"])))
    told.acts(Action.SCALED_UP)
    grown = worker("a", 1, 4, on=["n", "n"])
    starting = replace(
        grown, roles=(grown.roles[0].changed(pods=(pod(0, "n"), pod(1, "n", ready=False))),)
    )
    told.time.seconds += 3
    told.decides(Plan(), cluster(starting))
    assert told.value("edl_resize_stall_seconds_count", decision="scaled_up") == 0
    told.time.seconds += 4
    told.decides(Plan(), cluster(grown))
    told.decides(Plan(), cluster(grown))
    assert told.value("edl_resize_stall_seconds_sum", decision="scaled_up") == 7
    assert told.value("edl_resize_stall_seconds_count", decision="scaled_up") == 1
    assert told.value("edl_resized_replicas_total", decision="scaled_up") == 1


def test_completed_work_items_do_not_end_the_stall_of_a_growth(told: Told) -> None:
    plan = Plan(resizes=(Resize(A, "worker", 1, 2, because("idle room")),))
    items = {"indexed": False, "remaining": 5}
    grown = worker("a", 1, 4, on=["n", "n"], **items)
    completed, coming = pod(7, "n", phase=PodPhase.SUCCEEDED), pod(1, "n", ready=False)
    pods = (completed, pod(0, "n"), coming)
    starting = replace(grown, roles=(grown.roles[0].changed(pods=pods),))
    told.decides(plan, cluster(worker("a", 1, 4, on=["n"], **items)))
    told.acts(Action.SCALED_UP)
    told.decides(Plan(), cluster(starting))
    assert told.value("edl_resize_stall_seconds_count", decision="scaled_up") == 0
    told.decides(Plan(), cluster(grown))
    assert told.value("edl_resize_stall_seconds_count", decision="scaled_up") == 1


def test_a_shrink_stalls_until_its_terminating_pod_is_gone(told: Told) -> None:
    plan = Plan(resizes=(Resize(A, "worker", 2, 1, because("makes room")),))
    told.decides(plan, cluster(worker("a", 1, 4, on=["n", "n"])))
    told.acts(Action.SCALED_DOWN)
    pods = (pod(0, "n"), pod(1, "n", terminating=True))
    told.decides(Plan(), cluster(worker("a", 1, 4, on=["n"], pods=pods)))
    assert told.value("edl_resize_stall_seconds_count", decision="scaled_down") == 0
    told.time.seconds += 2
    told.decides(Plan(), cluster(worker("a", 1, 4, on=["n"])))
    assert told.value("edl_resize_stall_seconds_sum", decision="scaled_down") == 2


def test_a_launcher_that_is_not_told_yet_prolongs_the_stall(told: Told) -> None:
    def horovod(hosts: str) -> ClusterState:
        launcher = role("launcher", on=["n"], is_leader=True, pods=(pod(0, "n", hosts=hosts),))
        workers = role("worker", 1, 4, on=["n", "n"], is_leader=False)
        return cluster(job("a", launcher, workers, framework="horovod"))

    told.decides(Plan(resizes=(Resize(A, "worker", 1, 2, because("room")),)), horovod("w-0:1\n"))
    told.acts(Action.SCALED_UP)
    told.decides(Plan(), horovod("w-0:1\n"))
    assert told.value("edl_resize_stall_seconds_count", decision="scaled_up") == 0
    told.decides(Plan(), horovod("w-0:1\nw-1:1\n"))
    assert told.value("edl_resize_stall_seconds_count", decision="scaled_up") == 1


@pytest.mark.parametrize("after", [cluster(), cluster(worker("a", 1, 4))])
def test_a_job_deleted_or_suspended_meanwhile_reports_no_stall(
    told: Told, after: ClusterState
) -> None:
    told.decides(
        Plan(resizes=(Resize(A, "worker", 1, 2, because("room")),)), cluster(worker("a", 1, 4))
    )
    told.acts(Action.SCALED_UP)
    told.decides(Plan(), after)
    told.decides(Plan(), cluster(worker("a", 1, 4, on=["n", "n"])))
    assert told.value("edl_resize_stall_seconds_count", decision="scaled_up") == 0


def test_requests_for_nodes_are_counted_until_the_start_or_until_they_are_late(told: Told) -> None:
    begun = cluster().observed_at - timedelta(seconds=40)
    pods = tuple(
        ProvisionalPod(f"p-{number}", f"uid-{number}", "worker", on, begun)
        for number, on in enumerate(("n", "n", ""))
    )
    asks = replace(worker("a", 2, 4, queued=-90), provisioning=Provisioning(pods=pods))
    told.decides(Plan(), cluster(asks))
    assert told.value("edl_provisioning_jobs") == 1
    assert told.value("edl_provisioning_pods", state="bound") == 2
    assert told.value("edl_provisioning_pods", state="pending") == 1
    told.decides(Plan(unprovisioned=(A,)), cluster(asks))
    told.acts(Action.WAITING)
    assert told.value("edl_provisioning_failures_total") == 1
    plan = Plan(admissions=(Admission(A, (("worker", 2),), because("its gang fits")),))
    told.decides(plan, cluster(asks))
    told.acts(Action.STARTED)
    assert told.value("edl_provisioning_seconds_sum") == 40


def test_a_follower_exports_no_cluster_metrics(told: Told) -> None:
    told.decides(Plan(), cluster(node("n"), worker("a", 1, 2)), waited=0.2)
    assert told.value("edl_jobs") == 1
    assert told.value("edl_event_to_decision_seconds_sum") == 0.2
    told.journal.follows()
    assert told.value("edl_jobs") is None
    assert told.value("edl_leading") == 0


def test_the_cluster_is_told_in_cores_bytes_and_pieces(told: Told) -> None:
    started = worker("a", 1, 8, on=["n", "n"], shape=shape(cpu=1.5, memory="1Gi", gpu=1))
    waiting = worker("b", 1, 3, queued=-50)
    cordoned = node("c", cpu=100, cordoned=True)
    state = cluster(node("n", cpu=4, memory="8Gi", gpu=4), cordoned, started, waiting)
    plan = Plan(
        waiting=(
            WaitingJob(
                JobKey("ns", "b"),
                because("Insufficient cpu: needs 9", Code.INSUFFICIENT_CAPACITY),
                1,
            ),
            WaitingJob(A, reasons.PAUSED),
        )
    )
    told.decides(plan, state)
    figures = {
        ("edl_cluster_allocatable", "resource", "cpu"): 4,
        ("edl_cluster_requested", "resource", "cpu"): 3,
        ("edl_training_requested", "resource", "memory"): 2 * 2**30,
        ("edl_training_requested", "resource", "nvidia.com/gpu"): 2,
        ("edl_nodes", "schedulable", "false"): 1,
        ("edl_replicas", "bound", "now"): 2,
        ("edl_replicas", "bound", "max"): 8,
        ("edl_waiting_jobs", "reason", "InsufficientCapacity"): 1,
        ("edl_waiting_jobs", "reason", "Paused"): 1,
        ("edl_waiting_jobs", "reason", "QuotaExceeded"): 0,
        ("edl_jobs_by_phase", "phase", "Queued"): 1,
    }
    found = {key: told.value(key[0], **{key[1]: key[2]}) for key in figures}
    assert found == figures
    assert (told.value("edl_queued_jobs"), told.value("edl_queue_oldest_seconds")) == (1, 50)


def test_a_job_that_can_never_start_is_queued_and_no_wait_of_the_queue(told: Told) -> None:
    state = cluster(node("n", cpu=1), worker("a", 2, 2, queued=-50))
    told.decides(decide(state, POLICIES["fair"], Limits()), state)
    assert (told.value("edl_queued_jobs"), told.value("edl_queue_oldest_seconds")) == (1, 0)


def test_the_longest_wait_began_with_the_last_suspension(told: Told) -> None:
    full = (node("n", cpu=2), worker("full", 2, 2, on=["n", "n"]))
    state = cluster(*full, worker("a", 2, 2, queued=-5000, suspended_at=at(-60)))
    told.decides(decide(state, POLICIES["fair"], Limits()), state)
    assert told.value("edl_queue_oldest_seconds") == 60


def test_a_time_in_the_future_gives_no_negative_wait(told: Told) -> None:
    full = (node("n", cpu=2), worker("full", 2, 2, on=["n", "n"]))
    state = cluster(*full, worker("a", 2, 2, suspended_at=at(86400)))
    told.decides(decide(state, POLICIES["fair"], Limits()), state)
    assert (told.value("edl_queued_jobs"), told.value("edl_queue_oldest_seconds")) == (1, 0)


@pytest.mark.parametrize("code", [Code.EXEC_NOT_ALLOWED, Code.INVALID, Code.NAMESPACE_TERMINATING])
def test_a_job_that_plans_leave_out_waits_in_the_queue(told: Told, code: Code) -> None:
    state = cluster(node("n"), worker("a", 1, 1, queued=-50, problem=because("no", code)))
    told.decides(decide(state, POLICIES["fair"], Limits()), state)
    assert (told.value("edl_queued_jobs"), told.value("edl_queue_oldest_seconds")) == (1, 50)


def test_a_job_whose_start_is_refused_waits_in_the_queue(told: Told) -> None:
    refusal = WriteRefusal(at(-1), 1, "no")
    state = cluster(node("n"), worker("a", 1, 1, queued=-50, refusals=(refusal,)))
    told.decides(decide(state, POLICIES["fair"], Limits()), state)
    assert (told.value("edl_queued_jobs"), told.value("edl_queue_oldest_seconds")) == (1, 50)


def test_pods_that_have_ended_request_nothing_and_resources_that_no_node_has_are_left_out(
    told: Told,
) -> None:
    done = pod(1, "n", phase=PodPhase.SUCCEEDED)
    one = worker("a", 2, 2, suspended=False, size=2, shape=shape(1), pods=(pod(0, "n"), done))
    told.decides(Plan(), cluster(node("n", cpu=4), one))
    assert told.value("edl_training_requested", resource="cpu") == 1
    assert told.value("edl_cluster_allocatable", resource="memory") == 64 * 2**30
    assert told.value("edl_cluster_allocatable", resource="nvidia.com/gpu") is None


EVERYTHING = Plan(
    admissions=(Admission(A, (("worker", 1),), because("r")),),
    resizes=(Resize(A, "worker", 1, 2, because("r")), Resize(A, "worker", 2, 1, because("r"))),
    suspensions=(Suspension(A, because("r")),),
    drains=(Drain(A, "worker", ("a-0",), because("r")),),
)


def test_no_series_is_named_after_a_job_however_many_there_are(told: Told) -> None:
    def series(names: Iterable[str]) -> set[str]:
        jobs = [worker(name, 1, 4, on=["n"]) for name in names]
        plans = [_renamed(EVERYTHING, one.key) for one in jobs]
        for plan in plans:
            told.decides(plan, cluster(node("n", cpu=1000), *jobs))
            told.acts(
                Action.STARTED,
                Action.SCALED_UP,
                Action.SCALED_DOWN,
                Action.SUSPENDED,
                Action.REMOVED,
                of=plan_key(plan),
            )
        text = generate_latest(told.metrics.registry).decode()
        return {line.rpartition(" ")[0] for line in text.splitlines() if line[0] != "#"}

    few = series(["zebra-1", "zebra-2"])
    many = series([f"zebra-{number}" for number in range(50)])
    assert few == many
    assert not any("zebra" in name for name in many)


def plan_key(plan: Plan) -> JobKey:
    return plan.admissions[0].job


def _renamed(plan: Plan, key: JobKey) -> Plan:
    changed: dict[str, Any] = {
        name: tuple(replace(entry, job=key) for entry in getattr(plan, name))
        for name in ("admissions", "resizes", "suspensions", "drains")
    }
    return replace(plan, **changed)


def test_each_write_is_counted_by_what_became_of_it() -> None:
    metrics = Metrics()
    faulty = FaultyCluster(FakeCluster(Time().now))
    leadership = AlwaysLeader()
    guarded = LeaderOnlyCluster(faulty, leadership, metrics.api.wrote)
    target = ObjectRef("Service", "web", "x")
    guarded.create(target, {})
    for error in (
        Conflict("late", 409),
        NotFound("gone", 404),
        Forbidden("no", 403),
        Invalid("no", 422),
    ):
        faulty.fails["patch"] = [error]
        with pytest.raises(type(error)):
            guarded.patch(target, {})
    guarded.delete(target)
    written = {
        tuple(sample.labels.values()): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "edl_writes_total"
    }
    assert written == {
        ("create", "Service", "done"): 1,
        ("patch", "Service", "conflict"): 1,
        ("patch", "Service", "gone"): 1,
        ("patch", "Service", "forbidden"): 1,
        ("patch", "Service", "failed"): 1,
        ("delete", "Service", "done"): 1,
    }


def test_a_defect_is_logged_with_its_traceback_once_until_a_write_succeeds(
    told: Told, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(error: EdlError, of: JobKey = A) -> tuple[str, bool]:
        """The level of the one new line, and whether it has a traceback."""
        caplog.clear()
        told.journal.acted(StepReport(failed=(StepFailure(Step(of, ()), error),)), ())
        (line,) = caplog.records
        assert line.getMessage() == "write failed, retrying"
        return line.levelname, bool(line.exc_info)

    told.decides(Plan(), ClusterState(told.time.now(), (), (job("a"), job("b"))))
    assert fails(defect()) == ("ERROR", True)
    assert "KeyError: 'metadata'" in caplog.text
    assert fails(defect()) == ("WARNING", False), "the same again"
    assert fails(defect(), JobKey("ns", "b")) == ("ERROR", True)
    assert fails(Unreachable("away")) == ("WARNING", False), "no defect of ours"
    told.acts(Action.STARTED)
    assert fails(defect()) == ("ERROR", True)


def defect() -> WriteDefect:
    """As the executor makes it."""
    body: dict[str, Any] = {}
    found = WriteDefect("KeyError: 'metadata'")
    try:
        body["metadata"]
    except KeyError as error:
        found.__cause__ = error
    return found


def test_the_last_plan_can_be_read_as_json() -> None:
    state = cluster(node("n", cpu=4), worker("a", 1, 2), worker("b", 9, 9), demand("x", shape()))
    plan = decide(state, POLICIES["fair"], Limits())
    document = json.loads(last_plan(LastDecision(state, plan)))
    assert document["decidedAt"] == "2026-01-01T12:00:00.000+00:00"
    (admission,) = document["plan"]["admissions"]
    assert (admission["job"], admission["sizes"]) == ("ns/a", [["worker", 2]])
    (held,) = [each for each in document["plan"]["waiting"] if each["job"] == "ns/b"]
    assert held["reason"]["code"] == "NeverFits"
    assert json.loads(last_plan(None)) == {"decidedAt": None, "plan": None}
