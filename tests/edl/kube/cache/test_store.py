import json
from collections.abc import Callable

import pytest

from edl.kube.cache.store import Store, StoredObject
from edl.kube.cluster import Delta, ObjectKey
from edl.writes import Json


def body(name: str, version: int, text: str = "") -> Json:
    return {"metadata": {"name": name, "resourceVersion": str(version)}, "text": text}


def text_of(raw: bytes) -> str:
    return str(json.loads(raw)["text"])


class Rings:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


@pytest.fixture
def rings() -> Rings:
    return Rings()


@pytest.fixture
def store(rings: Rings) -> Store[str]:
    return Store(text_of, rings)


@pytest.fixture
def item(store: Store[str]) -> Callable[..., StoredObject[str]]:
    return lambda *args: store.item(json.dumps(body(*args)).encode())


Make = Callable[..., StoredObject[str]]


def listed(*items: StoredObject[str]) -> dict[ObjectKey, StoredObject[str]]:
    return {item.key: item for item in items}


def test_a_store_is_synced_by_its_first_list(store: Store[str], item: Make) -> None:
    assert not store.synced
    store.replace(listed(item("a", 1, "x")), 5)
    assert store.synced
    assert store.values() == ["x"]


def test_an_older_event_changes_nothing(store: Store[str], item: Make, rings: Rings) -> None:
    store.update(item("a", 9, "new"))
    store.update(item("a", 8, "old"))
    assert store.values() == ["new"]
    assert rings.count == 1


def test_an_older_deletion_changes_nothing(store: Store[str], item: Make) -> None:
    store.update(item("a", 9, "new"))
    store.update(item("a", 8, "old"), gone=True)
    assert store.values() == ["new"]


def test_equal_facts_wake_no_waiter(store: Store[str], item: Make, rings: Rings) -> None:
    store.replace(listed(item("a", 1, "x")), 1)
    store.update(item("a", 2, "x"))
    store.replace(listed(item("a", 2, "x")), 3)
    assert rings.count == 1
    store.update(item("a", 4, "x"), gone=True)
    assert rings.count == 2


def test_what_a_new_list_does_not_name_is_gone(store: Store[str], item: Make) -> None:
    store.replace(listed(item("a", 1, "x"), item("b", 2, "y")), 2)
    store.replace(listed(item("b", 2, "y")), 9)
    assert store.values() == ["y"]


def test_our_own_write_is_known_before_the_watch_tells(store: Store[str], item: Make) -> None:
    store.replace(listed(item("a", 1, "x")), 1)
    store.accept(body("a", 5, "ours"))
    assert store.values() == ["ours"]
    store.update(item("a", 4, "before ours"))
    assert store.values() == ["ours"]
    store.update(item("a", 6, "after ours"))
    assert store.values() == ["after ours"]


def test_our_own_write_does_not_revive_what_was_deleted_since(
    store: Store[str], item: Make
) -> None:
    store.replace(listed(item("a", 1, "x")), 1)
    store.update(item("a", 6, "x"), gone=True)
    store.accept(body("a", 5, "ours"))
    assert store.values() == []


def test_our_own_write_survives_a_list_that_is_older(store: Store[str], item: Make) -> None:
    store.accept(body("new", 5, "created"))
    store.accept(body("a", 6, "ours"))
    store.replace(listed(item("a", 1, "x")), 4)
    assert sorted(store.values()) == ["created", "ours"]
    store.replace(listed(item("a", 6, "ours")), 7)
    assert store.values() == ["ours"]


def test_a_cluster_that_was_restored_from_a_backup_is_believed(
    store: Store[str], item: Make
) -> None:
    store.replace(listed(item("a", 900, "x")), 1000)
    store.replace(listed(item("a", 40, "restored")), 50)
    assert store.values() == ["restored"]
    store.update(item("a", 60, "and on"))
    assert store.values() == ["and on"]


def test_each_version_of_an_object_is_read_once() -> None:
    read: list[str] = []

    def decode(raw: bytes) -> str:
        read.append(text_of(raw))
        return read[-1]

    store = Store(decode)
    store.apply_event(json.dumps(body("a", 1, "x")).encode())
    store.accept(body("a", 2, "ours"))
    assert store.apply_event(json.dumps(body("a", 2, "ours")).encode()) == 2
    store.apply_event(json.dumps(body("a", 3, "and on")).encode())
    store.accept(body("a", 3, "and on"))
    assert store.values() == ["and on"]
    store.apply_event(json.dumps(body("a", 4, "its end")).encode(), gone=True)
    assert store.values() == []
    assert read == ["x", "ours", "and on"]


def test_one_unreadable_object_hides_no_others(caplog: pytest.LogCaptureFixture) -> None:
    def read(raw: bytes) -> str:
        if b"bad" in raw:
            raise KeyError("spec")
        return text_of(raw)

    store = Store(read)
    items = [store.item(json.dumps(body(*args)).encode()) for args in (("a", 1, "x"), ("bad", 2))]
    store.replace(listed(*items), 3)
    assert store.values() == ["x"]
    assert "cannot decode /bad" in caplog.text


def test_what_a_deletion_finds_gone_is_forgotten(store: Store[str], item: Make) -> None:
    store.replace(listed(item("a", 1, "x"), item("b", 2, "y")), 2)
    store.take_changes()
    store.forget(ObjectKey("", "a"), store.version(ObjectKey("", "a")))
    store.forget(ObjectKey("", "unknown"), store.version(ObjectKey("", "unknown")))
    assert store.values() == ["y"]
    assert store.take_changes() == [Delta(ObjectKey("", "a"), "x", None)]


def test_an_object_that_has_taken_the_name_meanwhile_is_kept(store: Store[str], item: Make) -> None:
    store.replace(listed(item("a", 1, "x")), 1)
    store.update(item("a", 4, "new"))
    store.forget(ObjectKey("", "a"), 1)
    assert store.values() == ["new"]
