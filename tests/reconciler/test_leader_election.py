from collections import UserDict
from collections.abc import Callable, KeysView
from threading import Event, Thread

import pytest

from edl.errors import Conflict, Forbidden, Unreachable
from edl.kube.cluster import Cluster
from edl.model import ObjectRef
from reconciler.leader_election import LeaderElector, LeaseSettings
from reconciler.leader_only_cluster import LeaderOnlyCluster, NotLeading
from tests.edl.kube.faults import FaultyCluster
from tests.fake_cluster.cluster import FakeCluster
from tests.reconciler.times import Time

LEASE = ObjectRef("Lease", "edl-system", "edl-reconciler")
TERMS = LeaseSettings(lease_duration=15, renew_deadline=10, retry_period=2)


class Late(FaultyCluster):
    """The next requests are answered late: `lags[verb]` seconds, after `meanwhile` happened."""

    def __init__(self, cluster: Cluster, time: Time) -> None:
        super().__init__(cluster)
        self.lags: dict[str, float] = {}
        self.meanwhile: Callable[[], object] = int
        self._time = time

    def _check(self, verb: str, target: ObjectRef | None = None) -> None:
        super()._check(verb, target)
        if lag := self.lags.pop(verb, 0.0):
            self._time.seconds += lag
            self.meanwhile()


class Until(Event):
    """Waits take their time, and no longer; it is set when the time has come."""

    def __init__(self, time: Time, end: float) -> None:
        super().__init__()
        self._time, self._end = time, end

    def wait(self, timeout: float | None = None) -> bool:
        self._time.seconds += timeout or 0.0
        if self._time.seconds >= self._end:
            self.set()
        return self.is_set()


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def fake(time: Time) -> FakeCluster:
    return FakeCluster(time.now)


@pytest.fixture
def cluster(fake: FakeCluster) -> FaultyCluster:
    return FaultyCluster(fake)


@pytest.fixture
def ann(cluster: FaultyCluster, time: Time) -> LeaderElector:
    return LeaderElector(cluster, LEASE, "ann", time.clocks, TERMS)


@pytest.fixture
def bob(fake: FakeCluster, time: Time) -> LeaderElector:
    return LeaderElector(fake, LEASE, "bob", time.clocks, TERMS)


def holder(fake: FakeCluster) -> str:
    return str(fake.get(LEASE)["spec"]["holderIdentity"])


def test_only_the_first_candidate_leads(ann: LeaderElector, bob: LeaderElector) -> None:
    assert ann.attempt()
    assert not bob.attempt()
    assert (ann.leading, bob.leading) == (True, False)


def test_the_lease_says_how_its_holder_decides(
    ann: LeaderElector, bob: LeaderElector, fake: FakeCluster
) -> None:
    ann.publish({"mood": "kind"})
    bob.publish({"mood": "stern"})
    assert ann.attempt()
    assert fake.get(LEASE)["metadata"]["annotations"] == {"mood": "kind"}
    ann.publish({"mood": "kinder"})
    ann.attempt()
    assert fake.get(LEASE)["metadata"]["annotations"] == {"mood": "kinder"}
    ann.release()
    bob.attempt()
    assert fake.get(LEASE)["metadata"]["annotations"] == {"mood": "stern"}


class Interrupted(UserDict[str, str]):
    """While it is read another thread goes first, as far as it may."""

    def __init__(self, others: Callable[[], None], **notes: str) -> None:
        super().__init__(notes)
        self.other = Thread(target=others)

    def keys(self) -> KeysView[str]:
        self.other.start()
        self.other.join(timeout=0.5)
        return super().keys()


def test_what_two_threads_publish_at_once_is_all_published(
    ann: LeaderElector, fake: FakeCluster
) -> None:
    notes = Interrupted(lambda: ann.publish({"age": "old"}), mood="kind")
    ann.publish(notes)
    notes.other.join()
    ann.attempt()
    assert fake.get(LEASE)["metadata"]["annotations"] == {"mood": "kind", "age": "old"}


def test_a_leader_inherits_what_the_last_one_left_and_never_what_it_left_itself_before(
    ann: LeaderElector, bob: LeaderElector, fake: FakeCluster
) -> None:
    ann.attempt()
    ann.set_annotation("memory", "of ann")
    ann.attempt()
    assert fake.get(LEASE)["metadata"]["annotations"] == {"memory": "of ann"}
    ann.release()
    assert bob.attempt()
    assert bob.previous_annotations == {"memory": "of ann"}
    bob.attempt()
    assert fake.get(LEASE)["metadata"]["annotations"] == {"memory": "of ann"}
    bob.set_annotation("memory", "of bob")
    bob.attempt()
    bob.release()
    ann.attempt()  # it sees who led meanwhile
    assert ann.attempt()
    assert ann.previous_annotations == {"memory": "of bob"}
    assert fake.get(LEASE)["metadata"]["annotations"] == {"memory": "of bob"}


