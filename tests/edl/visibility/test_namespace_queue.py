"""What others may have written into a ConfigMap is bounded before it is believed."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edl.forecast.estimate import Certainty
from edl.visibility.namespace_queue import (
    NamespaceQueue,
    PublishedBlocker,
    PublishedBlockers,
    PublishedEstimate,
    PublishedJob,
    TeamCount,
    parse,
    render,
)

MOMENTS = st.datetimes(
    min_value=datetime(2000, 1, 1),  # noqa: DTZ001 - the strategy adds the zone
    max_value=datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
COUNTS = st.integers(0, 10**9)
WORDS = st.text(st.characters(codec="utf-8"), max_size=40)
JOBS = st.builds(
    PublishedJob,
    name=WORDS,
    reason=WORDS,
    message=WORDS,
    position=st.none() | st.integers(1, 10**9),
    ahead=st.lists(st.builds(TeamCount, jobs=COUNTS, team=WORDS), max_size=3).map(tuple),
    estimate=st.none()
    | st.builds(PublishedEstimate, certainty=st.sampled_from(Certainty), time=st.none() | MOMENTS),
    start=st.none()
    | st.builds(
        PublishedBlockers,
        complete=st.booleans(),
        blockers=st.lists(
            st.builds(PublishedBlocker, type=WORDS, message=WORDS, remediation=WORDS), max_size=3
        ).map(tuple),
    ),
    priority=st.none() | st.integers(-(2**31), 2**31 - 1),
)
QUEUES = st.builds(
    NamespaceQueue,
    changed_at=MOMENTS,
    jobs=COUNTS,
    items=st.lists(JOBS, max_size=4).map(tuple),
    team=WORDS,
    share=st.none() | st.floats(0, 1000),
)
WHOLE = {
    "apiVersion": "edl.dev/v1alpha1",
    "kind": "NamespaceQueue",
    "lastTransitionTime": "2026-01-01T12:00:00Z",
    "jobs": 1,
    "items": [{"name": "bert", "reason": "QueueOrder", "message": "waits", "position": 1}],
}


@pytest.mark.slow
@given(QUEUES)
def test_what_is_written_is_read_back(queue: NamespaceQueue) -> None:
    assert parse(render(queue)) == queue


def test_a_document_says_its_version_and_kind() -> None:
    assert json.loads(render(parse(json.dumps(WHOLE)))) == WHOLE


def test_fields_of_a_later_release_are_ignored() -> None:
    later = json.loads(json.dumps(WHOLE)) | {"borrowed": {"cpu": 3}}
    later["items"][0]["lane"] = 7
    assert parse(json.dumps(later)) == parse(json.dumps(WHOLE))


@pytest.mark.parametrize(
    ("field", "value", "where"),
    [
        ("apiVersion", "edl.dev/v2", "$.apiVersion"),
        ("kind", "Pod", "$.kind"),
        ("lastTransitionTime", "soon", "$.lastTransitionTime"),
        ("lastTransitionTime", "2026-01-01T12:00:00", "$.lastTransitionTime"),
        ("jobs", -1, "$.jobs"),
        ("jobs", 10**30, "$.jobs"),
        ("items", [{}] * 1001, "$.items"),
        ("items", [{"name": "a" * 254, "reason": "", "message": ""}], "$.items[0].name"),
        ("items", [{"name": "a", "reason": "", "message": "x" * 3000}], "$.items[0].message"),
        (
            "items",
            [{"name": "a", "reason": "", "message": "", "priority": 2**31}],
            "$.items[0].priority",
        ),
        ("team", ["vision"], "$.team"),
        ("share", -1, "$.share"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(field: str, value: object, where: str) -> None:
    with pytest.raises(ValueError, match=where.replace("$", r"\$").replace("[", r"\[")):
        parse(json.dumps(WHOLE | {field: value}))


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '{"a":' * 100_000, '{"items": null}', "x" * 2_000_000]
)
def test_anything_else_is_refused_and_not_more(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each says something else
        parse(text)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*WHOLE, "name", "at", "ahead", "start"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(list(WHOLE)), JSON))
def test_any_document_is_read_or_refused(changes: dict[str, Any]) -> None:
    found = None
    with suppress(ValueError):
        found = parse(json.dumps(WHOLE | changes))
    assert found is None or parse(render(found)) == found
