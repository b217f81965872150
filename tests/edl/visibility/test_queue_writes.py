"""Which ConfigMaps are written: what differs, what was written longest ago first."""

from msgspec.structs import replace

from edl.model import ObjectRef
from edl.visibility.namespace_queue import KEY, NamespaceQueue, PublishedJob, parse
from edl.visibility.queue_writes import LABELS, PublishedQueue, queue_writes
from edl.writes import Create, Delete, Patch
from tests.edl.planner.states import at

ONE = NamespaceQueue(at(0), 1, (PublishedJob("bert", "QueueOrder", "waits", 1),))
MOVED = replace(ONE, changed_at=at(60), items=(replace(ONE.items[0], position=2),))


def target(namespace: str) -> ObjectRef:
    return ObjectRef("ConfigMap", namespace, "edl-queue")


def test_what_is_not_there_is_created_with_our_labels() -> None:
    (write,) = queue_writes({}, {"ns": ONE})
    assert isinstance(write, Create)
    assert write.target == target("ns")
    assert write.manifest["metadata"]["labels"] == LABELS
    assert parse(write.manifest["data"][KEY]) == ONE


def test_what_says_the_same_since_longer_stays() -> None:
    there = {"ns": PublishedQueue("7", ONE)}
    assert queue_writes(there, {"ns": replace(ONE, changed_at=at(600))}) == ()


def test_what_changed_is_patched_as_it_was_seen() -> None:
    (write,) = queue_writes({"ns": PublishedQueue("7", ONE)}, {"ns": MOVED})
    assert isinstance(write, Patch)
    assert write.version == "7"
    assert parse(write.body["data"][KEY]) == MOVED


def test_what_others_have_spoiled_is_written_again() -> None:
    (write,) = queue_writes({"ns": PublishedQueue("7", None)}, {"ns": ONE})
    assert isinstance(write, Patch)


def test_where_nothing_waits_it_is_deleted() -> None:
    writes = queue_writes({"ns": PublishedQueue("7", ONE)}, {})
    assert writes == (Delete(target("ns"), "7"),)


def test_deletions_come_first_then_what_is_oldest() -> None:
    there = {
        "old": PublishedQueue("1", ONE),
        "older": PublishedQueue("2", replace(ONE, changed_at=at(-60))),
        "gone": PublishedQueue("3", ONE),
    }
    writes = queue_writes(there, {"old": MOVED, "older": MOVED, "new": MOVED})
    assert [write.target.namespace for write in writes] == ["gone", "new", "older", "old"]
