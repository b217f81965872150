"""Limits of the namespace that a requested size exceeds: ResourceQuotas and LimitRanges."""

from collections import Counter
from collections.abc import Iterator

from edl.kube.state.quota_usage import provisional_charges
from edl.messages import cause, remedy
from edl.model import Role, TrainingJob
from edl.model.blockers import QuotaExceeded
from kubectl_edl.client.cluster_view import Survey


def limit_hints(survey: Survey, job: TrainingJob, role: str, size: int) -> Iterator[str]:
    """Lines on what keeps the role from this size; `survey` is one of `survey_charged`.

    None if some list could not be read: its objects would count as absent.
    """
    found = next((one for one in survey.jobs if one.key == job.key), None)
    if found is None or not survey.is_complete:
        return
    if found.problem and not job.problem:  # pods that a LimitRange refuses
        yield f"hint: nothing is resized before its problem is fixed: {found.problem}"
    for one in _exceeded(survey, found, role, size):
        yield f"hint: {role} cannot have {size}: {cause(one)}; would help: {remedy(one)}"


def _exceeded(survey: Survey, job: TrainingJob, role: str, size: int) -> Iterator[QuotaExceeded]:
    """The quotas without room for the pods that the job lacks for this size of the role.

    Its pods take over what its provisional pods use.
    """
    used, needed = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
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
                needed[source, resource] += amount * lacks
    for quota in survey.quotas:
        key = quota.source, quota.resource
        uses, needs = quota.others + used[key], needed[key]
        left = max(quota.hard - uses, 0)
        if quota.namespace == job.key.namespace and needs > left:
            yield QuotaExceeded(quota, needs, uses, left, needs - left)


def _lacks(role: Role, size: int) -> int:
    """How many pods the role lacks for this size; for 0, its own size, or its minimum to start.

    A terminating pod counts as present: its usage ends before its replacement is created.
    """
    status = role.status
    if status.ending:
        return 0
    size = size or (role.spec.min if status.suspended else status.size)
    if status.remaining is not None:
        size = min(size, status.remaining)
    done = sum(index < size for index in status.finished_indexes)
    return max(size - done - sum(not pod.ended for pod in status.pods), 0)
