import base64
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from threading import Barrier, Event, Thread
from typing import Any

import pytest
from msgspec.structs import replace

from edl.errors import (
    Conflict,
    Forbidden,
    Invalid,
    KindNotServed,
    NotFound,
    Unreachable,
    is_refusal,
)
from edl.kube.cache.watched_kinds import Stores
from edl.kube.cluster import ListOptions
from edl.kube.writer.event_recorder import (
    EventRecorder,
    event_manifest,
    write_event,
)
from edl.kube.writer.executor import (
    THREADS,
    ClusterWriter,
    Concurrency,
    StepFailure,
    StepReport,
    WriteDefect,
)
from edl.kube.writer.ssh_key_generation import key_pair
from edl.model import Code, ExitCodeRule, FailureRules, JobKey, ObjectRef
from edl.steps.disruption_marks import marks_for_stop
from edl.writes import Action, Create, CreateKeys, Delete, JobEvent, Json, Patch, Step
from tests.edl import trainings
from tests.edl.kube.faults import FaultyCluster
from tests.fake_cluster.cluster import FakeCluster
from tests.reasons import because
from tests.waiting import until

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = JobKey("web", "train")
JOB = ObjectRef("Job", "web", "train")
NOTE = JobEvent(JOB, "uid-1", Action.SCALED_UP, Code.IDLE_CAPACITY, "worker: 1 → 3, there is room")


class SeenWrites(Stores):
    def __init__(self, seen: list[tuple[str, Json]]) -> None:
        super().__init__()
        self._seen = seen

    def accept(self, kind: str, body: Json) -> None:
        self._seen.append((kind, body))


@pytest.fixture
def fake() -> FakeCluster:
    fake = FakeCluster(lambda: NOW)
    fake.create(JOB, {"spec": {"parallelism": 1}})
    return fake


@pytest.fixture
def cluster(fake: FakeCluster) -> FaultyCluster:
    return FaultyCluster(fake)


def version(fake: FakeCluster, target: ObjectRef = JOB) -> str:
    return str(fake.get(target)["metadata"]["resourceVersion"])


def resize(fake: FakeCluster, size: int, target: ObjectRef = JOB) -> Patch:
    return Patch(target, version(fake, target), {"spec": {"parallelism": size}})


def test_a_patch_needs_the_version_that_was_decided_on(
    fake: FakeCluster, cluster: FaultyCluster
) -> None:
    step = Step(KEY, (resize(fake, 3),))
    fake.patch(JOB, {"spec": {"suspend": True}})
    report = ClusterWriter(cluster).act([step])
    assert report.conflicts == (step,)
    assert report.failed == ()
    assert fake.get(JOB)["spec"]["parallelism"] == 1


def test_later_writes_of_a_step_follow_its_own_versions(
    fake: FakeCluster, cluster: FaultyCluster
) -> None:
    step = Step(KEY, (resize(fake, 3), resize(fake, 5)))
    assert ClusterWriter(cluster).act([step]).done == (step,)
    assert fake.get(JOB)["spec"]["parallelism"] == 5


def test_a_patch_waits_until_controllers_have_seen_the_writes_before_it(
    fake: FakeCluster, cluster: FaultyCluster
) -> None:
    paused: list[tuple[float, int]] = []

    def pause(seconds: float) -> None:
        paused.append((seconds, fake.get(JOB)["spec"]["parallelism"]))

    step = Step(KEY, (resize(fake, 3), replace(resize(fake, 5), delay=0.5)))
    assert ClusterWriter(cluster, pause=pause).act([step]).done == (step,)
    assert paused == [(0.5, 3)]
    assert fake.get(JOB)["spec"]["parallelism"] == 5


def test_what_writes_return_is_handed_on(fake: FakeCluster, cluster: FaultyCluster) -> None:
    seen: list[tuple[str, Json]] = []
    service = Create(ObjectRef("Service", "web", "train"), {"spec": {}})
    ClusterWriter(cluster, SeenWrites(seen)).act([Step(KEY, (service, resize(fake, 3)))])
    assert [(kind, body["spec"]) for kind, body in seen] == [
        ("Service", {}),
        ("Job", {"parallelism": 3}),
    ]