def test_a_leader_that_renews_stays_leader(
    ann: LeaderElector, bob: LeaderElector, time: Time
) -> None:
    for _ in range(100):
        assert ann.attempt()
        assert not bob.attempt()
        time.seconds += 2


def test_a_leader_that_does_not_renew_stops_before_the_next_begins(
    ann: LeaderElector, bob: LeaderElector, time: Time
) -> None:
    ann.attempt()
    bob.attempt()
    time.seconds += 10
    assert not ann.leading
    assert not bob.attempt()
    time.seconds += 5.1
    assert bob.attempt()


def test_a_new_candidate_watches_a_whole_term_before_it_takes_over(
    ann: LeaderElector, bob: LeaderElector, time: Time
) -> None:
    ann.attempt()
    time.seconds += 1000  # only our own clock says that this lease is old
    assert not bob.attempt()
    time.seconds += 15.1
    assert bob.attempt()


def test_two_never_lead_at_once(fake: FakeCluster, time: Time) -> None:
    electors = [LeaderElector(fake, LEASE, name, time.clocks, TERMS) for name in "abc"]
    led = set()
    for moment in range(400):
        time.seconds += 0.7
        # Each of them is stopped now and then, for longer than a lease lasts.
        awake = [e for number, e in enumerate(electors) if (moment // 31) % 3 != number]
        for elector in awake:
            elector.attempt()
        leaders = [elector.identity for elector in electors if elector.leading]
        assert len(leaders) <= 1
        led.update(leaders)
    assert led == {"a", "b", "c"}


def test_what_waits_is_woken_when_a_term_begins_and_when_it_ends(
    ann: LeaderElector, fake: FakeCluster, time: Time
) -> None:
    told = []

    def changed() -> None:
        told.append(ann.leading)
        fake.patch(LEASE, {"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 3600}})

    ann.run(Until(time, time.seconds + 20), changed)
    assert told == [True, False]


def test_a_leader_that_slept_too_long_finds_another_and_gives_up(
    ann: LeaderElector, bob: LeaderElector, time: Time, fake: FakeCluster
) -> None:
    ann.attempt()
    bob.attempt()
    time.seconds += 16
    assert bob.attempt()
    assert not ann.attempt()
    assert not ann.attempt()
    assert holder(fake) == "bob"
    assert fake.get(LEASE)["spec"]["leaseTransitions"] == 1


def test_a_leader_that_slept_and_was_not_replaced_goes_on(ann: LeaderElector, time: Time) -> None:
    ann.attempt()
    time.seconds += 100
    assert not ann.leading
    assert ann.attempt()


def test_a_lease_that_was_given_back_is_taken_at_once(
    ann: LeaderElector, bob: LeaderElector, fake: FakeCluster
) -> None:
    ann.attempt()
    bob.attempt()
    ann.release()
    assert not ann.leading
    assert bob.attempt()
    assert holder(fake) == "bob"


def test_a_follower_releases_no_lease(
    ann: LeaderElector, bob: LeaderElector, fake: FakeCluster
) -> None:
    ann.attempt()
    bob.attempt()
    bob.release()
    assert holder(fake) == "ann"


def test_an_outage_of_the_api_server_ends_the_term_and_no_more(
    ann: LeaderElector, cluster: FaultyCluster, time: Time, caplog: pytest.LogCaptureFixture
) -> None:
    ann.attempt()
    cluster.fails["patch"] = [Unreachable("connection refused")]
    cluster.fails["get"] = [Unreachable("connection refused")] * 5 + [Forbidden("no", 403)]
    led = []
    for _ in range(8):
        time.seconds += 2
        led.append(ann.attempt())
    assert led == [True, True, True, True, False, False, False, True]
    assert caplog.text.count("leader election: request failed, retrying: connection refused") == 1
    assert caplog.text.count("leader election: request failed, retrying: no") == 1


def test_a_lease_that_was_deleted_is_made_again(ann: LeaderElector, fake: FakeCluster) -> None:
    ann.attempt()
    fake.delete(LEASE)
    assert ann.attempt(), "at once: another process may be about to make it"
    assert holder(fake) == "ann"


def test_a_leader_whose_lease_another_has_created_stops_at_once(
    ann: LeaderElector, bob: LeaderElector, fake: FakeCluster
) -> None:
    ann.attempt()
    fake.delete(LEASE)
    assert bob.attempt()
    assert not ann.attempt()
    assert not ann.leading


def test_a_process_of_the_same_identity_renews_for_its_own_duration(
    ann: LeaderElector, cluster: FaultyCluster, fake: FakeCluster, time: Time
) -> None:
    """As of a StatefulSet's pod that restarts with a longer lease; the standby waits that long."""
    ann.set_annotation("memory", "of ann")
    ann.attempt()
    ann.attempt()
    again = LeaderElector(cluster, LEASE, "ann", time.clocks, LeaseSettings(60, 40, 5))
    standby = LeaderElector(fake, LEASE, "bob", time.clocks, LeaseSettings(60, 40, 5))
    assert again.attempt()
    assert fake.get(LEASE)["spec"]["leaseDurationSeconds"] == 60
    assert again.previous_annotations == {"memory": "of ann"}
    standby.attempt()
    time.seconds += 39
    assert again.leading
    assert not standby.attempt()


def test_of_two_that_create_the_lease_one_wins(
    ann: LeaderElector, bob: LeaderElector, cluster: FaultyCluster
) -> None:
    bob.attempt()
    cluster.fails["get"] = []
    cluster.fails["create"] = [Conflict("already exists", 409)]
    assert not ann.attempt()


def test_a_renewal_with_a_lost_answer_keeps_the_lease(
    ann: LeaderElector, fake: FakeCluster, time: Time
) -> None:
    ann.attempt()
    fake.patch(LEASE, {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}})  # ours, unheard
    time.seconds += 2
    ann.attempt()  # a conflict
    time.seconds += 2
    assert ann.attempt()


def test_a_former_leader_writes_no_more(ann: LeaderElector, fake: FakeCluster, time: Time) -> None:
    guarded = LeaderOnlyCluster(fake, ann)
    target = ObjectRef("Service", "web", "x")
    with pytest.raises(NotLeading):
        guarded.create(target, {})
    ann.attempt()
    guarded.create(target, {})
    time.seconds += 10
    with pytest.raises(NotLeading):
        guarded.patch(target, {"spec": {}})
    with pytest.raises(NotLeading):
        guarded.delete(target)
    assert guarded.get(target)["metadata"]["name"] == "x"


def test_what_others_hold_is_dated_from_the_answer(fake: FakeCluster, time: Time) -> None:
    late = Late(fake, time)
    ann, bob = (
        LeaderElector(c, LEASE, n, time.clocks, LeaseSettings())
        for c, n in ((fake, "ann"), (late, "bob"))
    )
    ann.attempt()
    late.lags["get"], late.meanwhile = 6.0, ann.attempt  # its last renewal
    bob.attempt()
    while not bob.leading:
        time.seconds += 0.5
        bob.attempt()
        assert not (ann.leading and bob.leading)


@pytest.mark.parametrize("verb", ["create", "patch"])
def test_the_own_term_is_counted_from_before_the_request(
    fake: FakeCluster, time: Time, verb: str
) -> None:
    late = Late(fake, time)
    ann = LeaderElector(late, LEASE, "ann", time.clocks, LeaseSettings())
    if verb == "patch":
        ann.attempt()
    late.lags[verb] = 7.0
    assert ann.attempt()
    time.seconds += 0.6
    assert not ann.leading


def test_a_killed_leader_is_replaced_within_15_seconds(fake: FakeCluster, time: Time) -> None:
    ann, bob = (
        LeaderElector(fake, LEASE, name, time.clocks, LeaseSettings()) for name in ("ann", "bob")
    )
    bob_looks = Until(time, time.seconds + 15)
    ann.attempt()
    bob.run(bob_looks)
    assert bob.leading


def test_a_leader_that_may_not_lead_does_not_renew(
    ann: LeaderElector,
    bob: LeaderElector,
    time: Time,
    fake: FakeCluster,
    caplog: pytest.LogCaptureFixture,
) -> None:
    healthy_until = time.seconds + 60
    ann.run(Until(time, time.seconds + 90), healthy=lambda: time.seconds < healthy_until)
    assert not ann.leading
    assert fake.get(LEASE)["spec"]["renewTime"] < "2026-01-01T00:17:40"
    assert caplog.text.count("ann does not renew its Lease") == 1
    bob.run(Until(time, time.seconds + 20))
    assert holder(fake) == "bob"
    bob.release()
    ann.run(Until(time, time.seconds + 5))  # the first attempt is a conflict
    assert ann.leading


@pytest.mark.parametrize("terms", [(10, 10, 2), (15, 2, 2), (15, 10, 0)])
def test_terms_that_let_two_lead_are_refused(terms: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="must hold"):
        LeaseSettings(*terms)


def test_a_lease_lasts_whole_seconds_as_it_says() -> None:
    with pytest.raises(ValueError, match=r"10\.4 s: a Lease lasts whole seconds"):
        LeaseSettings(lease_duration=10.4, renew_deadline=10.3)


def test_a_bug_does_not_end_a_candidacy(
    ann: LeaderElector, cluster: FaultyCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.fails["get"] = [UnicodeError("no answer that anybody reads")]
    assert not ann.attempt()
    assert ann.attempt()
    assert "Traceback" in caplog.text
