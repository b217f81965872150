"""What a Job's status and rules say of pods that are not there to be seen."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from edl.kube.decode import job_facts, job_status
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.parsing.manifest_reader import MAX_REPLICAS
from edl.writes import Json
from tests.edl.kube.manifests import member


def job(spec: Json | None = None, **status: Any) -> Json:  # noqa: ANN401 - JSON
    return {"spec": spec or {}, "status": status}


@pytest.mark.parametrize(
    ("completions", "status", "left"),
    [
        (40, {}, 40),
        (40, {"succeeded": 38}, 2),
        (40, {"succeeded": 30, "failedIndexes": "1,3-5"}, 6),
        (2, {"succeeded": 2, "failedIndexes": "0-1"}, 0),
        (None, {"active": 4}, None),
        (None, {"active": 3, "succeeded": 1}, 3),
        (None, {"succeeded": 4}, 0),
    ],
)
def test_work_items_that_are_left(completions: int | None, status: Json, left: int | None) -> None:
    spec = {} if completions is None else {"completions": completions}
    assert job_status.remaining(job(spec, **status)) == left


def test_indexes_are_over_whether_they_succeeded_or_failed() -> None:
    found = job_status.finished_indexes(job(completedIndexes="0,2-4", failedIndexes="6"))
    assert found == {0, 2, 3, 4, 6}
    assert (
        job_status.finished_indexes(job(completedIndexes=""))
        == job_status.finished_indexes({"spec": {}})
        == frozenset()
    )


@pytest.mark.parametrize("text", ["9" * 5_000, "2-" + "9" * 5_000, "5-3", "3,1"])
def test_indexes_that_no_job_controller_writes_are_none(text: str) -> None:
    found = job({"completions": 40}, completedIndexes=f"0,{text}", failedIndexes=f"1,{text}")
    assert job_status.finished_indexes(found) <= {0, 1, 3, 5}
    assert (job_status.remaining(found) or 0) >= 37


def test_no_more_indexes_are_over_than_a_job_may_have_pods() -> None:
    assert len(job_status.finished_indexes(job(completedIndexes="0-99999999999"))) == MAX_REPLICAS


def test_failures_are_ignored_where_a_rule_says_so() -> None:
    rules = [{"action": "FailJob"}, {"action": "Ignore"}]
    assert job_status.ignores(job({"podFailurePolicy": {"rules": rules}}))
    assert not job_status.ignores(job({"podFailurePolicy": {"rules": rules[:1]}}))
    assert not job_status.ignores(job())


def test_a_job_without_time_only_waits_for_its_controller() -> None:
    assert job_status.has_passed_its_deadline(job({"activeDeadlineSeconds": 0}))
    assert not job_status.has_passed_its_deadline(
        job({"activeDeadlineSeconds": 0, "suspend": True})
    )
    assert not job_status.has_passed_its_deadline(job({"activeDeadlineSeconds": 60}))


@pytest.mark.parametrize(
    ("suspend", "status", "expected"),
    [
        (True, "True", datetime(2026, 1, 1, 12, tzinfo=UTC)),
        (True, "False", None),
        (False, "True", None),
    ],
    ids=["suspended", "not noted yet", "resumed just now"],
)
def test_when_a_suspended_job_was_suspended(
    suspend: bool,  # noqa: FBT001 - a parameter of the test
    status: str,
    expected: datetime | None,
) -> None:
    noted = {"type": "Suspended", "status": status, "lastTransitionTime": "2026-01-01T12:00:00Z"}
    found = job({"suspend": suspend}, conditions=[noted])
    assert job_status.suspended_at(found) == expected


def test_the_time_of_a_status_is_that_of_its_last_write_by_any_manager() -> None:
    entries = [
        {"manager": "kubectl", "time": "2026-01-01T12:09:00Z", "fieldsV1": {"f:spec": {}}},
        {"subresource": "status", "time": "2026-01-01T12:00:00Z", "fieldsV1": {}},
        {"subresource": "status", "time": "2026-01-01T12:05:00Z"},
        {"subresource": "status"},
    ]
    body = member("worker", metadata={"managedFields": entries})
    role = job_facts.job(msgspec.json.encode(body), ShapeInterner()).role
    assert role is not None
    assert role.reported_at == datetime(2026, 1, 1, 12, 5, tzinfo=UTC)


@pytest.mark.parametrize("times", [[], ["soon"], ["9999-12-31T23:59:59Z"]])
def test_the_time_of_a_status_may_be_unknown(times: list[str]) -> None:
    """The sum of it and a duration must be a date."""
    entries = [{"subresource": "status", "time": time} for time in times]
    assert job_status.reported_at(member("worker", metadata={"managedFields": entries})) is None
    assert job_status.reported_at(member("worker")) is None
