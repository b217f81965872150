"""The leader keeps the ConfigMaps `edl-queue` right, with few writes, and touches no other."""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.errors import ClusterError, Forbidden, Invalid, NotFound, Unreachable
from edl.forecast.estimate import Certainty, Estimate
from edl.model import Code, JobKey, ObjectRef, TrainingJob
from edl.planner.decide import decide
from edl.planner.plan import Plan, WaitingJob
from edl.planner.published_settings import Settings
from edl.visibility.namespace_queue import KEY, NamespaceQueue, parse
from edl.writes import Json
from reconciler.leader_only_cluster import LeaderOnlyCluster, NotLeading
from reconciler.metrics.state_metrics import LastDecision
from reconciler.publication.queue_insights import LONGEST, PART, SLOWEST, QueueInsights, Stopwatches
from reconciler.publication.queue_publisher import (
    AFTER_REFUSAL,
    MAX_ERRORS,
    MAX_WRITES,
    PERIOD,
    RELIST,
    QueuePublisher,
)
from tests.edl.planner.states import at, cluster, node, shape, worker
from tests.fake_cluster.cluster import FakeCluster
from tests.reasons import because
from tests.reconciler.times import Time

if TYPE_CHECKING:
    from datetime import datetime


class Leadership:
    leading = True


class Counting(FakeCluster):
    """It counts writes, and may refuse them in a namespace."""

    def __init__(self, time: Time) -> None:
        super().__init__(time.now)
        self.writes: list[str] = []
        self.error: ClusterError | None = None
        self.refuses = ""

    def _counted(self, verb: str, target: ObjectRef) -> None:
        self.writes.append(f"{verb} {target.namespace}")
        if self.error and self.refuses in ("", target.namespace):
            raise self.error

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        self._counted("create", target)
        return super().create(target, manifest, dry_run=dry_run)

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        self._counted("patch", target)
        return super().patch(target, body, dry_run=dry_run)

    def delete(
        self, target: ObjectRef, *, version: str = "", uid: str = "", dry_run: bool = False
    ) -> None:
        self._counted("delete", target)
        super().delete(target, version=version, uid=uid, dry_run=dry_run)


