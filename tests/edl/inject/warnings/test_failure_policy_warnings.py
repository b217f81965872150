"""A `podFailurePolicy` that takes the end of a pod at a scale-down for a failure of the Job."""

from typing import Any

import pytest

from edl.spec.job_spec import IGNORE_DISRUPTIONS
from edl.writes import Json
from tests.edl.manifests import create, job

FAILS: Json = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}


def said(*rules: Json, **fields: Any) -> tuple[str, ...]:  # noqa: ANN401 - JSON
    spec = {"podFailurePolicy": {"rules": [*rules]}} if rules else {}
    made = create(job(framework="none", min="1", max="4", spec={"completions": 9} | spec), **fields)
    again = create(made.manifest).warnings
    assert not [text for text in again if "FailJob" in text], "it was warned about before"
    return tuple(text for text in made.warnings if "FailJob" in text)


def test_a_rule_that_fails_the_job_for_ended_pods_is_named() -> None:
    (found,) = said(FAILS)
    assert "DisruptionTarget" in found
    assert len(found) <= 256, "the API server cuts longer ones"
    assert said(FAILS, IGNORE_DISRUPTIONS) == (found,)


@pytest.mark.parametrize(
    "rules", [(), (IGNORE_DISRUPTIONS, FAILS), (FAILS | {"action": "FailIndex"},)]
)
def test_other_rules_cause_no_warning(rules: tuple[Json, ...]) -> None:
    assert said(*rules) == ()
