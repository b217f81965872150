from datetime import UTC, datetime
from typing import Any

import pytest

from edl.annotations.failed_attempts import quoted
from edl.annotations.role_record import RECORDED, read, recorded
from edl.model import Assignment, Clearing, Code, RefusedSize, RoleRecord, WriteRefusal
from tests.reasons import because

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
VALUES: dict[str, Any] = {
    "resized_at": NOW,
    "resumed_at": NOW,
    "reason": Code.IDLE_CAPACITY,
    "message": "idle capacity",
    "last": because("idle capacity"),
    "history": "2026-01-01T12:00:00.000Z ScaledUp 2 4 IdleCapacity idle capacity",
    "assigned": Assignment(2, ("a", "a", "b")),
    "below_min_since": NOW,
    "removed": frozenset({"pod-0", "pod-1"}),
    "cleared": (Clearing("a", 2, NOW),),
    "refusals": (WriteRefusal(NOW, 1, quoted("denied"), RefusedSize("worker", 3, grows=True)),),
    "failures_at_start": 3,
    "earlier_restarts": 4,
    "delayed_until": NOW,
    "consumed": "request",
}


def texts(annotations: dict[str, str | None]) -> dict[str, str]:
    return {name: text for name, text in annotations.items() if text is not None}


def test_each_field_of_a_record_has_an_annotation() -> None:
    assert {field.name for field in RECORDED.values()} == set(RoleRecord.__struct_fields__)
    assert VALUES.keys() == set(RoleRecord.__struct_fields__)


def test_what_is_recorded_is_read_again() -> None:
    assert read(texts(recorded(**VALUES))) == RoleRecord(**VALUES)


@pytest.mark.parametrize("name", VALUES)
def test_a_field_that_is_removed_reads_as_empty(name: str) -> None:
    (removed,) = recorded(**{name: None}).values()
    assert removed is None
    assert getattr(read({}), name) == getattr(RoleRecord(), name)


def test_an_empty_text_is_removed_and_an_empty_number_is_not() -> None:
    empty = recorded(assigned=Assignment(), removed=frozenset(), failures_at_start=0)
    assert list(empty.values()) == [None, None, "0"]


def test_names_beyond_the_limit_of_an_annotation_are_left_out_whole() -> None:
    names = frozenset(f"{number:099}" for number in range(1000))
    found = read(texts(recorded(removed=names))).removed
    assert found < names
    assert len(found) == 64 * 1024 // 100
