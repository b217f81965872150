"""Rules of a user's Job about indexes, beside a size that comes down to min."""

from typing import Any

import pytest

from edl.errors import Finding
from edl.parse import parse
from edl.writes import Json
from tests.edl.manifests import job
from tests.edl.readings import elastic, findings

ALLOWED = "at most edl.dev/min, or raise that"


def said(needed: int) -> str:
    return f"it needs {needed} pods, and this Job may shrink to edl.dev/min 2"


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
    assert parse(ruled(successPolicy={"rules": [rule]})).min == 2


def test_items_of_work_keep_their_number() -> None:
    spec = {"completions": 40, "successPolicy": {"rules": [{"succeededCount": 30}]}}
    assert parse(job(framework="none", max="4", spec=spec)).max == 4
