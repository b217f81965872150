"""The whole reconciler on a cluster in memory: it reads, decides, writes, and hands over."""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.client import HTTPConnection
from threading import Event, Thread
from typing import Any

import pytest
from msgspec.structs import replace

from edl import contract, reasons
from edl.errors import Forbidden, NotFound
from edl.inject.handlers import AdmissionRequest, Context, mutate
from edl.kube.cluster import Cluster, ListOptions, RawList, Watch
from edl.kube.writer import executor
from edl.kube.writer.executor import THREADS
from edl.model import ClusterState, JobKey, ObjectRef
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan, WaitingJob
from edl.planner.policies import POLICIES
from edl.writes import Json
from reconciler.controller import FOLLOWING, RESYNC
from reconciler.leader_election import AlwaysLeader, Clocks, LeaderElector, LeaseSettings
from reconciler.leader_only_cluster import NotLeading
from reconciler.manager import Manager, ProbeAddress, run_periodically
from tests.edl.kube import manifests
from tests.edl.kube.faults import FaultyCluster
from tests.fake_cluster.cluster import FakeCluster
from tests.reconciler.times import Time
from tests.waiting import until

SECONDS = 20
CLOCKS = Clocks(lambda: datetime.now(UTC), time.monotonic)
PLAN = partial(decide, policy=POLICIES["fair"], limits=Limits())
LEASE = ObjectRef("Lease", "edl-system", "edl-reconciler")
JOB = ObjectRef("Job", "web", "items")


@pytest.fixture
def fake() -> FakeCluster:
    fake = FakeCluster(CLOCKS.now)
    node = manifests.node("n1")
    fake.create(ObjectRef("Node", "", "n1"), node)
    return fake


@pytest.fixture
def start() -> Iterator[Callable[[Manager], Manager]]:
    started: list[Manager] = []

    def begin(process: Manager) -> Manager:
        process.start(ProbeAddress("127.0.0.1", 0))
        started.append(process)
        return process

    yield begin
    for process in started:
        process.stop()


def submit(fake: FakeCluster, target: ObjectRef, least: int = 1) -> None:
    """Create a Job of up to three work items at a time, as the webhook completes it."""
    labels = {"edl.dev/framework": "none", "edl.dev/min": str(least), "edl.dev/max": "3"}
    body = manifests.job(target.name, labels=labels, completions=9, suspend=False)
    body |= {"apiVersion": "batch/v1", "kind": "Job"}
    verdict = mutate(AdmissionRequest("CREATE", body, None, "ann"), Context(frozenset(), "image"))
    fake.create(target, verdict.manifest)


def spec(fake: FakeCluster, target: ObjectRef = JOB) -> Json:
    found: Json = fake.get(target)["spec"]
    return found


def test_a_job_that_fits_is_started(fake: FakeCluster, start: Callable[[Manager], Manager]) -> None:
    start(Manager(fake, PLAN, CLOCKS))
    submit(fake, JOB)
    until(lambda: spec(fake)["suspend"] is False)
    assert 1 <= spec(fake)["parallelism"] <= 3


def test_a_job_created_while_no_reconciler_ran_is_started(
    fake: FakeCluster, start: Callable[[Manager], Manager]
) -> None:
    submit(fake, JOB)
    start(Manager(fake, PLAN, CLOCKS))
    until(lambda: spec(fake)["suspend"] is False)


def test_a_job_that_cannot_be_written_stops_no_other(
    fake: FakeCluster, start: Callable[[Manager], Manager]
) -> None:
    cluster = FaultyCluster(fake)
    cluster.fails["patch items"] = [Forbidden("no", 403)] * 100
    submit(fake, JOB)
    other = ObjectRef("Job", "web", "other")
    submit(fake, other)
    process = start(Manager(cluster, PLAN, CLOCKS))
    until(lambda: spec(fake, other)["suspend"] is False)
    assert spec(fake)["suspend"] is True
    failures = process.metrics.registry.get_sample_value
    until(lambda: bool(failures("edl_failures_total", {"kind": "Forbidden"})))