def test_what_exists_or_is_gone_already_is_done(fake: FakeCluster, cluster: FaultyCluster) -> None:
    service = ObjectRef("Service", "web", "train")
    fake.create(service, {"spec": {"mine": True}})
    step = Step(KEY, (Create(service, {"spec": {}}), Delete(ObjectRef("Pod", "web", "x"), "1")))
    assert ClusterWriter(cluster).act([step]).done == (step,)
    assert fake.get(service)["spec"] == {"mine": True}


class ForgottenObjects(Stores):
    """A cache that notes what a deletion found gone."""

    def __init__(self) -> None:
        super().__init__()
        self.forgotten: list[ObjectRef] = []

    def deleting(self, target: ObjectRef) -> Callable[[], None]:
        return lambda: self.forgotten.append(target)


def test_an_object_is_not_forgotten_while_its_kind_is_not_served(cluster: FaultyCluster) -> None:
    """One API server of several serves it no longer during an upgrade."""
    pod, cache = ObjectRef("Pod", "web", "x"), ForgottenObjects()
    cluster.fails["delete"] = [KindNotServed("the server could not find the resource", 404)]
    for expected in ([], [pod]):
        ClusterWriter(cluster, cache).act([Step(KEY, (Delete(pod, "1"),))])
        assert cache.forgotten == expected


@pytest.mark.parametrize("kind", [Create, CreateKeys])
def test_a_new_object_whose_quota_has_changed_is_not_done(
    fake: FakeCluster, cluster: FaultyCluster, kind: type[Create | CreateKeys]
) -> None:
    made = ObjectRef("Secret", "web", "train-ssh")
    cluster.fails["create"] = [Conflict("cannot be fulfilled on resourcequotas", 409)]
    step = Step(KEY, (kind(made, {}), resize(fake, 3)))
    report = ClusterWriter(cluster).act([step])
    assert (report.done, report.conflicts, report.failed) == ((), (step,), ())
    assert fake.get(JOB)["spec"]["parallelism"] == 1


@pytest.mark.parametrize("kind", [Create, CreateKeys])
def test_a_new_object_that_lacks_another_one_is_a_failure(
    fake: FakeCluster, cluster: FaultyCluster, kind: type[Create | CreateKeys]
) -> None:
    cluster.fails["create"] = [NotFound('clusterroles "edl-peers" not found', 404)]
    step = Step(KEY, (kind(ObjectRef("RoleBinding", "web", "train-peers"), {}), resize(fake, 3)))
    report = ClusterWriter(cluster).act([step])
    assert (report.done, report.conflicts) == ((), ())
    assert [str(one.error) for one in report.failed] == ['clusterroles "edl-peers" not found']


def test_rights_are_bound_only_to_an_account_that_the_step_has_made(
    fake: FakeCluster, cluster: FaultyCluster
) -> None:
    account, binding = (
        ObjectRef(kind, "web", "train-peers") for kind in ("ServiceAccount", "RoleBinding")
    )
    step = Step(KEY, (Create(account, {}), Create(binding, {}, needs=account), resize(fake, 3)))
    fake.create(account, {})
    (failure,) = ClusterWriter(cluster).act([step]).failed
    assert is_refusal(failure.error)
    assert str(failure.error).startswith("ServiceAccount train-peers exists and is not known as")
    assert fake.get(JOB)["spec"]["parallelism"] == 1
    fake.delete(account)
    assert ClusterWriter(cluster).act([step]).done == (step,)
    assert fake.get(binding)


def test_the_first_failure_ends_its_step_and_no_other(
    fake: FakeCluster, cluster: FaultyCluster
) -> None:
    others = [ObjectRef("Job", "web", f"other-{number}") for number in range(20)]
    for other in others:
        fake.create(other, {"spec": {"parallelism": 1}})
    error = Forbidden("no", 403)
    cluster.fails["create train"] = [error]
    service = Create(ObjectRef("Service", "web", "train"), {"spec": {}})
    bad = Step(KEY, (service, resize(fake, 3)), (NOTE,))
    good = [Step(JobKey("web", other.name), (resize(fake, 2, other),)) for other in others]
    said: list[JobEvent] = []
    report = ClusterWriter(cluster, record=said.append).act([bad, *good])
    assert report.failed == (StepFailure(bad, error),)
    assert sorted(report.done, key=str) == sorted(good, key=str)
    assert fake.get(JOB)["spec"]["parallelism"] == 1
    assert all(fake.get(other)["spec"]["parallelism"] == 2 for other in others)
    assert said == []