class Slow:
    """A clock that passes so many seconds each time it is looked at."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.now, self.looks = seconds, 0.0, 0

    def __call__(self) -> float:
        self.now += self.seconds
        self.looks += 1
        return self.now


class Desk:
    """A publisher, and what its leader decided last."""

    def __init__(self) -> None:
        self.time = Time()
        self.cluster = Counting(self.time)
        self.leadership = Leadership()
        self.decided: LastDecision | None = None
        self.confirmed: list[datetime] = []
        self.insight_clock = Slow(LONGEST * 3)
        self.publisher = self.another()

    def another(self) -> QueuePublisher:
        """As after a restart."""
        guarded = LeaderOnlyCluster(self.cluster, self.leadership)
        insights = QueueInsights(Settings(), Stopwatches(self.insight_clock, self.insight_clock))
        return QueuePublisher(
            guarded,
            lambda: self.decided,
            insights,
            self.confirmed.append,
            self.time.monotonic,
        )

    def waits(self, *jobs: str, seconds: float = 0) -> None:
        """`namespace/name` of the jobs in the queue, in their order."""
        keys = [JobKey(*job.split("/")) for job in jobs]
        state = replace(cluster(*_bodies(keys)), observed_at=at(seconds))
        held = (WaitingJob(key, because("waits"), place) for place, key in enumerate(keys, 1))
        self.decided = LastDecision(state, Plan(waiting=tuple(held)))

    def look(self, *jobs: str, after: float = PERIOD) -> list[str]:
        """What it writes when these wait."""
        self.time.seconds += after
        self.cluster.writes.clear()
        self.waits(*jobs, seconds=self.time.seconds)
        self.publisher.lead()
        return list(self.cluster.writes)

    def read(self, namespace: str = "ns") -> NamespaceQueue:
        return parse(self.cluster.get(queue(namespace))["data"][KEY])


def _bodies(keys: list[JobKey]) -> list[TrainingJob]:
    return [replace(worker(key.name, 1, 1, shape=shape(cpu=8)), key=key) for key in keys]


def queue(namespace: str) -> ObjectRef:
    return ObjectRef("ConfigMap", namespace, "edl-queue")


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_each_namespace_gets_its_own_and_loses_it_when_nothing_waits(desk: Desk) -> None:
    assert desk.look("a/one", "b/two", "a/three") == ["create a", "create b"]
    assert [(job.name, job.position) for job in desk.read("a").items] == [("one", 1), ("three", 3)]
    assert desk.look("b/two") == ["delete a", "patch b"]
    with pytest.raises(NotFound):
        desk.cluster.get(queue("a"))


def test_what_has_not_changed_is_not_written(desk: Desk) -> None:
    desk.look("a/one")
    assert desk.look("a/one", after=3600 * 24) == []
    assert len(desk.confirmed) == 2


def test_a_new_leader_takes_over_the_published_queue(desk: Desk) -> None:
    desk.look("a/one", "b/two")
    desk.publisher = desk.another()
    assert desk.look("a/one") == ["delete b"]


def test_a_follower_writes_nothing(desk: Desk) -> None:
    desk.leadership.leading = False
    with pytest.raises(NotLeading):
        desk.look("a/one")
    assert desk.cluster.writes == []
    assert desk.confirmed == []


def test_before_the_first_decision_nothing_is_known_and_nothing_is_taken_away(desk: Desk) -> None:
    desk.look("a/one")
    desk.decided, desk.publisher = None, desk.another()
    desk.cluster.writes.clear()
    desk.publisher.lead()
    assert desk.cluster.writes == []


def test_writes_are_bounded_and_those_left_out_come_next(desk: Desk) -> None:
    jobs = [f"team-{number:03}/job" for number in range(200)]
    seen: set[str] = set()
    for _ in range(4):
        writes = desk.look(*jobs)
        assert len(writes) == MAX_WRITES
        seen.update(writes)
    assert len(seen) == 200
    assert desk.look(*jobs) == []


def test_until_all_are_written_again_nothing_is_confirmed(desk: Desk) -> None:
    jobs = [f"team-{number:03}/job" for number in range(MAX_WRITES)]
    desk.look(*jobs)
    assert desk.look("new/first", "other/second", *jobs, after=1) != []
    assert desk.confirmed == [at(desk.time.seconds - 1)]


def test_nothing_is_published_in_a_namespace_that_is_being_deleted(desk: Desk) -> None:
    desk.waits("a/one", "b/two")
    assert desk.decided is not None
    state = desk.decided.state
    jobs = (replace(state.jobs[0], problem=reasons.NAMESPACE_TERMINATING), state.jobs[1])
    desk.decided = replace(desk.decided, state=replace(state, jobs=jobs))
    desk.publisher.lead()
    assert desk.cluster.writes == ["create b"]


def test_a_config_map_of_others_stays_as_it_is(desk: Desk) -> None:
    theirs = {"data": {"mine": "alone"}}
    desk.cluster.create(queue("a"), theirs)
    assert desk.look("a/one", "b/two") == ["create b"]
    assert desk.cluster.get(queue("a"))["data"] == theirs["data"]
    assert len(desk.confirmed) == 1


@pytest.mark.parametrize("data", [{}, {KEY: "{"}, {KEY: "[" * 100_000}, {"other": "x"}, None])
def test_what_others_wrote_into_ours_is_written_again(desk: Desk, data: Json | None) -> None:
    desk.look("a/one")
    desk.cluster.patch(queue("a"), {"data": None})
    desk.cluster.patch(queue("a"), {"data": data})
    assert desk.look("a/one") == []
    assert desk.look("a/one", after=RELIST) == ["patch a"]
    assert desk.read("a").jobs == 1


def test_a_change_by_others_is_seen_when_ours_meets_it(desk: Desk) -> None:
    desk.look("a/one")
    desk.cluster.patch(queue("a"), {"metadata": {"annotations": {"note": "hello"}}})
    assert desk.look("a/one", "a/two") == ["patch a"]
    assert desk.look("a/one", "a/two") == ["patch a"]
    assert desk.read("a").jobs == 2


@pytest.mark.parametrize(
    "error",
    [
        Forbidden('configmaps "edl-queue" is forbidden: exceeded quota', 403),
        NotFound('namespaces "a" not found', 404),
    ],
    ids=["refused", "deleted"],
)
def test_a_namespace_that_refuses_is_left_alone_for_a_while(
    desk: Desk, error: ClusterError
) -> None:
    desk.cluster.error, desk.cluster.refuses = error, "a"
    assert desk.look("a/one", "b/two") == ["create a", "create b"]
    assert desk.look("a/one", "b/two") == []
    desk.cluster.error = None
    assert desk.look("a/one", "b/two", after=AFTER_REFUSAL) == ["create a"]
    assert len(desk.confirmed) == 3, "where nothing could be created, nothing is out of date"


@pytest.mark.parametrize(
    "error",
    [
        Unreachable("request is too large", 500),
        Unreachable("no answer"),
        Unreachable("denied the request: too many changes", 429),
    ],
    ids=str,
)
def test_a_namespace_in_which_nothing_can_be_written_leaves_the_others(
    desk: Desk, error: ClusterError
) -> None:
    """Users can make it too large for etcd, or have a webhook that hangs, or counts."""
    desk.cluster.error, desk.cluster.refuses = error, "a"
    assert desk.look("a/one", "b/two") == ["create a", "create b"]
    assert desk.look("a/one", "b/two") == []
    assert len(desk.confirmed) == 2
    desk.cluster.refuses = ""
    names = [f"{name}/one" for name in "cdefghijk"]
    assert len(desk.look(*names)) == MAX_ERRORS + 1, "then it is the API server that is away"


@pytest.mark.parametrize("left", [("a/one", "a/three"), ()], ids=["update", "deletion"])
def test_a_document_that_cannot_be_written_stays_and_delays_no_confirmation_of_others(
    desk: Desk, left: tuple[str, ...]
) -> None:
    desk.look("b/two", "a/one")
    desk.cluster.error, desk.cluster.refuses = Unreachable("no answer"), "a"
    tries = [desk.look("b/two", *left) for _ in range(1 + int(AFTER_REFUSAL / PERIOD))]
    assert [len(writes) for writes in tries] == [1, *([0] * (len(tries) - 2)), 1]
    assert len(desk.confirmed) == len(tries) - 1
    desk.cluster.error = None
    assert desk.read("a").jobs == 1
    assert len(desk.look("b/two", *left, after=AFTER_REFUSAL)) == 1


@pytest.mark.parametrize("error", [Forbidden("a policy"), Invalid("too large")], ids=str)
def test_a_document_that_may_not_be_updated_is_not_left_with_what_is_no_longer_true(
    desk: Desk, error: ClusterError
) -> None:
    """It would be confirmed as current. Users may delete what the next creation replaces."""
    desk.look("a/one")
    desk.cluster.error, desk.cluster.refuses = error, "a"
    desk.look("a/one", "a/three")
    desk.cluster.error = None
    assert desk.look("a/one", "a/three") == ["delete a"]
    assert desk.look("a/one", "a/three", after=AFTER_REFUSAL) == ["create a"]
    assert desk.read("a").jobs == 2


def test_while_the_api_server_is_away_it_is_tried_again(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.cluster.error = Unreachable("no answer")
    names = [f"{name}/one" for name in "abcdefghijkl"]
    desk.look(*names)
    desk.look(*names)
    assert caplog.text.count("cannot publish the queue: no answer") == 1
    desk.cluster.error = None
    assert len(desk.look(*names)) == len(names) - 2 * MAX_ERRORS
    assert len(desk.look(*names, after=AFTER_REFUSAL)) == 2 * MAX_ERRORS


# -- estimates and explanations --------------------------------------------------------------------


def full() -> LastDecision:
    state = cluster(node("a", cpu=4), _bodies([JobKey("ns", "large")])[0])
    return LastDecision(state, decide(state, Settings().policy_to_apply(), Settings().limits))


def test_a_queued_job_has_its_causes_and_its_estimate(desk: Desk) -> None:
    desk.decided, desk.insight_clock.seconds = full(), 0.0
    desk.publisher.lead()
    (job,) = desk.read().items
    assert job.start is not None
    assert [one.type for one in job.start.blockers] == ["TooLarge"]
    assert (
        job.start.blockers[0].message
        == "one worker pod requests 8 CPU, the only node that it may use has 4 CPU"
    )
    assert job.estimate is not None
    assert job.estimate.certainty is Certainty.NEVER


def test_working_them_out_takes_a_small_part_of_the_time() -> None:
    decided = full()
    clock = Slow(LONGEST * 3)
    insights = QueueInsights(Settings(), Stopwatches(clock, clock))
    queued = decided.plan.waiting
    insights.refreshed(decided, queued)
    spent, looks = clock.now, clock.looks
    clock.seconds = 0.0
    clock.now = spent / PART / 2
    insights.refreshed(decided, queued)
    assert clock.looks == looks + 1, "it only looks whether it has rested"
    clock.now = spent / PART * 2
    insights.refreshed(decided, queued)
    assert clock.looks > looks + 2


def test_what_stops_a_job_is_forgotten_when_a_lasting_reason_of_another_kind_comes() -> None:
    decided, clock = full(), Slow(LONGEST * 3)
    insights = QueueInsights(Settings(), Stopwatches(clock, clock))
    (before,) = insights.refreshed(decided, decided.plan.waiting).values()
    assert before.start is not None
    clock.seconds = 0.0
    for code, stays in [
        (decided.plan.waiting[0].reason.code, True),
        (Code.PLACEMENT_ORDER, True),
        (Code.QUOTA_EXCEEDED, False),
    ]:
        other = [replace(one, reason=because("other", code)) for one in decided.plan.waiting]
        (after,) = insights.refreshed(decided, other).values()
        assert (after.start is not None) is stays, code


class Limited:
    """Processor time that is used up after so many looks of a run."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    def __call__(self) -> float:
        self.looks -= 1
        return 0.0 if self.looks >= 0 else 2 * LONGEST


