"""Where the API server serves no dynamic resource allocation, there is nothing to follow, yet."""

from collections.abc import Callable
from datetime import UTC, datetime
from threading import Event, Thread

import pytest

from edl.kube.cache.informer import LONGEST_PAUSE, Informer, RetryBackoff
from edl.kube.cache.store import Store
from edl.kube.cache.watched_kinds import DEVICES, read_once
from edl.kube.cluster import ListOptions
from edl.kube.dra import dra_facts
from edl.model import ObjectRef
from tests import devices
from tests.fake_cluster.cluster import FakeCluster

SECONDS = 10
KIND = "DeviceClass"


def cluster() -> FakeCluster:
    return FakeCluster(lambda: datetime(2026, 1, 1, tzinfo=UTC))


def test_a_kind_that_is_not_served_is_empty_until_it_is() -> None:
    """It is looked for again without a warning, so that an upgrade of the cluster is noticed."""
    fake, stopped, pauses = cluster(), Event(), list[float]()
    fake.unserved = frozenset({KIND})
    store: Store[dra_facts.DeviceClassFacts] = Store(dra_facts.device_class)
    informer = Informer(fake, ListOptions(KIND), store)

    def pause(seconds: float) -> bool:
        pauses.append(seconds)
        return stopped.wait(0.001)

    thread = Thread(target=informer.run, args=(RetryBackoff(pause, lambda: 1.0),))
    thread.start()
    until(lambda: store.synced and len(pauses) > 1)
    assert (store.served, store.values()) == (False, [])
    assert set(pauses) == {LONGEST_PAUSE}
    fake.unserved = frozenset()
    fake.create(ObjectRef(KIND, "", "gpu"), devices.device_class("gpu"))
    until(lambda: [one.name for one in store.values()] == ["gpu"])
    assert store.served
    stopped.set()
    informer.stop()
    thread.join(SECONDS)
    assert not thread.is_alive()


def test_a_reader_without_devices_reads_the_rest() -> None:
    fake = cluster()
    fake.unserved = frozenset(DEVICES)
    missed = dict[str, Exception]()
    assert not read_once(fake, missed.__setitem__).devices_read
    fake.unserved = frozenset()
    fake.create(ObjectRef(KIND, "", "gpu"), devices.device_class("gpu"))
    stores = read_once(fake, missed.__setitem__)
    assert stores.devices_read
    assert [one.name for one in stores.classes.values()] == ["gpu"]
    assert not missed


def until(condition: Callable[[], bool]) -> None:
    waiting = Event()
    for _ in range(SECONDS * 100):
        if condition():
            return
        waiting.wait(0.01)
    pytest.fail("it did not come to pass")
