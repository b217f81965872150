"""Translates a restart policy into fields of the Job.

kubeflow's operators (tf-operator, mxnet-operator) and et-operator have a `restartPolicy` per
replica: Always, OnFailure, Never, ExitCode. A Job needs three fields for that:
docs/concepts/failures.md.
"""

from typing import Final

from edl import contract
from edl.contract import RestartPolicy
from edl.contract.manifest_parts import annotations, with_spec
from edl.parsing.yaml_values import whole
from edl.spec.job_spec import (
    IGNORE_DISRUPTIONS,
    PERMANENT_EXIT_CODES,
    POD_POLICIES,
    RETRIES,
    JobSpec,
)
from edl.writes import Json

_FAIL_FOR_GOOD: Final = {
    "action": "FailJob",
    "onExitCodes": {"operator": "In", "values": list(PERMANENT_EXIT_CODES)},
}
_RULES: Final = {
    RestartPolicy.NEVER: [IGNORE_DISRUPTIONS],
    RestartPolicy.EXIT_CODE: [IGNORE_DISRUPTIONS, _FAIL_FOR_GOOD],
}


def with_retries(job: Json, spec: JobSpec) -> Json:
    """The Job's spec with the policy of `edl.dev/restart`, or with retries per replica."""
    # Together with a limit per index the API's default is unlimited.
    if "backoffLimitPerIndex" not in job and job.get("backoffLimit", RETRIES) == RETRIES:
        # The Job controller counts preempted and evicted pods as failures, too.
        limit = 0 if spec.lifecycle.restart is RestartPolicy.NEVER else RETRIES * spec.scaling.max
        job = job | {"backoffLimit": limit}
    if spec.lifecycle.restart is None:
        return job
    policy = POD_POLICIES[spec.lifecycle.restart]
    job = job | {"template": with_spec(job.get("template") or {}, restartPolicy=policy)}
    if spec.lifecycle.restart not in _RULES or "podFailurePolicy" in job:
        return job
    # The API server accepts no other replacement policy with it (docs/kubernetes.md 16).
    rules = {"podFailurePolicy": {"rules": _RULES[spec.lifecycle.restart]}}
    return job | rules | {"podReplacementPolicy": "Failed"}


def granted_limit(job: Json) -> int | None:
    """The `backoffLimit` of a completed Job whose user sets none; None if it is not completed."""
    notes = annotations(job)
    if notes.get(contract.RESTART) == RestartPolicy.NEVER:
        return 0
    most = whole(notes.get(contract.INJECTED_MAX, ""))
    return RETRIES * most if most else None


def is_our_limit(job: Json) -> bool:
    """Whether the webhook or the reconciler wrote the `backoffLimit` of a completed Job.

    The reconciler notes the value to which it raises the webhook's.
    """
    limit: int | None = (job.get("spec") or {}).get("backoffLimit")
    raised = str(limit) == annotations(job).get(contract.RAISED_LIMIT)
    return limit is not None and (raised or limit == granted_limit(job))
