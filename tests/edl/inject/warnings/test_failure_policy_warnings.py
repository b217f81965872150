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


def warned(**spec: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether a failed rank of a collective training is warned about."""
    framework, low = spec.pop("framework", "paddle"), spec.pop("low", "4")
    made = job(framework=framework, min=low, max="4", spec=spec, pod={"restartPolicy": "Never"})
    texts = create(made).warnings
    return any(text.startswith("spec.backoffLimitPerIndex and FailIndex") for text in texts)


def test_ranks_that_may_fail_for_good_are_named_where_the_others_need_them() -> None:
    rules = {"podFailurePolicy": {"rules": [FAILS | {"action": "FailIndex"}]}}
    assert warned(backoffLimitPerIndex=1)
    assert warned(backoffLimitPerIndex=1, **rules)
    assert warned(backoffLimitPerIndex=1, framework="pytorch")
    assert not warned(backoffLimitPerIndex=1, framework="pytorch", low="1")
    assert not warned(backoffLimitPerIndex=1, framework="none", completions=9)
    assert not warned()