def crowded(seconds: float = 0) -> LastDecision:
    """A job runs for ten minutes; two wait for one another's room."""
    minutes = timedelta(minutes=10)
    runs = worker("runs", 4, 4, on=["a"] * 4, started_at=at(0), duration=minutes)
    queued = (worker(name, 4, 4, queued=n, duration=minutes) for n, name in enumerate("bc"))
    state = cluster(node("a", cpu=4), runs, *queued, seconds=seconds)
    return LastDecision(state, decide(state, Settings().policy_to_apply(), Settings().limits))


def estimates(insights: QueueInsights, decided: LastDecision) -> list[Estimate | None]:
    return [one.estimate for one in insights.refreshed(decided, decided.plan.waiting).values()]


def test_estimates_stay_while_runs_end_before_they_reach_them() -> None:
    wall, processor = Slow(0), Limited(10**6)
    insights = QueueInsights(Settings(), Stopwatches(wall, processor))
    first = estimates(insights, crowded())
    assert [one.certainty for one in first if one] == [Certainty.ABOUT] * 2
    for looks in range(1, 12):  # the first one begins a run
        wall.now += 100
        processor.looks = looks
        assert estimates(insights, crowded()) == first


def test_what_a_run_does_not_reach_is_published_as_a_bound() -> None:
    insights = QueueInsights(Settings(), Stopwatches(Slow(0), Limited(6)))
    *_, last = estimates(insights, crowded())
    assert last is not None
    assert last.certainty is Certainty.LATER


def test_a_busy_machine_ends_a_simulation_only_after_several_times_its_limit() -> None:
    """At a load of 25 a second of time is a few decisions."""
    for step, certainties in [
        (LONGEST * SLOWEST / 40, [Certainty.ABOUT] * 2),
        (LONGEST * SLOWEST, [Certainty.LATER] * 2),
    ]:
        insights = QueueInsights(Settings(), Stopwatches(Slow(step), Limited(10**6)))
        found = estimates(insights, crowded())
        assert [one.certainty for one in found if one] == certainties


def test_with_much_to_explain_each_job_has_its_turn() -> None:
    keys = [JobKey("ns", f"job-{number}") for number in range(4)]
    state = cluster(node("a", cpu=4), *_bodies(keys))
    decided = LastDecision(state, decide(state, Settings().policy_to_apply(), Settings().limits))
    clock = Slow(LONGEST * 3)
    insights = QueueInsights(Settings(), Stopwatches(clock, clock))
    counts = []
    for _ in range(4):
        found = insights.refreshed(decided, decided.plan.waiting)
        counts.append(sum(one.start is not None for one in found.values()))
        clock.now *= 100
    assert counts == [1, 2, 3, 4]