def test_notes_are_announced_when_every_write_succeeded(
    fake: FakeCluster, cluster: FaultyCluster
) -> None:
    said: list[JobEvent] = []
    ClusterWriter(cluster, record=said.append).act([Step(KEY, (resize(fake, 3),), (NOTE,))])
    assert said == [NOTE]


def test_a_delete_of_another_version_conflicts(fake: FakeCluster, cluster: FaultyCluster) -> None:
    step = Step(KEY, (Delete(JOB, "1"),))
    assert ClusterWriter(cluster).act([step]).conflicts == (step,)
    assert fake.get(JOB)


def test_the_same_words_are_one_event_that_is_counted(fake: FakeCluster) -> None:
    later = NOW + timedelta(minutes=5)
    write_event(fake, NOTE, NOW)
    write_event(fake, NOTE, later)
    name = event_manifest(NOTE, NOW)["metadata"]["name"]
    found = fake.get(ObjectRef("Event", "web", name))
    assert (found["count"], found["firstTimestamp"], found["lastTimestamp"]) == (
        2,
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:05:00Z",
    )
    assert found["involvedObject"] == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "namespace": "web",
        "name": "train",
        "uid": "uid-1",
    }


def test_other_words_are_another_event(fake: FakeCluster) -> None:
    for note in (
        NOTE,
        JobEvent(JOB, "uid-1", Action.SCALED_UP, Code.IDLE_CAPACITY, "otherwise"),
        JobEvent(JOB, "uid-2", Action.SCALED_UP, Code.IDLE_CAPACITY, "x"),
    ):
        write_event(fake, note, NOW)
    assert len(fake.list(ListOptions("Event")).items) == 3


def test_an_event_that_cannot_be_written_is_forgotten(
    fake: FakeCluster, cluster: FaultyCluster
) -> None:
    cluster.fails["create"] = [Unreachable("away"), Forbidden("no", 403)]
    recorder = EventRecorder(cluster, lambda: NOW)
    for message in ("one", "two", "three"):
        recorder.record(JobEvent(JOB, "uid-1", Action.SCALED_UP, Code.IDLE_CAPACITY, message))
    recorder.close(10)
    assert len(fake.list(ListOptions("Event")).items) == 1


def test_a_mistake_in_one_step_stops_no_other(fake: FakeCluster, cluster: FaultyCluster) -> None:
    other = ObjectRef("Job", "web", "other")
    fake.create(other, {"spec": {"parallelism": 1}})
    cluster.fails["patch train"] = [UnicodeError("no answer that anybody reads")]
    bad, good = Step(KEY, (resize(fake, 3),)), Step(KEY, (resize(fake, 3, other),))
    report = ClusterWriter(cluster).act([bad, good])
    assert (report.done, [failure.step for failure in report.failed]) == ((good,), [bad])
    (error,) = (failure.error for failure in report.failed)
    assert isinstance(error, WriteDefect)
    assert str(error) == "UnicodeError: no answer that anybody reads"
    cause = error.__cause__
    assert isinstance(cause, UnicodeError)
    frames = [frame.name for frame in traceback.extract_tb(cause.__traceback__)]
    assert "patch" in frames, "the traceback leads to the line that failed"