class Unanswered(FaultyCluster):
    """Patches of Jobs in one namespace get no answer until a test says so."""

    def __init__(self, fake: FakeCluster) -> None:
        super().__init__(fake)
        self.answer = Event()
        self.begun = list[str]()

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        if target.namespace == JOB.namespace:
            self.begun.append(target.name)
            assert self.answer.wait(60)
        return super().patch(target, body, dry_run=dry_run)


def test_jobs_whose_writes_get_no_answer_delay_none_of_another_namespace(
    fake: FakeCluster, start: Callable[[Manager], Manager]
) -> None:
    cluster, other = Unanswered(fake), ObjectRef("Job", "other", "items")
    fake.patch(ObjectRef("Node", "", "n1"), {"status": {"allocatable": {"cpu": "99"}}})
    hanging = [ObjectRef("Job", JOB.namespace, f"items-{number}") for number in range(THREADS)]
    for target in hanging:
        submit(fake, target)
    start(Manager(cluster, PLAN, CLOCKS))
    until(lambda: len(cluster.begun) == THREADS // 2)
    submit(fake, other)
    until(lambda: spec(fake, other)["suspend"] is False)
    assert len(cluster.begun) == THREADS // 2
    cluster.answer.set()
    until(lambda: not any(spec(fake, target)["suspend"] for target in hanging))
    assert len(set(cluster.begun)) == THREADS


def test_a_job_of_a_namespace_that_is_being_deleted_has_that_reason_and_is_not_tried(
    fake: FakeCluster, start: Callable[[Manager], Manager]
) -> None:
    cluster = FaultyCluster(fake)
    refused = Forbidden("unable to create new content: the namespace is being terminated", 403)
    cluster.fails["create items-first-1"] = [refused] * 100
    namespace = ObjectRef("Namespace", "", "web")
    kept = {"name": "web", "finalizers": ["example.com/kept"]}
    fake.create(namespace, {"metadata": kept})
    fake.delete(namespace)
    submit(fake, JOB, 2)
    start(Manager(cluster, PLAN, CLOCKS))
    until(lambda: annotations(fake).get("edl.dev/reason") == "NamespaceTerminating")
    assert spec(fake)["suspend"] is True
    assert len(cluster.fails["create items-first-1"]) == 100
    assert "edl.dev/write-refused" not in annotations(fake)


def test_a_refused_start_is_explained_and_retried_until_it_is_accepted(
    fake: FakeCluster, start: Callable[[Manager], Manager]
) -> None:
    cluster = FaultyCluster(fake)
    cluster.fails["create items-first-1"] = [Forbidden("exceeded quota: team", 403)] * 2
    submit(fake, JOB, 2)
    start(Manager(cluster, PLAN, CLOCKS))
    until(lambda: "exceeded quota: team" in annotations(fake).get("edl.dev/message", ""))
    assert spec(fake)["suspend"] is True
    until(lambda: "StartRefused" in events(fake))
    until(lambda: spec(fake)["suspend"] is False)
    assert "edl.dev/write-refused" not in annotations(fake)


def test_that_a_start_is_refused_is_an_event_where_not_even_the_reason_may_be_written(
    fake: FakeCluster, start: Callable[[Manager], Manager]
) -> None:
    cluster = FaultyCluster(fake)
    cluster.fails["patch items"] = [Forbidden("denied by a policy", 403)] * 100
    submit(fake, JOB)
    start(Manager(cluster, PLAN, CLOCKS))
    until(lambda: {"StartRefused", "WriteRefused"} <= events(fake))
    assert "edl.dev/reason" not in annotations(fake)


class SizePolicy(FaultyCluster):
    """Refuses new sizes of running Jobs, and other patches of them if `all_patches`.

    It also refuses sizes below `least`, and the next `stops` suspensions.
    """

    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__(cluster)
        self.refuses, self.all_patches = False, False
        self.least = self.stops = 0
        self.refused: list[tuple[int | None, bool]] = []
        """(parallelism, dry run) of refused patches."""

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        size = body.get("spec", {}).get("parallelism")
        if self.refuses and target == JOB and (size is not None or self.all_patches):
            self.refused.append((size, dry_run))
            raise Forbidden("denied by a policy", 403)
        if size is not None and size < self.least:
            raise Forbidden("denied: below the least size", 403)
        if body.get("spec", {}).get("suspend") and self.stops:
            self.stops -= 1
            raise Forbidden("denied: not now", 403)
        return super().patch(target, body, dry_run=dry_run)


def resize(fake: FakeCluster, size: int) -> None:
    fake.patch(JOB, {"metadata": {"annotations": {"edl.dev/replicas": str(size)}}})


def test_a_refused_size_is_tried_as_a_dry_run_until_it_is_accepted(
    fake: FakeCluster, start: Callable[[Manager], Manager]
) -> None:
    cluster = SizePolicy(fake)
    submit(fake, JOB)
    start(Manager(cluster, PLAN, CLOCKS))
    until(lambda: spec(fake)["suspend"] is False)
    size = spec(fake)["parallelism"]
    cluster.refuses = True
    resize(fake, wanted := 1 if size > 1 else 3)
    until(lambda: "denied by a policy" in annotations(fake).get("edl.dev/write-refused", ""))
    until(lambda: "WriteRefused" in events(fake))
    until(lambda: (wanted, True) in cluster.refused)
    assert spec(fake)["parallelism"] == size
    assert cluster.refused.count((wanted, False)) == 1
    cluster.refuses = False
    until(lambda: spec(fake)["parallelism"] == wanted)
    assert "edl.dev/write-refused" not in annotations(fake)


class SizeSetter(FaultyCluster):
    """A mutating webhook that keeps sizes of a Job from `least` to `most`, and its `suspend`."""

    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__(cluster)
        self.least, self.most = 0, 99
        self.suspend: bool | None = None
        self.sent: list[tuple[bool, Json]] = []
        """(dry run, spec) of patches of a Job's size or suspension."""

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        spec = dict(body.get("spec", {}))
        if target == JOB and spec:
            self.sent.append((dry_run, dict(spec)))
            sizes = {"parallelism", "completions"} & spec.keys()
            spec |= {name: max(min(spec[name], self.most), self.least) for name in sizes}
            if self.suspend is not None and "suspend" in spec:
                spec["suspend"] = self.suspend
            body = {**body, "spec": spec}
        return super().patch(target, body, dry_run=dry_run)

    def written(self, **fields: object) -> int:
        """How many patches, dry runs aside, had these fields."""
        return sum(not dry and fields.items() <= spec.items() for dry, spec in self.sent)


def test_a_size_that_a_webhook_replaces_is_written_once_and_then_tried_as_a_dry_run(
    fake: FakeCluster, start: Callable[[Manager], Manager]
) -> None:
    """Else each round would write it again, with a line of history and an Event."""
    cluster = SizeSetter(fake)
    submit(fake, JOB)
    start(Manager(cluster, PLAN, CLOCKS))
    until(lambda: spec(fake)["suspend"] is False)
    assert spec(fake)["parallelism"] > 2
    cluster.least = 2
    resize(fake, 1)
    until(lambda: (True, {"parallelism": 1}) in cluster.sent)
    why = "an admission webhook sets spec.parallelism to 2 instead of 1"
    assert why in annotations(fake)["edl.dev/write-refused"]
    assert (cluster.written(parallelism=1), spec(fake)["parallelism"]) == (1, 2)
    cluster.least = 0
    until(lambda: spec(fake)["parallelism"] == 1)


def test_a_start_that_a_webhook_takes_back_is_refused_and_its_size_is_what_the_webhook_says(
    fake: FakeCluster, start: Callable[[Manager], Manager]
) -> None:
    cluster = SizeSetter(fake)
    cluster.suspend, cluster.most = True, 2
    submit(fake, JOB)
    start(Manager(cluster, PLAN, CLOCKS))
    until(lambda: any(dry and spec["suspend"] is False for dry, spec in cluster.sent))
    assert "sets spec.suspend to True" in annotations(fake)["edl.dev/write-refused"]
    assert cluster.written(suspend=False) == 1
    cluster.suspend = None
    until(lambda: spec(fake)["suspend"] is False)
    assert spec(fake)["parallelism"] == 2


@pytest.fixture
def too_small(fake: FakeCluster, start: Callable[[Manager], Manager]) -> SizePolicy:
    """A job whose user has asked for fewer replicas than a policy allows."""
    cluster = SizePolicy(fake)
    submit(fake, JOB)
    start(Manager(cluster, PLAN, CLOCKS))
    until(lambda: spec(fake)["suspend"] is False)
    assert spec(fake)["parallelism"] > 2
    cluster.least = 2
    resize(fake, 1)
    until(lambda: "below the least size" in annotations(fake).get("edl.dev/write-refused", ""))
    return cluster


@pytest.mark.usefixtures("too_small")
def test_the_correction_of_a_refused_request_takes_effect(fake: FakeCluster) -> None:
    resize(fake, 2)
    until(lambda: spec(fake)["parallelism"] == 2)
    assert "edl.dev/write-refused" not in annotations(fake)


def test_a_suspension_that_failed_once_happens_while_a_size_is_refused(
    fake: FakeCluster, too_small: SizePolicy
) -> None:
    too_small.stops = 1
    fake.patch(JOB, {"metadata": {"annotations": {"edl.dev/paused": "true"}}})
    until(lambda: spec(fake)["suspend"] is True)
    assert not too_small.stops


def test_a_refused_size_is_tried_once_where_not_even_the_refusal_may_be_written(
    fake: FakeCluster, start: Callable[[Manager], Manager]
) -> None:
    cluster = SizePolicy(fake)
    submit(fake, JOB)
    start(Manager(cluster, PLAN, CLOCKS))
    until(lambda: spec(fake)["suspend"] is False)
    size = spec(fake)["parallelism"]
    cluster.refuses = cluster.all_patches = True
    resize(fake, wanted := 1 if size > 1 else 3)
    until(lambda: (None, False) in cluster.refused[1:])
    assert cluster.refused.count((wanted, False)) == 1
    cluster.refuses = False
    until(lambda: spec(fake)["parallelism"] == wanted)


def test_the_next_reconciler_knows_which_size_was_refused(
    fake: FakeCluster, start: Callable[[Manager], Manager]
) -> None:
    cluster = SizePolicy(fake)
    submit(fake, JOB)
    first = start(Manager(cluster, PLAN, CLOCKS))
    until(lambda: spec(fake)["suspend"] is False)
    cluster.refuses = True
    resize(fake, wanted := 1 if spec(fake)["parallelism"] > 1 else 3)
    until(lambda: "edl.dev/write-refused" in annotations(fake))
    first.stop()
    cluster.refused.clear()
    start(Manager(cluster, PLAN, CLOCKS))
    until(lambda: bool(cluster.refused))
    assert set(cluster.refused) == {(wanted, True)}


FALCON = JobKey("secret", "falcon")
FOREIGN = {
    "jobs ahead of it in the queue start first": reasons.goes_first(FALCON),
    "waiting for pods ahead of it to be scheduled": reasons.placed_after([FALCON]),
    "2 pods wait for others to terminate": reasons.leaving(2, [FALCON]),
}


@pytest.mark.parametrize("said", FOREIGN)
def test_a_job_is_told_no_name_of_another_namespaces_job(
    fake: FakeCluster, start: Callable[[Manager], Manager], said: str
) -> None:
    plan = Plan(waiting=(WaitingJob(JobKey("web", "items"), FOREIGN[said]),))
    start(Manager(fake, lambda _: plan, CLOCKS))
    submit(fake, JOB)
    until(lambda: annotations(fake).get("edl.dev/message") == said)
    assert "falcon" not in json.dumps(fake.get(JOB))


@pytest.mark.parametrize("said", FOREIGN)
def test_a_scale_up_that_times_out_names_no_job_of_another_namespace(
    fake: FakeCluster, start: Callable[[Manager], Manager], said: str
) -> None:
    submit(fake, JOB)
    late = {"edl.dev/replicas": "3", "edl.dev/scale-timeout": "1s"}
    late["edl.dev/scaling"] = "2026-01-01T12:00:00Z 1 3"
    fake.patch(JOB, {"spec": {"suspend": False}, "metadata": {"annotations": late}})
    plan = Plan(waiting=(WaitingJob(JobKey("web", "items"), FOREIGN[said]),))
    start(Manager(fake, lambda _: plan, CLOCKS))
    until(lambda: said in annotations(fake).get("edl.dev/message", ""))
    until(lambda: "ScaleFailed" in events(fake))
    written = [fake.get(JOB), *map(json.loads, fake.list(ListOptions("Event")).items)]
    assert "falcon" not in json.dumps(written)


def annotations(fake: FakeCluster) -> Mapping[str, str]:
    found: Mapping[str, str] = fake.get(JOB)["metadata"].get("annotations", {})
    return found


def events(fake: FakeCluster) -> set[str]:
    items = fake.list(ListOptions("Event")).items
    return {json.loads(item)["reason"] for item in items}


def elected(fake: Cluster, name: str) -> Manager:
    terms = LeaseSettings(lease_duration=15, renew_deadline=10, retry_period=0.05)
    return Manager(fake, PLAN, CLOCKS, LeaderElector(fake, LEASE, name, CLOCKS, terms))


def leader(fake: FakeCluster) -> str:
    try:
        return str(fake.get(LEASE)["spec"]["holderIdentity"])
    except NotFound:
        return ""


def test_one_of_two_leads_and_the_other_takes_over_at_once(fake: FakeCluster) -> None:
    first, second = elected(fake, "first"), elected(fake, "second")
    first.start(ProbeAddress("127.0.0.1", 0))
    until(lambda: leader(fake) == "first")
    second.start(ProbeAddress("127.0.0.1", 0))
    try:
        submit(fake, JOB)
        until(lambda: spec(fake)["suspend"] is False)
        first.stop()
        until(lambda: leader(fake) == "second")
        after = ObjectRef("Job", "web", "after")
        submit(fake, after)
        until(lambda: spec(fake, after)["suspend"] is False)
    finally:
        second.stop()
    assert leader(fake) == ""


def test_a_leader_with_a_stalled_loop_gives_up_its_lease(
    fake: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    time = Time()
    hangs, goes_on = Event(), Event()

    def decided(state: ClusterState) -> Plan:
        if state.jobs:
            hangs.set()
            assert goes_on.wait(SECONDS)
        return PLAN(state)

    terms = LeaseSettings(lease_duration=15, renew_deadline=10, retry_period=0.05)
    elector = LeaderElector(fake, LEASE, "first", time.clocks, terms)
    process = Manager(fake, decided, time.clocks, elector)
    port = process.start(ProbeAddress("127.0.0.1", 0))
    try:
        submit(fake, JOB)
        assert hangs.wait(SECONDS)
        time.seconds += 61
        until(lambda: "first does not renew its Lease" in caplog.text)
        assert not elector.leading
        assert get(port, "/healthz")[0] == 200, "an API server may hang for longer than that"
        time.seconds += 540
        assert get(port, "/healthz")[0] == 503, "the kubelet starts it again"
    finally:
        goes_on.set()
        process.stop()


def test_a_leader_whose_decisions_are_all_slow_goes_on_to_lead(fake: FakeCluster) -> None:
    time = Time()
    decides, goes_on = Event(), Event()
    decisions = 0

    def decided(state: ClusterState) -> Plan:
        nonlocal decisions
        decisions += 1
        time.seconds += 70
        if decisions > 1:
            decides.set()
            assert goes_on.wait(SECONDS)
        return PLAN(state)

    terms = LeaseSettings(lease_duration=1000, renew_deadline=900, retry_period=0.02)
    elector = LeaderElector(fake, LEASE, "first", time.clocks, terms)
    process = Manager(fake, decided, time.clocks, elector)
    process.start(ProbeAddress("127.0.0.1", 0))
    try:
        submit(fake, JOB)
        assert decides.wait(SECONDS)
        for _ in range(3):  # the first renewal may have begun before the decision
            _is_renewed(fake, time)
    finally:
        goes_on.set()
        process.stop()


def _is_renewed(fake: FakeCluster, time: Time) -> None:
    before = fake.get(LEASE)["spec"]["renewTime"]
    time.seconds += 1
    until(lambda: fake.get(LEASE)["spec"]["renewTime"] > before, within=SECONDS / 2)


class Slow(FaultyCluster):
    """The first patch of a Job is not answered before `answers` is set."""

    def __init__(self, cluster: FakeCluster) -> None:
        super().__init__(cluster)
        self.asked_for, self.answers = Event(), Event()

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        if target.kind == "Job":
            self.asked_for.set()
            assert self.answers.wait(SECONDS)
        return super().patch(target, body, dry_run=dry_run)


def test_a_stopping_leader_finishes_its_writes_before_it_releases_the_lease(
    fake: FakeCluster,
) -> None:
    slow = Slow(fake)
    process = elected(slow, "first")
    port = process.start(ProbeAddress("127.0.0.1", 0))
    submit(fake, JOB)
    assert slow.asked_for.wait(SECONDS)
    ending = Thread(target=process.stop)
    ending.start()
    until(lambda: get(port, "/readyz") == (503, "shutting down\n"))
    assert (leader(fake), spec(fake)["suspend"]) == ("first", True)
    slow.answers.set()
    ending.join(SECONDS)
    assert (leader(fake), spec(fake)["suspend"]) == ("", False)


def get(port: int, path: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_health_readiness_and_metrics_are_served(fake: FakeCluster) -> None:
    cluster = FaultyCluster(fake)
    cluster.fails["list"] = [Forbidden("not yet", 403)]
    process = Manager(cluster, PLAN, CLOCKS)
    port = process.start(ProbeAddress("127.0.0.1", 0))
    try:
        until(lambda: get(port, "/readyz")[0] == 200)
        assert get(port, "/healthz") == (200, "ok\n")
        until(lambda: "edl_leading 1.0" in get(port, "/metrics")[1])
        assert 'edl_watches_total{kind="Pod"}' in get(port, "/metrics")[1]
        assert get(port, "/")[0] == 404
    finally:
        process.stop()


def test_the_age_of_the_last_watch_event_is_exported_per_kind(fake: FakeCluster) -> None:
    time = Time()
    process = Manager(fake, PLAN, time.clocks)
    port = process.start(ProbeAddress("127.0.0.1", 0))
    try:
        until(lambda: get(port, "/readyz")[0] == 200)
        time.seconds += 100
        fake.create(ObjectRef("Node", "", "n2"), manifests.node("n2"))
        until(lambda: 'edl_last_event_age_seconds{kind="Node"} 0.0' in get(port, "/metrics")[1])
        assert 'edl_last_event_age_seconds{kind="Pod"} 100.0' in get(port, "/metrics")[1]
    finally:
        process.stop()


class OneReading(FaultyCluster):
    """ProvisioningRequests may be read once: then the right is withdrawn."""

    def pages(self, selection: ListOptions) -> Iterator[RawList]:
        if selection.kind == "ProvisioningRequest" and self.asked["requests"]:
            raise Forbidden("may not list", 403)
        self.asked["requests"] += selection.kind == "ProvisioningRequest"
        return super().pages(selection)

    def watch(self, selection: ListOptions, version: str) -> Watch:
        if selection.kind == "ProvisioningRequest":
            raise Forbidden("may not watch", 403)
        return super().watch(selection, version)


def test_a_request_that_is_gone_is_not_deleted_again_although_no_watch_may_tell(
    fake: FakeCluster,
) -> None:
    fake.unserved = frozenset()
    labels = {contract.PROVISIONAL: "x", "app.kubernetes.io/managed-by": contract.MANAGED_BY}
    request = ObjectRef("ProvisioningRequest", "web", "of-no-job")
    fake.create(request, {"metadata": {"labels": labels}})
    cluster = OneReading(fake)
    process = Manager(cluster, PLAN, CLOCKS)
    port = process.start(ProbeAddress("127.0.0.1", 0))

    def after(before: float) -> bool:
        return rounds() > before

    def rounds() -> float:
        found = re.search(r"^edl_rounds_total (\S+)", get(port, "/metrics")[1], re.MULTILINE)
        return float(found[1]) if found else 0.0

    try:
        until(lambda: cluster.asked["delete"] > 0)
        for number in range(2, 8):
            before = rounds()
            fake.create(ObjectRef("Node", "", f"n{number}"), manifests.node(f"n{number}"))
            until(partial(after, before))
        assert cluster.asked["delete"] == 2
    finally:
        process.stop()


def test_readiness_names_missing_caches_and_the_leader(fake: FakeCluster) -> None:
    cluster = FaultyCluster(fake)
    cluster.fails["list"] = [Forbidden("not yet", 403)] * 100_000  # until the test says so
    process = elected(cluster, "first")
    port = process.start(ProbeAddress("127.0.0.1", 0))
    try:
        status, text = get(port, "/readyz")
        assert (status, text.partition(":")[0]) == (503, "waiting for caches")
        cluster.fails["list"] = []  # another list: a thread may just be taking from the old one
        until(lambda: get(port, "/readyz") == (200, "leader\n"))
        second = elected(fake, "second")
        standby = second.start(ProbeAddress("127.0.0.1", 0))
        try:
            until(lambda: get(standby, "/readyz") == (200, "standby\n"))
        finally:
            second.stop()
    finally:
        process.stop()


def pass_time(
    process: Manager, time: Time, seconds: int, meanwhile: Callable[[], None] = lambda: None
) -> None:
    """Let time pass and something happen, and wait until a later round has begun."""
    begun = process._controller.beat  # noqa: SLF001
    time.seconds += seconds
    meanwhile()
    process._trigger.ring()  # noqa: SLF001
    until(lambda: process._controller.beat != begun)  # noqa: SLF001


def add_node(fake: FakeCluster, port: int, name: str) -> None:
    """Create a node, and wait until the reconciler has read it."""
    fake.create(ObjectRef("Node", "", name), manifests.node(name))
    until(lambda: 'edl_last_event_age_seconds{kind="Node"} 0.0' in get(port, "/metrics")[1])


@contextmanager
def ready(fake: FakeCluster, time: Time) -> Iterator[tuple[Manager, int]]:
    """A process with filled caches, and the port of its probes."""
    fake.unserved = frozenset()
    process = Manager(fake, PLAN, time.clocks)
    port = process.start(ProbeAddress("127.0.0.1", 0))
    try:
        until(lambda: get(port, "/readyz")[0] == 200)
        yield process, port
    finally:
        process.stop()


def test_a_process_that_gets_no_answers_for_an_hour_is_started_again(fake: FakeCluster) -> None:
    """The CA of the API server may be another one, which only a new process reads."""
    time = Time()
    with ready(fake, time) as (process, port):
        pass_time(process, time, 3599)
        assert get(port, "/healthz")[0] == 200
        pass_time(process, time, 2)
        assert get(port, "/healthz")[0] == 503


def test_a_kind_that_stays_silent_ends_no_process_whose_other_kinds_are_answered(
    fake: FakeCluster,
) -> None:
    """A right may have been withdrawn: a new process would not have it, either."""
    time = Time()
    with ready(fake, time) as (process, port):
        pass_time(process, time, 4000, lambda: add_node(fake, port, "n2"))
        assert get(port, "/healthz")[0] == 200


def test_a_process_with_a_write_that_never_ends_is_started_again(
    fake: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    time, begun, ends = Time(), Event(), Event()

    def patch(*_: object, **__: object) -> None:
        begun.set()
        ends.wait()

    monkeypatch.setattr(fake, "patch", patch)
    monkeypatch.setattr(executor, "monotonic", time.monotonic)
    with ready(fake, time) as (process, port):
        try:
            submit(fake, JOB)
            assert begun.wait(SECONDS)
            until(lambda: process._writer._running)  # noqa: SLF001 - it has noted the time
            for seconds, status in ((3599, 200), (2, 503)):
                pass_time(process, time, seconds, partial(add_node, fake, port, f"after-{seconds}"))
                assert get(port, "/healthz")[0] == status
        finally:
            ends.set()


def test_the_last_plan_is_served_where_that_was_asked_for_only(fake: FakeCluster) -> None:
    process = Manager(fake, PLAN, CLOCKS)
    port = process.start(ProbeAddress("127.0.0.1", 0, debug=True))
    try:
        submit(fake, JOB)
        until(lambda: '"web/items"' in get(port, "/debug/plan")[1])
    finally:
        process.stop()
    closed = Manager(fake, PLAN, CLOCKS)
    port = closed.start(ProbeAddress("127.0.0.1", 0))
    try:
        assert get(port, "/debug/plan") == (404, "/healthz /readyz /metrics\n")
    finally:
        closed.stop()


class Turns(Event):
    """Ends after so many turns; `pauses` before each."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self.pauses: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout)
        return len(self.pauses) > self._most


def test_an_error_in_a_background_task_is_logged_and_the_task_runs_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    task, turns = Scripted([3.0, ValueError("a bug"), 5.0]), Turns(3)
    run_periodically(task, AlwaysLeader(), turns)
    assert turns.pauses == [0.0, 3.0, RESYNC, 5.0]
    assert "a bug" in caplog.text
    assert task.follows == 0


def test_a_background_task_follows_once_the_lead_is_lost() -> None:
    task, turns = Scripted([NotLeading("another process leads now"), 5.0]), Turns(2)
    run_periodically(task, AlwaysLeader(), turns)
    assert turns.pauses == [0.0, FOLLOWING, 5.0]
    assert task.follows == 1


class Scripted:
    """A task with these outcomes."""

    def __init__(self, outcomes: list[float | Exception]) -> None:
        self._outcomes = outcomes
        self.follows = 0

    def lead(self) -> float:
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def follow(self) -> None:
        self.follows += 1


class Hanging(Scripted):
    """A task whose request gets no answer until the test ends."""

    def __init__(self) -> None:
        super().__init__([])
        self.begun, self.answered = Event(), Event()

    def lead(self) -> float:
        self.begun.set()
        self.answered.wait()
        return 1.0


def test_a_background_task_that_hangs_keeps_no_lease(fake: FakeCluster) -> None:
    process, task = elected(fake, "first"), Hanging()
    process.add_background_task("hanging", task)
    process.start(ProbeAddress("127.0.0.1", 0))
    try:
        assert task.begun.wait(SECONDS)
        until(lambda: leader(fake) == "first")
        ending = Thread(target=process.stop)
        ending.start()
        ending.join(SECONDS)
        assert leader(fake) == ""
    finally:
        task.answered.set()
        ending.join(SECONDS)


def test_a_port_that_is_taken_is_told(fake: FakeCluster) -> None:
    first = Manager(fake, PLAN, CLOCKS)
    port = first.start(ProbeAddress("127.0.0.1", 0))
    try:
        with pytest.raises(OSError, match="in use"):
            Manager(fake, PLAN, CLOCKS).start(ProbeAddress("127.0.0.1", port))
    finally:
        first.stop()


def decision(lead: float, waited: int) -> Plan:
    """Of a reconciler whose clock is ahead, about extras that wait for nodes this long."""
    time, plans = Time(), list[Plan]()
    fake = FakeCluster(time.now)
    fake.ahead = -timedelta(seconds=lead)
    fake.create(ObjectRef("Node", "", "n1"), manifests.node("n1"))
    submit(fake, JOB)
    started = {"annotations": {contract.STARTED_AT: "2026-01-01T00:00:00Z"}}
    fake.patch(JOB, {"metadata": started, "spec": {"suspend": False, "parallelism": 3}})
    for index, name in enumerate(("n1", "", "")):
        pod = manifests.job_pod(f"items-{index}", index, "items", node=name)
        pod["metadata"]["ownerReferences"][0]["uid"] = fake.get(JOB)["metadata"]["uid"]
        fake.create(manifests.target("Pod", pod), pod)
    time.seconds += waited

    def decided(state: ClusterState) -> Plan:
        plans.append(PLAN(state))
        return Plan()

    clocks = replace(time.clocks, now=lambda: time.now() + timedelta(seconds=lead))
    process = Manager(fake, decided, clocks)
    process.start(ProbeAddress("127.0.0.1", 0))
    until(lambda: bool(plans))
    process.stop()
    return plans[0]


@pytest.mark.parametrize("lead", [-60, 60])
@pytest.mark.parametrize(("waited", "is_late"), [(5, False), (45, True)])
def test_a_wrong_clock_changes_no_decision(lead: float, waited: int, *, is_late: bool) -> None:
    exact = decision(0, waited)
    assert bool(exact.resizes) == is_late
    assert decision(lead, waited) == exact


def test_a_lease_has_the_time_of_this_machine() -> None:
    """client-go's rule: no candidate compares it with a clock of another machine."""
    time = Time()
    fake = FakeCluster(time.now)
    fake.ahead = timedelta(hours=1)
    elector = LeaderElector(fake, LEASE, "first", time.clocks, LeaseSettings())
    Manager(fake, PLAN, time.clocks, elector)
    assert elector.attempt()
    renewed = datetime.fromisoformat(fake.get(LEASE)["spec"]["renewTime"])
    assert renewed == time.now()
