"""The rules of a Job's `podFailurePolicy`, of which the first that matches a failed pod decides."""

from collections.abc import Mapping
from typing import Any, Final

from edl.model import ExitCodeRule, FailureRules
from edl.spec.job_spec import DISRUPTION_TARGET

FAILS: Final = "FailJob"
_IGNORES: Final = "Ignore"


def failure_rules(job: Mapping[str, Any]) -> FailureRules:
    """The rules of a Job's spec."""
    limits = (job.get("backoffLimitPerIndex"), job.get("maxFailedIndexes"))
    return FailureRules(exit_code_rules(job), *limits)


def exit_code_rules(job: Mapping[str, Any]) -> tuple[ExitCodeRule, ...]:
    """The rules of a Job's spec that are on exit codes."""
    rules = (job.get("podFailurePolicy") or {}).get("rules") or ()
    about_disrupted = [place for place, rule in enumerate(rules) if _is_on_disruptions(rule)]
    first = next(iter(about_disrupted), len(rules))
    spares = bool(about_disrupted) and rules[first].get("action") == _IGNORES
    return tuple(
        ExitCodeRule(
            rule.get("action") or "",
            frozenset(codes.get("values") or ()),
            codes.get("operator") == "In",
            codes.get("containerName") or "",
            spares_disrupted=spares and place > first,
        )
        for place, rule in enumerate(rules)
        if (codes := rule.get("onExitCodes"))
    )


def _is_on_disruptions(rule: Mapping[str, Any]) -> bool:
    """Whether the condition `DisruptionTarget` of a pod matches the rule."""
    patterns = rule.get("onPodConditions") or ()
    return any(
        pattern.get("type") == DISRUPTION_TARGET and pattern.get("status", "True") == "True"
        for pattern in patterns
    )
