import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from threading import Event, Thread

import pytest

from edl.errors import Forbidden, Gone, KindNotServed, Unreachable
from edl.kube.cache.informer import (
    LONGEST_PAUSE,
    MISSING,
    RESUMES,
    WITHHELD,
    Informer,
    RetryBackoff,
)
from edl.kube.cache.store import Store
from edl.kube.cluster import ListOptions, RawEvent, RawList, Watch
from edl.kube.decode import object_facts
from edl.model import ObjectRef
from tests.edl.kube.faults import FaultyCluster
from tests.fake_cluster.cluster import FakeCluster

SECONDS = 10


class Watched:
    """An informer of namespaces that runs in a thread of its own and waits for nothing."""

    def __init__(self) -> None:
        self.fake = FakeCluster(lambda: datetime(2026, 1, 1, tzinfo=UTC))
        self.cluster = FaultyCluster(self.fake)
        self.changed = Event()
        self.store: Store[object_facts.NamespaceFacts] = Store(
            object_facts.namespace, self.changed.set
        )
        self.received = 0
        namespaces = ListOptions("Namespace")
        self.informer = Informer(self.cluster, namespaces, self.store, received=self._heard)
        self.pauses: list[float] = []
        self._stopped = Event()

    def start(self) -> Thread:
        thread = Thread(target=self.informer.run, args=(RetryBackoff(self._pause, lambda: 1.0),))
        thread.start()
        return thread

    def stop(self) -> None:
        self._stopped.set()
        self.informer.stop()

    def create(self, name: str) -> None:
        self.fake.create(ObjectRef("Namespace", "", name), {})

    def expect(self, *names: str) -> None:
        """Wait until the store holds exactly these."""
        self.until(lambda: sorted(found.name for found in self.store.values()) == sorted(names))

    def until(self, condition: Callable[[], bool]) -> None:
        for _ in range(SECONDS * 100):
            if condition():
                return
            self.changed.wait(0.01)
            self.changed.clear()
        pytest.fail("it did not come to pass")

    def _heard(self) -> None:
        self.received += 1

    def _pause(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        return self._stopped.wait(0.001)


@pytest.fixture
def watched() -> Iterator[Watched]:
    watched = Watched()
    watched.create("first")
    yield watched
    watched.stop()


@pytest.fixture
def running(watched: Watched) -> Iterator[Watched]:
    thread = watched.start()
    watched.expect("first")
    yield watched
    watched.stop()
    thread.join(SECONDS)
    assert not thread.is_alive()


def test_it_lists_and_follows(running: Watched) -> None:
    running.create("second")
    running.expect("first", "second")
    running.fake.delete(ObjectRef("Namespace", "", "first"))
    running.expect("second")
    assert running.cluster.asked["list"] == 1


def test_a_watch_that_ends_is_resumed_without_a_new_list(running: Watched) -> None:
    running.create("second")
    running.expect("first", "second")
    running.fake.end_watches()
    running.create("third")
    running.expect("first", "second", "third")
    assert running.cluster.asked["list"] == 1
    assert running.cluster.asked["watch"] >= 2


def test_a_watch_that_is_too_old_is_listed_again(running: Watched) -> None:
    running.fake.end_watches()
    running.cluster.fails["watch"] = [Gone("too old", 410)]
    running.create("second")
    running.fake.delete(ObjectRef("Namespace", "", "first"))
    running.fake.forget_history()
    running.fake.end_watches()
    running.expect("second")
    assert running.cluster.asked["list"] >= 2


@pytest.mark.parametrize(
    "error",
    [
        Forbidden("not yet", 403),
        Unreachable("overloaded", 429),
        Unreachable("broken", 500),
        Unreachable("connection refused"),
        UnicodeError("a bug"),
    ],
)
def test_it_asks_on_until_the_list_succeeds(
    watched: Watched, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    watched.cluster.fails["list"] = [error] * 5
    thread = watched.start()
    watched.expect("first")
    watched.create("second")
    watched.until(lambda: "watch of Namespace works again" in caplog.text)
    watched.stop()
    thread.join(SECONDS)
    assert watched.pauses[:5] == [0.2, 0.4, 0.8, 1.6, 3.2]
    assert caplog.text.count("watch of Namespace failed, retrying") == 1


def test_a_broken_watch_is_resumed_from_where_it_was(running: Watched) -> None:
    running.cluster.fails["watch"] = [Unreachable("refused"), Forbidden("no", 403)]
    running.fake.end_watches()
    running.create("second")
    running.expect("first", "second")
    assert running.cluster.asked["list"] == 1


def test_a_version_that_the_server_goes_on_to_refuse_is_listed_again(running: Watched) -> None:
    refused = [Unreachable("etcd event received with PrevKv=nil", 500)] * 7
    running.cluster.fails["watch"] = [*refused]
    running.fake.end_watches()
    running.create("second")
    running.expect("first", "second")
    running.until(lambda: not running.cluster.fails["watch"])
    assert running.cluster.asked["list"] == 3
    assert running.pauses[-1] > running.pauses[0], "the pauses grow over lists, too"


@pytest.mark.parametrize("error", [Unreachable("refused"), Unreachable("overloaded", 429)])
def test_a_server_that_is_away_or_overloaded_is_not_asked_for_lists_besides(
    running: Watched, error: Unreachable
) -> None:
    running.cluster.fails["watch"] = [error] * 10
    running.fake.end_watches()
    running.create("second")
    running.expect("first", "second")
    assert running.cluster.asked["list"] == 1


def test_lists_and_events_are_told_and_failures_are_not(running: Watched) -> None:
    running.until(lambda: running.received == 1)
    running.create("second")
    running.until(lambda: running.received == 2)
    running.cluster.fails["watch"] = [Unreachable("refused")] * 3
    running.fake.end_watches()
    running.until(lambda: not running.cluster.fails["watch"])
    assert running.received == 2


def test_a_version_that_the_server_never_reaches_is_listed_again(running: Watched) -> None:
    running.cluster.fails["watch"] = [Unreachable("too large resource version", 504)]
    running.fake.end_watches()
    running.create("second")
    running.expect("first", "second")
    assert running.cluster.asked["list"] == 2


class Pools:
    """An informer of NodePools, a kind that is optional and dispensable; it waits for nothing."""

    def __init__(self) -> None:
        self.fake = FakeCluster(lambda: datetime(2026, 1, 1, tzinfo=UTC))
        self.fake.unserved = frozenset()
        self.fake.create(ObjectRef("NodePool", "", "general"), {})
        self.cluster = FaultyCluster(self.fake)
        self.store = Store(partial(object_facts.owned_object, "NodePool"))
        self.heard = 0
        pools = ListOptions("NodePool")
        self._informer = Informer(self.cluster, pools, self.store, received=self._hear)

    def sync(self) -> None:
        self.cluster.fails["watch"] = [Unreachable("restarted")]
        self.after(1)

    def after(self, attempts: int) -> list[int]:
        """The number of known pools after each of these attempts that failed."""
        found: list[int] = []

        def pause(_seconds: float) -> bool:
            found.append(len(self.store))
            return len(found) == attempts

        self._informer.run(RetryBackoff(pause))
        return found

    def _hear(self) -> None:
        self.heard += 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_right_that_is_withdrawn_takes_no_objects_away(status: int) -> None:
    """As while a ClusterRole is deleted and created again: nodes that were asked for would go."""
    pools = Pools()
    pools.sync()
    pools.cluster.fails = {verb: [Forbidden("may not", status)] * 20 for verb in ("watch", "list")}
    assert pools.after(20) == [1] * 20


def test_a_right_that_is_withdrawn_for_good_ends_in_what_a_standby_would_decide_on() -> None:
    """Without an answer that counts, so that the alert on silent watches stays."""
    pools = Pools()
    pools.sync()
    heard = pools.heard
    pools.cluster.fails = {verb: [Forbidden("may not", 403)] * 200 for verb in ("watch", "list")}
    assert pools.after(WITHHELD + 5) == [*[1] * (WITHHELD - 1), *[0] * 6]
    assert (pools.store.synced, pools.store.served, pools.heard) == (True, False, heard)
    pools.cluster.fails = {}
    pools.sync()
    assert (len(pools.store), pools.heard) == (1, heard + 1)


def test_a_right_that_was_granted_again_may_be_withdrawn_again() -> None:
    pools = Pools()
    pools.sync()
    for _ in range(2):
        pools.cluster.fails = {"list": [Forbidden("may not", 403)] * (WITHHELD - 4)}
        pools.cluster.fails["watch"] = [Forbidden("may not", 403)] * RESUMES
        assert pools.after(WITHHELD - 1) == [1] * (WITHHELD - 1)
        pools.sync()


def test_credentials_that_are_refused_for_good_take_no_objects_away() -> None:
    pools = Pools()
    pools.sync()
    pools.cluster.fails = {verb: [Forbidden("expired", 401)] * 200 for verb in ("watch", "list")}
    assert pools.after(WITHHELD + 5) == [1] * (WITHHELD + 5)


def test_a_removed_kind_goes_where_the_server_may_not_be_asked_for_its_kinds() -> None:
    pools = Pools()
    pools.sync()
    pools.cluster.fails = {verb: [KindNotServed("404", 404)] * 200 for verb in ("watch", "list")}
    pools.cluster.fails["serves"] = [Forbidden("may not", 403)] * 200
    assert pools.after(WITHHELD) == [*[1] * (WITHHELD - 1), 0]


def test_a_kind_that_may_not_be_read_counts_as_empty() -> None:
    pools = Pools()
    pools.cluster.fails["list"] = [Forbidden("may not", 403)]
    assert pools.after(1) == [0]
    assert (pools.store.synced, pools.store.served) == (True, False)


def test_a_404_of_a_kind_that_the_server_lists_takes_no_objects_away() -> None:
    pools = Pools()
    pools.sync()
    away = KindNotServed("404 page not found", 404)
    pools.cluster.fails = {"watch": [away], "list": [away] * 30}
    assert pools.after(30) == [1] * 30
    assert pools.store.served


def test_a_kind_is_removed_when_the_server_goes_on_to_list_its_kinds_without_it() -> None:
    """Not at once: behind the same address may be an API server of the next release."""
    pools = Pools()
    pools.sync()
    pools.cluster.fails["watch"] = [KindNotServed("404", 404)]
    pools.fake.unserved = frozenset({"NodePool"})
    assert pools.after(MISSING) == [*[1] * (MISSING - 1), 0]
    assert not pools.store.served


@pytest.mark.parametrize("between", [[], [KindNotServed("404", 404)]])
def test_only_answers_in_a_row_count_against_a_kind(between: list[Exception]) -> None:
    """Between them the kind was listed, or discovery named it, each of which says that it is."""
    pools = Pools()
    pools.sync()
    for _ in range(2):
        pools.cluster.fails["watch"] = [KindNotServed("404", 404)]
        pools.cluster.fails["list"] = [KindNotServed("404", 404)] * (MISSING - 2)
        pools.fake.unserved = frozenset({"NodePool"})
        assert pools.after(MISSING - 1) == [1] * (MISSING - 1)
        pools.fake.unserved = frozenset()
        pools.cluster.fails["list"] = [*between]
        pools.sync()


def test_an_upgrade_has_a_minute_until_its_kinds_count_as_removed() -> None:
    """With the shortest pauses."""
    pauses: list[float] = []

    def waited(seconds: float) -> bool:
        pauses.append(seconds)
        return False

    patience = RetryBackoff(waited, lambda: 0.0)
    for failures in range(1, MISSING):
        patience.after(failures)
    assert 60 < sum(pauses) < 120


def test_a_kind_is_not_removed_while_nothing_confirms_it() -> None:
    pools = Pools()
    pools.cluster.fails = {
        "list": [KindNotServed("404", 404)] * 3,
        "serves": [
            Unreachable("overloaded", 503),
            Forbidden("the token has expired", 401),
            UnicodeError("a bug"),
        ],
    }
    pools.after(3)
    assert not pools.store.synced


def test_without_the_right_to_ask_for_its_kinds_the_first_answer_counts() -> None:
    pools = Pools()
    pools.cluster.fails = {
        "list": [KindNotServed("404", 404)] * 4,
        "serves": [Forbidden("may not", 403)] * 2,
    }
    assert pools.after(4) == [0] * 4
    assert (pools.store.synced, pools.store.served) == (True, False)
    assert pools.cluster.asked["serves"] == 1, "not again, until the kind is served"
    pools.sync()
    pools.cluster.fails["watch"] = [KindNotServed("404", 404)]
    assert pools.after(1) == [1]


class CutWatches(FaultyCluster):
    """Each watch breaks before its first event, as behind a proxy that buffers."""

    def watch(self, selection: ListOptions, version: str) -> Watch:
        super().watch(selection, version).close()
        return CutWatch()


class CutWatch:
    def __iter__(self) -> Iterator[RawEvent]:
        raise Unreachable("the watch of namespaces broke: IncompleteRead")

    def close(self) -> None:
        pass


def test_a_watch_that_breaks_before_its_first_event_ends_in_lists(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    watched.cluster = CutWatches(watched.fake)
    watched.informer = Informer(watched.cluster, ListOptions("Namespace"), watched.store)
    thread = watched.start()
    watched.expect("first")
    watched.create("second")
    watched.expect("first", "second")
    watched.until(lambda: len(watched.pauses) > 3 * RESUMES)
    watched.stop()
    thread.join(SECONDS)
    assert watched.cluster.asked["list"] <= 2 + watched.cluster.asked["watch"] / RESUMES
    assert watched.pauses == sorted(watched.pauses), "lists do not end the back-off"
    assert watched.pauses[-1] == LONGEST_PAUSE
    assert [one.message for one in caplog.records] == [
        "watch of Namespace failed, retrying: the watch of namespaces broke: IncompleteRead"
    ]


class SlowPages(FaultyCluster):
    """At the first attempts, the version of the first page is forgotten before the second."""

    def pages(self, selection: ListOptions) -> Iterator[RawList]:
        yield from super().pages(selection)
        if self.asked["list"] < 3:
            raise Gone("the provided continue parameter is too old", 410)

    def list(self, selection: ListOptions) -> RawList:
        raise AssertionError(f"all of {selection} in one answer may exceed the memory")


def test_pages_that_take_too_long_are_read_again(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    watched.cluster = cluster = SlowPages(watched.fake)
    watched.informer = Informer(cluster, ListOptions("Namespace"), watched.store)
    thread = watched.start()
    watched.expect("first")
    watched.stop()
    thread.join(SECONDS)
    assert cluster.asked["list"] == 3
    (problem,) = caplog.records
    assert problem.message.endswith("the provided continue parameter is too old")


def test_pauses_grow_to_a_limit_and_chance_spreads_them() -> None:
    pauses: list[float] = []

    def waited(seconds: float) -> bool:
        pauses.append(seconds)
        return False

    patience = RetryBackoff(waited, lambda: 0.0)
    for failures in (1, 2, 3, 100):
        patience.after(failures)
    assert pauses == [0.1, 0.2, 0.4, LONGEST_PAUSE / 2]


def test_it_can_be_stopped_while_it_waits(watched: Watched) -> None:
    watched.cluster.fails["list"] = [Unreachable("away")] * 1_000_000
    thread = watched.start()
    watched.until(lambda: len(watched.pauses) > 3)
    watched.stop()
    thread.join(SECONDS)
    assert not thread.is_alive()
    assert not watched.store.synced
