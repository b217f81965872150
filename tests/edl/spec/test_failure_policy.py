"""Which rules of a `podFailurePolicy` spare pods that are marked as disrupted."""

from edl.spec.failure_policy import exit_code_rules
from edl.spec.job_spec import IGNORE_DISRUPTIONS
from edl.writes import Json

CODES: Json = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}


def spared(*rules: Json) -> list[bool]:
    found = exit_code_rules({"podFailurePolicy": {"rules": rules}})
    return [rule.spares_disrupted for rule in found]


def test_a_rule_on_exit_codes_spares_pods_that_an_earlier_rule_ignores_as_disrupted() -> None:
    defaulted: Json = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    assert spared(IGNORE_DISRUPTIONS, CODES, CODES) == [True, True]
    assert spared(defaulted, CODES) == [True]
    assert spared(CODES, IGNORE_DISRUPTIONS, CODES) == [False, True]


def test_no_other_rule_spares_them() -> None:
    other: Json = {"action": "Ignore", "onPodConditions": [{"type": "ConfigIssue"}]}
    counted = IGNORE_DISRUPTIONS | {"action": "Count"}
    assert spared(other, CODES) == spared(CODES) == [False]
    assert spared(counted, IGNORE_DISRUPTIONS, CODES) == [False]
