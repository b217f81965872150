"""A user's rules about completion indexes must be satisfiable at every size of the Job."""

from collections.abc import Iterator
from typing import Any, Final

from edl import contract
from edl.errors import Finding
from edl.spec.job_spec import JobSpec
from edl.writes import Json

OWN_PODS: Final = (
    "None keeps pods of other Jobs alone: when spec.successPolicy completes this Job, the Job "
    "controller ends its other pods; a succeededCount of all of them waits for each"
)
_LIMIT: Final = "maxFailedIndexes"


def findings(manifest: Json, spec: JobSpec) -> list[Finding]:
    """Findings for rules that need more pods than the role's min.

    A scale-down of ranked pods lowers `completions` to min. Checked on creation and when min is
    lowered; running Jobs are left alone.
    """
    allowed = f"at most {contract.MIN}, or raise that"
    return [
        Finding(
            path,
            f"it needs {least} pods, and this Job may shrink to {contract.MIN} {spec.scaling.min}",
            allowed,
        )
        for path, least in (_needed(manifest.get("spec") or {}) if spec.indexed else ())
        if least > spec.scaling.min
    ]


def ends_its_own_pods(manifest: Json, spec: JobSpec, *, decides: bool) -> bool:
    """Whether a Job can be complete while other pods of it run, which the Job controller then ends.

    `decides`: the framework completes the Job with one of its pods, unless its user has a policy.
    """
    job = manifest.get("spec") or {}
    rules = [least for path, least in _needed(job) if _LIMIT not in path]
    of_user = any(rules)
    enough = [least for least in rules if least] if of_user else [1] * decides
    return spec.indexed and any(least < spec.scaling.max for least in enough)


def _needed(job: Json) -> Iterator[tuple[str, int]]:
    """(path, pods) of each rule: how many pods it needs (batch/validation)."""
    yield f"spec.{_LIMIT}", _whole(job.get(_LIMIT))
    policy = job.get("successPolicy")
    rules = policy.get("rules") if isinstance(policy, dict) else None
    for number, rule in enumerate(rules if isinstance(rules, list) else ()):
        if isinstance(rule, dict):
            path = f"spec.successPolicy.rules[{number}]"
            yield f"{path}.succeededCount", _whole(rule.get("succeededCount"))
            yield f"{path}.succeededIndexes", _last(rule.get("succeededIndexes")) + 1


def _whole(value: Any) -> int:  # noqa: ANN401 - JSON enters here
    return value if isinstance(value, int) else 0


def _last(text: Any) -> int:  # noqa: ANN401 - JSON enters here
    """The last index of a list such as `0,2-4`; -1 for a list that the API server will refuse."""
    last = str(text or "").rpartition(",")[2].rpartition("-")[2]
    return int(last) if last.isdecimal() and len(last) < len(str(2**31)) else -1
