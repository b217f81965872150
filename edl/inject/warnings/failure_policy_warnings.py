"""A `podFailurePolicy` by which a scale-down or a pause may fail the whole Job."""

from typing import Final

from edl import contract
from edl.contract.manifest_parts import annotations
from edl.spec.failure_policy import FAILS, exit_code_rules
from edl.writes import Json

_TEXT: Final = (
    "spec.podFailurePolicy.rules: a pod that a scale-down, pause or preemption ends fails the Job "
    "if FailJob has its exit code: recreate it with a rule before that: Ignore, on the condition "
    "DisruptionTarget"
)


def warnings(manifest: Json) -> tuple[str, ...]:
    """A warning for a new Job whose rules fail it for the exit code of a pod that was ended.

    The reconciler marks pods before it ends them (`edl.steps.disruption_marks`): a rule that
    ignores the mark must come first.
    """
    if manifest.get("kind") == "Pod" or contract.INJECTED_MAX in annotations(manifest):
        return ()  # completed before, and warned about then
    rules = exit_code_rules(manifest.get("spec") or {})
    if all(rule.action != FAILS or rule.spares_disrupted for rule in rules):
        return ()
    return (_TEXT,)
