"""Rules of a user's Job about indexes, beside a size that comes down to min."""

from typing import Any

import pytest

from edl.errors import Denied, Finding
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl.manifests import changed, created, job, update
from tests.edl.readings import elastic

ALLOWED = "at most edl.dev/min, or raise that"


def said(needed: int) -> str:
    return f"it needs {needed} pods, and this Job may shrink to edl.dev/min 2"


def findings(manifest: Json) -> tuple[Finding, ...]:
    with pytest.raises(Denied) as denied:
        created(manifest)
    return denied.value.findings


def ruled(**spec: Any) -> Json:  # noqa: ANN401 - JSON
    return elastic(min="2", spec={"parallelism": 4, **spec})


@pytest.mark.parametrize(
    ("rule", "path", "needed"),
    [
        ({"succeededCount": 4}, "succeededCount", 4),
        ({"succeededIndexes": "0-3"}, "succeededIndexes", 4),
        ({"succeededIndexes": "0,2"}, "succeededIndexes", 3),
    ],
)
def test_a_rule_needs_no_more_than_the_minimum(rule: Json, path: str, needed: int) -> None:
    found = findings(ruled(successPolicy={"rules": [rule]}))
    assert found == (Finding(f"spec.successPolicy.rules[0].{path}", said(needed), ALLOWED),)


def test_so_does_a_limit_of_failed_indexes() -> None:
    found = findings(ruled(backoffLimitPerIndex=1, maxFailedIndexes=3))
    assert found == (Finding("spec.maxFailedIndexes", said(3), ALLOWED),)


@pytest.mark.parametrize(
    "rule",
    [
        {"succeededCount": 2},
        {"succeededIndexes": "0-1"},
        {"succeededIndexes": "any"},
        {"succeededCount": "4"},
        "rule",
    ],
)
def test_what_holds_at_every_size_is_taken(rule: object) -> None:
    """What makes no sense is the API server's to refuse, in its own words."""
    stored = created(ruled(successPolicy={"rules": [rule]}))
    assert parse(stored).scaling.min == 2


def test_items_of_work_keep_their_number() -> None:
    spec = {"completions": 40, "successPolicy": {"rules": [{"succeededCount": 30}]}}
    assert parse(created(job(framework="none", max="4", spec=spec))).scaling.max == 4


def test_a_running_job_keeps_its_success_policy_until_its_min_changes() -> None:
    """An older version took it: it is read, and other changes of it are taken."""
    rule = {"successPolicy": {"rules": [{"succeededCount": 4}]}}
    old = created(elastic(min="4", spec={"parallelism": 4, **rule}))
    old = changed(old, "metadata labels edl.dev/min", "3")
    assert parse(old).scaling.min == 3
    assert update(changed(old, "metadata labels team", "vision"), old).warnings == ()
    with pytest.raises(Denied, match="it needs 4 pods"):
        update(changed(old, "metadata labels edl.dev/min", "2"), old)
