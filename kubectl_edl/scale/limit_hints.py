"""Limits of the namespace that a requested size exceeds: ResourceQuotas and LimitRanges."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from edl.kube.state.quota_usage import provisional_charges
from edl.messages import cause, message, remedy
from edl.model import Reason, ResizePolicy, Role, TrainingJob, job_of
from edl.model.causes.blockers import QuotaExceeded
from edl.planner.snapshot.growth_gates import has_succeeded_pods
from edl.spec.allowed_sizes import RESIZABLE, start_size, unended, with_unended, with_work
from kubectl_edl.client.cluster_view import Survey

_Key: TypeAlias = tuple[str, str]
"""(source, resource) of a quota."""


class SizeLimits(NamedTuple):
    """What keeps a role from a size, as lines of hints.

    `never`: what would have to change even if no other pods ran; empty if nothing would.
    """

    hints: tuple[str, ...] = ()
    never: str = ""
    problem: Reason | None = None
    """What stops all sizing, as plans see it: also a LimitRange that refuses the pods."""


NO_LIMITS: Final = SizeLimits()


class _Exceeded(NamedTuple):
    blocker: QuotaExceeded
    own: int
    """What pods of the job use of the quota."""

    @property
    def is_too_small(self) -> bool:
        """Whether the size exceeds the quota even without other pods."""
        return self.own + self.blocker.needed > self.blocker.quota.hard


def size_limits(
    survey: Survey, job: TrainingJob, role: str, size: int, *, claims: bool = False
) -> SizeLimits:
    """The limits of the namespace that a size exceeds; `survey` is one of `survey_charged`.

    NO_LIMITS if some list could not be read: its objects would count as absent. `claims`: it is a
    minimum, to which extras of other jobs yield.
    """
    found = job_of(survey.jobs, job.key)
    if found is None or not survey.is_complete:
        return NO_LIMITS
    hints = list[str]()
    if found.problem and not job.problem:  # pods that a LimitRange refuses
        hints.append(
            f"hint: nothing is resized before its problem is fixed: {message(found.problem)}"
        )
    comes = _extras(survey, found) if claims else {}
    exceeded = [*_exceeded(survey, found, role, size, comes)]
    for one, _ in exceeded:
        hints.append(f"hint: {role} cannot have {size}: {cause(one)}; would help: {remedy(one)}")
    never = (remedy(one.blocker) for one in exceeded if one.is_too_small)
    return SizeLimits(tuple(hints), next(never, ""), found.problem)


def _exceeded(
    survey: Survey, job: TrainingJob, role: str, size: int, comes: Mapping[_Key, int]
) -> Iterator[_Exceeded]:
    """The quotas without room for the pods that the job lacks for this size of the role.

    Its pods take over what its provisional pods use, and what `comes` from others.
    """
    used, needed = Counter[_Key](), Counter[_Key]()
    own = Counter[_Key]()
    for one in survey.jobs:
        if one.key.namespace != job.key.namespace:
            continue
        for source, resource, amount in provisional_charges(one) if one is not job else ():
            used[source, resource] += amount
        for other in one.roles:
            pods = sum(not pod.ended for pod in other.status.pods)
            lacks = _lacks(other, size if other.name == role else 0) if one is job else 0
            for source, resource, amount in other.template.charges:
                used[source, resource] += amount * pods
                own[source, resource] += amount * pods if one is job else 0
                needed[source, resource] += amount * lacks
    for quota in survey.quotas:
        key = quota.source, quota.resource
        uses, needs = quota.others + used[key], needed[key]
        left, lacks = max(quota.hard - uses, 0), needs + uses - quota.hard - comes.get(key, 0)
        if quota.namespace == job.key.namespace and needs and lacks > 0:
            yield _Exceeded(QuotaExceeded(quota, needs, uses, left, lacks), own[key])


def _extras(survey: Survey, job: TrainingJob) -> Mapping[_Key, int]:
    """What yields to the job's minimum, by quota: extras of other jobs of no higher priority."""
    found = Counter[_Key]()
    for other in survey.jobs:
        if other.key == job.key or other.key.namespace != job.key.namespace:
            continue
        if other.problem or other.priority > job.priority:
            continue
        for role in other.live:
            if role.spec.resizing not in RESIZABLE or role.request.replicas is not None:
                continue
            if role.spec.resizing is ResizePolicy.RESTART and has_succeeded_pods(other):
                continue  # a restart would leave the others without the ranks that have ended
            pods = sum(not pod.ended for pod in role.status.pods)
            for source, resource, amount in role.template.charges:
                found[source, resource] += amount * max(pods - role.spec.min, 0)
    return found


def _lacks(role: Role, size: int) -> int:
    """How many pods the role lacks for this size; for 0, its own size, or that of its start.

    A terminating pod counts as present: its usage ends before its replacement is created.
    """
    status = role.status
    if status.ending:
        return 0
    usual = start_size(role) if status.suspended else status.size
    size = with_work(role, with_unended(role, size) if size else usual)
    return max(unended(role, size) - sum(not pod.ended for pod in status.pods), 0)
