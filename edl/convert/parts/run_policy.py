"""Run policies: retries, deadlines and clean-up. Kubeflow's APIs have them in two places."""

from collections.abc import Sequence
from typing import Final

import msgspec

from edl import contract
from edl.contract import CleanUp
from edl.convert.parts import pod_templates
from edl.convert.tracked_object import Fields
from edl.spec.job_spec import RETRIES
from edl.writes import Json

_CLEAN_UPS: Final = tuple(choice.value for choice in CleanUp)
_FIELDS: Final = (
    "backoffLimit",
    "activeDeadlineSeconds",
    "ttlSecondsAfterFinished",
    "cleanPodPolicy",
)


class RunPolicy(msgspec.Struct, frozen=True):
    """Values are None or empty if the source does not set them."""

    retries: int | None = None
    deadline: int | None = None
    keep: int | None = None
    """Seconds for which a finished Job is kept."""
    clean_up: str = ""
    paused: bool = False
    priority_class: str = ""

    @property
    def job(self) -> Json:
        """Fields for every Job's spec, without `backoffLimit`, which each role sets."""
        limits = {"activeDeadlineSeconds": self.deadline, "ttlSecondsAfterFinished": self.keep}
        return {name: value for name, value in limits.items() if value is not None}

    @property
    def annotations(self) -> dict[str, str]:
        cleaned = {contract.CLEAN_UP: self.clean_up} if self.clean_up else {}
        return cleaned | ({contract.PAUSED: contract.TRUE} if self.paused else {})


def read(spec: Fields, clean_up: str = "") -> RunPolicy:
    """Read `runPolicy`, and the same fields in the spec itself, where older versions have them.

    `clean_up` is an older name of the clean-up policy.
    """
    inner = spec.fields("runPolicy")
    for name in _FIELDS:
        if name in inner.names() and name in spec.names():
            spec.drop(name, "runPolicy says it too, and wins", "remove one of them")
    places = {name: inner if name in inner.names() else spec for name in _FIELDS}
    inner.drop("managedBy", instead="kubectl-edl runs these Jobs")
    gang = inner if inner.has("schedulingPolicy") else spec
    return RunPolicy(
        retries=places["backoffLimit"].whole("backoffLimit"),
        deadline=places["activeDeadlineSeconds"].whole("activeDeadlineSeconds"),
        keep=places["ttlSecondsAfterFinished"].whole("ttlSecondsAfterFinished"),
        clean_up=places["cleanPodPolicy"].choice("cleanPodPolicy", _CLEAN_UPS)
        or (spec.choice(clean_up, _CLEAN_UPS) if clean_up else ""),
        paused=inner.flag("suspend"),
        priority_class=_scheduling(gang.fields("schedulingPolicy")),
    )


def prioritised(policy: RunPolicy, fields: Fields, template: Json) -> Json:
    """Give a role's template the gang's priority class."""
    return pod_templates.with_default(fields, template, "priorityClassName", policy.priority_class)


def remark_on_retries(policy: RunPolicy, spec: Fields, restarts: Sequence[str]) -> None:
    """Report changed retry limits; `restarts` are the roles' policies, which shared one limit."""
    if policy.retries is None:
        return
    limit = f"backoffLimit {policy.retries}"
    if "Never" in restarts:
        spec.note("", f"{limit} never counted under restartPolicy Never: a failure is final")
    if policy.retries == RETRIES and set(restarts) != {"Never"}:
        what = f"{limit} is Kubernetes' default, which becomes {RETRIES} for each replica"
        spec.note(
            "",
            what,
            f"a number other than {RETRIES} limits the retries of all replicas of a role together",
        )
    if len(restarts) > 1 and set(restarts) != {"Never"}:
        spec.note("", f"{limit} was of all replicas together, and is each role's here")


def _scheduling(fields: Fields) -> str:
    """The gang's priority class; other gang settings are dropped, which is reported."""
    gang = "kubectl-edl starts a training job when every role's minimum fits"
    fields.drop("minAvailable", instead=f"{gang}: {contract.MIN} says it by role")
    fields.drop("minResources", instead=gang)
    fields.drop("scheduleTimeoutSeconds", instead=f"{gang}, and never half of it")
    fields.drop("queue", instead="one queue orders a cluster: set a priority class")
    return fields.text("priorityClass")
