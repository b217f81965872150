"""Limits of the namespace that a requested size exceeds: ResourceQuotas and LimitRanges."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from edl.kube.state.quota_usage import charged, excesses
from edl.messages import blocker_text, message, remedy
from edl.model import Provisioning, Reason, ResizePolicy, Role, TrainingJob, job_of
from edl.model.causes.blockers import QuotaExceeded
from edl.spec.allowed_sizes import RESIZABLE, start_size, unended, with_unended, with_work
from kubectl_edl.client.cluster_view import Survey

_Key: TypeAlias = tuple[str, str, str]
"""(namespace, source, resource) of a quota."""


class SizeLimits(NamedTuple):
    """What keeps a role from a size, as lines of hints.

    `never`: what would have to change even if no other pods ran; empty if nothing would.
    """

    hints: tuple[str, ...] = ()
    never: str = ""
    problem: Reason | None = None
    """What stops all sizing, as plans see it: also a LimitRange that refuses the pods."""


NO_LIMITS: Final = SizeLimits()


def size_limits(
    survey: Survey, job: TrainingJob, role: str, size: int, *, claims: bool = False
) -> SizeLimits:
    """The limits of the namespace that a size exceeds; `survey` has provisional pods.

    NO_LIMITS if some list could not be read: its objects would count as absent. `claims`: it is a
    minimum, to which extras of other jobs yield.
    """
    current = job_of(survey.jobs, job.key)
    if current is None or not survey.is_complete:
        return NO_LIMITS
    hints = list[str]()
    if current.problem and not job.problem:  # pods that a LimitRange refuses
        hints.append(
            f"hint: nothing is resized before its problem is fixed: {message(current.problem)}"
        )
    plain = replace(current, provisioning=Provisioning())  # its pods take over what these use
    used = charged(plain if other is current else other for other in survey.jobs)
    comes, charges = _extras(survey, current) if claims else {}, charged([plain])
    lacking = {one.name: _lacks(one, size if one.name == role else 0) for one in current.live}
    never = ""
    for excess in excesses(current, lacking, survey.quotas, used):
        quota, needs, uses = excess.budget, excess.needs, excess.used
        key = quota.namespace, quota.source, quota.resource
        lacks = needs + uses - quota.hard - comes.get(key, 0)
        if quota.namespace == job.key.namespace and lacks > 0:
            blocker = QuotaExceeded(quota, needs, uses, max(quota.hard - uses, 0), lacks)
            helps = remedy(blocker)
            hints.append(
                f"hint: {role} cannot have {size}: {blocker_text(blocker)}; would help: {helps}"
            )
            never = never or (helps if charges.get(key, 0) + needs > quota.hard else "")
    return SizeLimits(tuple(hints), never, current.problem)


def _extras(survey: Survey, job: TrainingJob) -> Mapping[_Key, int]:
    """What yields to the job's minimum, by quota: extras of other jobs of no higher priority."""
    extras = Counter[_Key]()
    for other in survey.jobs:
        if other.key == job.key or other.key.namespace != job.key.namespace:
            continue
        if other.problem or other.priority > job.priority:
            continue
        for role in other.live:
            if role.spec.resizing not in RESIZABLE or role.request.replicas is not None:
                continue
            if role.spec.resizing is ResizePolicy.RESTART and other.has_succeeded_pods:
                continue  # a restart would leave the others without the ranks that have ended
            pods = sum(not pod.ended for pod in role.status.pods)
            for source, resource, amount in role.template.charges:
                key = job.key.namespace, source, resource
                extras[key] += amount * max(pods - role.spec.min, 0)
    return extras


def _lacks(role: Role, size: int) -> int:
    """How many pods the role lacks for this size; for 0, its own size, or that of its start.

    A terminating pod counts as present: its usage ends before its replacement is created.
    """
    status = role.status
    usual = start_size(role) if status.suspended else status.size
    size = with_work(role, with_unended(role, size) if size else usual)
    return max(unended(role, size) - sum(not pod.ended for pod in status.pods), 0)