def test_an_event_that_fails_with_a_defect_does_not_end_later_events(
    fake: FakeCluster, cluster: FaultyCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.fails["create"] = [UnicodeError("a bug"), Invalid("no", 422)]
    recorder = EventRecorder(cluster, lambda: NOW)
    for message in ("one", "two", "three"):
        recorder.record(JobEvent(JOB, "uid-1", Action.SCALED_UP, Code.IDLE_CAPACITY, message))
    recorder.close(10)
    assert len(fake.list(ListOptions("Event")).items) == 1
    (line,) = caplog.records
    assert (line.levelname, line.getMessage()) == (
        "ERROR",
        "cannot write an Event: UnicodeError: a bug",
    )
    assert line.exc_info


def test_a_busy_server_hears_events_late_but_closing_waits_for_none(
    cluster: FaultyCluster, fake: FakeCluster
) -> None:
    moments = count()  # each write seems to take a second, and the rest after it three
    recorder = EventRecorder(cluster, lambda: NOW, lambda: next(moments))
    for number in range(5):
        event = JobEvent(JOB, "uid-1", Action.SCALED_UP, Code.IDLE_CAPACITY, str(number))
        recorder.record(event)
    recorder.close(10)
    assert len(fake.list(ListOptions("Event")).items) == 5


class SlowNamespaces(FaultyCluster):
    """Creations in a namespace take this many seconds by its clock; those of 30 get no answer."""

    def __init__(self, fake: FakeCluster) -> None:
        super().__init__(fake)
        self.now = 0.0
        self.seconds = dict[str, float]()
        self.tried = list[str]()

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        self.tried.append(f"{target.namespace} {manifest['message']}")
        self.now += self.seconds.get(target.namespace, 0.0)
        if self.seconds.get(target.namespace) == 30:
            raise Unreachable("no answer")
        return super().create(target, manifest, dry_run=dry_run)


@pytest.mark.parametrize("seconds", [3, 30])
def test_events_of_a_namespace_whose_webhook_hangs_do_not_delay_others(
    fake: FakeCluster, seconds: int
) -> None:
    cluster = SlowNamespaces(fake)
    cluster.seconds = {"hangs": seconds, "short": 1, "long": 20 * seconds}
    recorder = EventRecorder(cluster, lambda: NOW, lambda: cluster.now)
    for text in ("hangs a", "hangs b", "short a", "short b", "hangs c", "long a", "hangs d"):
        namespace, message = text.split()
        job = ObjectRef("Job", namespace, "train")
        recorder.record(JobEvent(job, "uid-1", Action.SCALED_UP, Code.IDLE_CAPACITY, message))
    recorder.close(10)
    assert cluster.tried == ["hangs a", "short a", "short b", "long a", "hangs d"]


def test_what_was_not_begun_when_it_was_enough_is_left(
    fake: FakeCluster, cluster: FaultyCluster
) -> None:
    others = [ObjectRef("Job", "web", f"other-{number}") for number in range(20)]
    for other in others:
        fake.create(other, {"spec": {"parallelism": 1}})
    steps = [Step(JobKey("web", other.name), (resize(fake, 2, other),)) for other in others]
    asked = count()
    report = ClusterWriter(cluster).act(steps, lambda: next(asked) >= 5)
    assert (len(report.done), len(report.left)) == (5, 15)
    assert sorted(report.done + report.left, key=str) == sorted(steps, key=str)
    grown = [fake.get(other)["spec"]["parallelism"] == 2 for other in others]
    assert sum(grown) == 5


class Unanswered(FaultyCluster):
    """Patches in one namespace get no answer until a test says so."""

    def __init__(self, fake: FakeCluster, namespace: str) -> None:
        super().__init__(fake)
        self.answer = Event()
        self.begun = list[str]()
        self._namespace = namespace

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        self.begun.append(f"{target.namespace}/{target.name}")
        if target.namespace == self._namespace:
            assert self.answer.wait(60)
        return super().patch(target, body, dry_run=dry_run)


def sized(fake: FakeCluster, namespace: str, count: int) -> list[Step]:
    """A step for each of so many new Jobs."""
    jobs = [ObjectRef("Job", namespace, f"job-{number:03}") for number in range(count)]
    for job in jobs:
        fake.create(job, {"spec": {"parallelism": 1}})
    return [Step(JobKey(job.namespace, job.name), (resize(fake, 2, job),)) for job in jobs]


def test_writes_without_an_answer_delay_no_step_of_another_namespace(fake: FakeCluster) -> None:
    hanging, others = sized(fake, "a", 150), sized(fake, "b", THREADS // 4)
    begun, waiting = hanging[: THREADS // 2], hanging[THREADS // 2 :]
    cluster, ended = Unanswered(fake, "a"), Event()
    writer = ClusterWriter(cluster, concurrency=Concurrency(patience=0.0, ended=ended.set))
    assert writer.act([*hanging, *others]) == StepReport(running=(*begun, *others))
    done = list[Step]()
    while len(done) < len(others):
        assert ended.wait(60)
        ended.clear()
        report = writer.act(waiting)
        done += report.done
        assert report.left == ()
    assert report.running == tuple(begun)
    assert sum(name.startswith("a/") for name in cluster.begun) == len(begun)
    cluster.answer.set()
    writer.close()
    assert writer.act(()) == StepReport(done=tuple(begun))


def test_the_end_of_a_step_that_was_not_waited_for_is_announced_once(fake: FakeCluster) -> None:
    (step,) = sized(fake, "a", 1)
    cluster, ended = Unanswered(fake, "a"), list[str]()
    concurrency = Concurrency(patience=0.0, ended=lambda: ended.append("a step"))
    writer = ClusterWriter(cluster, concurrency=concurrency)
    assert [writer.act(steps).running for steps in ([step], (), ())] == [(step,)] * 3
    assert ended == []
    cluster.answer.set()
    writer.close()
    assert ended == ["a step"]
    assert writer.act(()).done == (step,)


@pytest.mark.parametrize("namespace", ["a", "b"])
def test_many_pods_without_an_answer_leave_threads_for_other_jobs(
    fake: FakeCluster, namespace: str
) -> None:
    pods = [ObjectRef("Pod", "a", f"pod-{number}") for number in range(100)]
    for pod in pods:
        fake.create(pod, {"spec": {}})
    large = Step(JobKey("a", "large"), tuple(Patch(pod, version(fake, pod), {}) for pod in pods))
    (other,) = sized(fake, namespace, 1)
    cluster = Unanswered(fake, "a")
    writer = ClusterWriter(cluster, concurrency=Concurrency(patience=0.0))
    assert writer.act([large]).running == (large,)
    until(lambda: len(cluster.begun) > THREADS // 4)
    assert other in writer.act([other]).running
    until(lambda: f"{namespace}/job-000" in cluster.begun)
    assert len(cluster.begun) < THREADS // 2
    cluster.answer.set()
    writer.close()
    assert writer.act(()).done == (large, other)
    assert len(cluster.begun) == len(pods) + 1


def test_what_is_gone_is_decided_again_and_no_failure(
    fake: FakeCluster, cluster: FaultyCluster
) -> None:
    step = Step(KEY, (resize(fake, 3),))
    fake.delete(JOB)
    report = ClusterWriter(cluster).act([step])
    assert (report.conflicts, report.failed) == ((step,), ())


class Together(FaultyCluster):
    """Lets a pod be patched once as many are being patched as there are.

    Other objects are patched once `answer` is set.
    """

    def __init__(self, fake: FakeCluster, pods: int) -> None:
        super().__init__(fake)
        self.order: list[str] = []
        self.answer = Event()
        self.answer.set()
        self._barrier = Barrier(pods, timeout=20)

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        if target.kind == "Pod":
            self._barrier.wait()
        else:
            assert self.answer.wait(60)
        self.order.append(f"patch {target.name}")
        return super().patch(target, body, dry_run=dry_run)

    def delete(self, target: ObjectRef, *, version: str = "", uid: str = "") -> None:
        self.order.append(f"delete {target.name}")
        super().delete(target, version=version, uid=uid)


def removal(fake: FakeCluster, count: int) -> Step:
    """Pods that lose their finalizer and are deleted, and then a smaller Job."""
    pods = [ObjectRef("Pod", "web", f"pod-{number}") for number in range(count)]
    for pod in pods:
        fake.create(pod, {"metadata": {"finalizers": ["a"]}})
    release: Json = {"metadata": {"finalizers": []}}
    ends = [(Patch(pod, version(fake, pod), release), Delete(pod)) for pod in pods]
    return Step(KEY, (*(write for pair in ends for write in pair), resize(fake, 0)))


def test_many_pods_of_one_step_are_written_at_once_and_what_follows_them_after_all(
    fake: FakeCluster,
) -> None:
    step, cluster = removal(fake, 4), Together(fake, 4)
    assert ClusterWriter(cluster).act([step]).done == (step,)
    assert cluster.order[-1] == "patch train"
    for number in range(4):
        first, then = cluster.order.index(f"patch pod-{number}"), f"delete pod-{number}"
        assert then in cluster.order[first:-1]


def test_a_step_that_runs_at_the_end_is_completed_as_fast_as_before(fake: FakeCluster) -> None:
    removed, cluster = removal(fake, 4), Together(fake, 4)
    step = replace(removed, writes=(resize(fake, 3), *removed.writes))
    cluster.answer.clear()
    writer = ClusterWriter(cluster, concurrency=Concurrency(patience=0.0))
    assert writer.act([step]).running == (step,)
    closing = Thread(target=writer.close)
    closing.start()
    cluster.answer.set()
    closing.join(60)
    assert writer.act(()).done == (step,)
    assert fake.get(JOB)["spec"]["parallelism"] == 0


def test_steps_with_many_pods_need_no_hand_but_their_own(
    fake: FakeCluster, cluster: FaultyCluster
) -> None:
    step = removal(fake, 5)
    assert ClusterWriter(cluster, concurrency=Concurrency(threads=1)).act([step]).done == (step,)


def test_after_a_pod_that_cannot_be_written_nothing_of_the_step_is_begun(
    fake: FakeCluster, cluster: FaultyCluster
) -> None:
    step = removal(fake, 5)
    cluster.fails["patch pod-0"] = [Forbidden("no", 403)]
    report = ClusterWriter(cluster, concurrency=Concurrency(threads=1)).act([step])
    assert [one.step for one in report.failed] == [step]
    assert cluster.asked["delete"] == 0
    assert fake.get(JOB)["spec"]["parallelism"] == 1


_CHANGES: Mapping[str, Json] = {
    "gone": {"metadata": {"finalizers": []}},
    "leaves": {"metadata": {"finalizers": ["a", "b"]}},
    "ended": {"metadata": {"labels": {"seen": "yes"}}, "status": {"phase": "Succeeded"}},
    "runs": {"metadata": {"finalizers": ["a", "b"]}},
}


@pytest.mark.parametrize("optional", [True, False])
@pytest.mark.parametrize("change", _CHANGES)
def test_an_optional_patch_of_an_object_that_ends_leaves_only_this_object_out(
    fake: FakeCluster, cluster: FaultyCluster, change: str, *, optional: bool
) -> None:
    """A pod that runs must go before the size is lowered: another one would go instead."""
    first, delete, *others = removal(fake, 3).writes
    assert isinstance(first, Patch)
    unchanged = {"metadata": {"finalizers": ["a"]}, "status": None}
    first = replace(first, unless_changed=unchanged, optional=optional)
    fake.patch(first.target, _CHANGES[change])
    if change in ("gone", "leaves"):
        fake.delete(first.target)
    step = Step(KEY, (first, delete, *others))
    report = ClusterWriter(cluster, concurrency=Concurrency(threads=1)).act([step])
    left_out = optional and change != "runs"
    assert (report.done, report.conflicts) == (((step,), ()) if left_out else ((), (step,)))
    assert fake.get(JOB)["spec"]["parallelism"] == (0 if left_out else 1)
    assert cluster.asked["delete"] == (2 if left_out else 0), "and the changed pod stays"


@pytest.mark.parametrize(
    ("other", "size"),
    [({"status": {"active": 3}}, 3), ({"spec": {"parallelism": 2}}, 2)],
    ids=["the status", "what it depends on"],
)
def test_a_patch_that_names_what_it_depends_on_survives_other_changes(
    fake: FakeCluster, cluster: FaultyCluster, other: Json, size: int
) -> None:
    depends = {"spec": {"parallelism": 1}, "metadata": {"annotations": {"edl.dev/remove": None}}}
    fake.patch(JOB, {"metadata": {"annotations": {"edl.dev/reason": "Admitted"}}})
    step = Step(KEY, (replace(resize(fake, 3), unless_changed=depends),))
    fake.patch(JOB, other)
    report = ClusterWriter(cluster).act([step])
    assert report.conflicts == (() if size == 3 else (step,))
    assert fake.get(JOB)["spec"]["parallelism"] == size


def test_a_pod_that_has_ended_since_is_neither_marked_nor_deleted(
    fake: FakeCluster, cluster: FaultyCluster
) -> None:
    (mark,) = marks_of(fake, "first")
    fake.patch(mark.target, {"status": {"phase": "Succeeded"}})
    step = Step(KEY, (mark, Delete(mark.target), resize(fake, 3)))
    assert ClusterWriter(cluster).act([step]).done == (step,)
    assert conditions(fake, mark.target) == {}


@pytest.mark.parametrize(
    ("change", "marked"),
    [
        ({"status": {"phase": "Succeeded"}}, {}),
        ({"status": {"phase": "Failed"}}, {}),
        ({"metadata": {"labels": {"seen": "yes"}}}, {"DisruptionTarget": "True"}),
    ],
    ids=["succeeded", "failed", "runs on"],
)
def test_pods_that_change_all_the_time_hold_back_no_suspension(
    fake: FakeCluster, cluster: FaultyCluster, change: Json, marked: Json
) -> None:
    """Of many short work items some always end between a decision and its write."""
    first, second = marks_of(fake, "first", "second")
    step = Step(KEY, (first, second, resize(fake, 3)))
    fake.patch(first.target, change)
    assert ClusterWriter(cluster).act([step]).done == (step,)
    assert conditions(fake, first.target) == marked
    assert conditions(fake, second.target) == {"DisruptionTarget": "True"}


def test_a_pod_that_changes_with_each_attempt_is_marked_in_a_later_round(
    fake: FakeCluster, cluster: FaultyCluster
) -> None:
    (mark,) = marks_of(fake, "first")
    cluster.fails["condition"] = [Conflict("has been modified", 409)] * 9
    step = Step(KEY, (mark, resize(fake, 3)))
    assert ClusterWriter(cluster).act([step]).conflicts == (step,)
    assert cluster.asked["condition"] == 5


KEYS = CreateKeys(ObjectRef("Secret", "web", "train-ssh"), {"type": "Opaque"})


def test_a_pod_is_marked_before_it_is_ended_and_its_later_writes_follow_the_mark(
    fake: FakeCluster, cluster: FaultyCluster
) -> None:
    (mark,) = marks_of(fake, "first")
    gone = replace(mark, target=ObjectRef("Pod", "web", "gone"))
    label = Patch(mark.target, mark.version, {"metadata": {"labels": {"seen": "yes"}}})
    step = Step(KEY, (mark, gone, label, resize(fake, 3)))
    assert ClusterWriter(cluster).act([step]).done == (step,)
    found = fake.get(mark.target)
    assert found["status"]["conditions"] == [mark.body]
    assert found["metadata"]["labels"] == {"seen": "yes"}
    assert fake.get(JOB)["spec"]["parallelism"] == 3


def marks_of(fake: FakeCluster, *names: str) -> list[Patch]:
    """The marks of new pods, as a stop makes them."""
    rules = FailureRules((ExitCodeRule("FailJob", frozenset({1}), spares_disrupted=True),))
    for name in names:
        fake.create(ObjectRef("Pod", "web", name), {"spec": {}, "status": {}})
    versions = {name: version(fake, ObjectRef("Pod", "web", name)) for name in names}
    found = [
        replace(trainings.pod("worker", 0), name=name, version=one)
        for name, one in versions.items()
    ]
    worker = trainings.role("worker", pods=tuple(found)).changed(failure_rules=rules)
    return [*marks_for_stop(KEY, [worker], because("why"), NOW)]


def conditions(fake: FakeCluster, target: ObjectRef) -> dict[str, str]:
    found = fake.get(target)["status"].get("conditions", [])
    return {one["type"]: one["status"] for one in found}


def test_a_withdrawal_leaves_a_pod_alone_that_has_changed_since(fake: FakeCluster) -> None:
    first, second = marks_of(fake, "first", "second")
    fake.patch(first.target, {"metadata": {"labels": {"seen": "yes"}}})
    step = Step(KEY, tuple(replace(mark, unless_changed=None) for mark in (first, second)))
    assert ClusterWriter(fake, concurrency=Concurrency(threads=1)).act([step]).done == (step,)
    assert conditions(fake, first.target) == {}
    assert conditions(fake, second.target) == {"DisruptionTarget": "True"}


def test_a_key_pair_is_made_when_it_is_written_and_never_returned(fake: FakeCluster) -> None:
    seen: list[tuple[str, Json]] = []
    ClusterWriter(fake, SeenWrites(seen)).act([Step(KEY, (KEYS,))])
    data = fake.get(KEYS.target)["data"]
    assert sorted(data) == ["config", "id_rsa", "id_rsa.pub"]
    assert base64.b64decode(data["id_rsa.pub"]).startswith(b"ssh-rsa ")
    assert seen == []


def test_keys_that_exist_stay(fake: FakeCluster, cluster: FaultyCluster) -> None:
    fake.create(KEYS.target, {"data": {"id_rsa": "mine"}})
    assert ClusterWriter(cluster).act([Step(KEY, (KEYS, resize(fake, 3)))]).conflicts == ()
    assert fake.get(KEYS.target)["data"] == {"id_rsa": "mine"}
    assert fake.get(JOB)["spec"]["parallelism"] == 3


@pytest.mark.slow
def test_two_key_pairs_are_different() -> None:
    first, second = key_pair(), key_pair()
    assert first["id_rsa"] != second["id_rsa"]
    assert first["config"] == second["config"]
