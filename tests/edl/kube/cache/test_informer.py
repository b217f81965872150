import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from threading import Event, Thread

import pytest

from edl.errors import Forbidden, Gone, Unreachable
from edl.kube.cache.informer import LONGEST_PAUSE, Informer, RetryBackoff
from edl.kube.cache.store import Store
from edl.kube.cluster import ListOptions, RawList
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


def test_credentials_that_are_refused_for_a_moment_take_no_kind_away() -> None:
    """A dispensable kind counts as not served on a 403, and not on a 401."""
    fake = FakeCluster(lambda: datetime(2026, 1, 1, tzinfo=UTC))
    fake.unserved = frozenset()
    fake.create(ObjectRef("NodePool", "", "general"), {})
    cluster, store = FaultyCluster(fake), Store(partial(object_facts.owned_object, "NodePool"))
    informer = Informer(cluster, ListOptions("NodePool"), store)
    pauses: list[int] = []

    def pause(_seconds: float) -> bool:
        pauses.append(len(store))
        return len(pauses) == 2

    cluster.fails["watch"] = [Forbidden("Unauthorized", 401), Forbidden("may not", 403)]
    informer.run(RetryBackoff(pause))
    assert pauses == [1, 0]


class SlowPages(FaultyCluster):
    """Each time the version of the first page is forgotten before the second."""

    def pages(self, selection: ListOptions) -> Iterator[RawList]:
        yield from super().pages(selection)
        raise Gone("the provided continue parameter is too old", 410)


def test_pages_that_take_too_long_are_read_as_one_list(watched: Watched) -> None:
    """As client-go's pager does: a cluster may be too large, or its API server too slow."""
    store = Store(object_facts.namespace)
    informer = Informer(SlowPages(watched.fake), ListOptions("Namespace"), store)
    thread = informer.start()
    watched.until(lambda: [found.name for found in store.values()] == ["first"])
    informer.stop()
    thread.join(SECONDS)
    assert not thread.is_alive()


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
