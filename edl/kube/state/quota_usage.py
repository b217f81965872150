"""The quotas that a plan keeps: ResourceQuotas and GPU budgets, with other pods' usage."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from edl import contract, reasons
from edl.kube.decode.namespace_quotas import QuotaFacts
from edl.kube.decode.object_facts import NamespaceFacts, PodFacts
from edl.model import Quota, QuotaCharge, Role, TrainingJob
from edl.model.quotas import GPUS
from edl.quantities import SHARED_GPU

_Key = tuple[str, str, str]
_SETTLED_AFTER: Final = timedelta(seconds=30)
"""By then pods that the last change of a role admitted can be listed."""


def budgets(
    quotas: Sequence[QuotaFacts],
    namespaces: Iterable[NamespaceFacts],
    jobs: Iterable[TrainingJob],
    bare: Iterable[PodFacts] = (),
) -> tuple[Quota, ...]:
    """All quotas, sorted. `others` is a ResourceQuota's `used` without the pods of training jobs.

    `bare`: bare pods of training jobs, which count in the namespace's GPU budget.
    """
    limited = {found.name: found for found in namespaces if found.policy.gpu_budget is not None}
    if not (quotas or limited):
        return ()
    ours = _ours(jobs) if quotas else {}
    return tuple(sorted((*_of_quotas(quotas, ours), *_of_gpus(limited.values(), bare)), key=repr))


def with_unmet_quotas(
    jobs: Sequence[TrainingJob], quotas: Iterable[Quota], now: datetime
) -> tuple[TrainingJob, ...]:
    """The jobs; roles that lack pods have the ResourceQuota that refuses them.

    `jobs`: all of the quotas' namespaces. `now`: the API server's.
    """
    limits: defaultdict[str, list[Quota]] = defaultdict(list)
    for quota in quotas:
        if not quota.takes_back:
            limits[quota.namespace].append(quota)
    if not limits:
        return tuple(jobs)
    used = _ours(jobs)
    return tuple(_refused(job, limits.get(job.key.namespace, ()), used, now) for job in jobs)


def lacking_pods(job: TrainingJob, now: datetime) -> dict[str, int]:
    """How many pods each started role lacks, if any; those that terminate are yet to be replaced.

    None of a role that has just changed: a quota counts new pods before they can be listed.
    """
    return {
        role.name: lacks
        for role in job.live
        if (lacks := _lacking_pods(role)) and _is_settled(job, role, now)
    }


def _is_settled(job: TrainingJob, role: Role, now: datetime) -> bool:
    changes = job.started_at, role.record.resized_at, role.reported_at
    return all(now - at >= _SETTLED_AFTER for at in changes if at)


def _lacking_pods(role: Role) -> int:
    status = role.status
    if status.suspended or status.ending:
        return 0
    size = status.size if status.remaining is None else min(status.size, status.remaining)
    done = sum(index < size for index in status.finished_indexes)
    return max(size - done - sum(not pod.ended for pod in status.pods), 0)


def _refused(
    job: TrainingJob, quotas: Iterable[Quota], used: Mapping[_Key, int], now: datetime
) -> TrainingJob:
    lacking = {} if job.namespace_terminating else lacking_pods(job, now)
    for quota in quotas if lacking else ():
        needed = {role.name: _charge(role, quota) * lacking.get(role.name, 0) for role in job.live}
        needs = sum(needed.values())
        uses = quota.others + used.get((quota.namespace, quota.source, quota.resource), 0)
        if needs > max(quota.hard - uses, 0):
            why = reasons.insufficient_quota(quota, needs, uses)
            roles = (
                replace(role, refused_pods=why) if needed.get(role.name) else role
                for role in job.roles
            )
            return replace(job, roles=tuple(roles))
    return job


def _charge(role: Role, quota: Quota) -> int:
    """What one pod of the role counts in the quota."""
    key = quota.source, quota.resource
    return sum(charge.amount for charge in role.template.charges if charge[:2] == key)


def _of_quotas(quotas: Iterable[QuotaFacts], ours: dict[_Key, int]) -> Iterator[Quota]:
    for found in quotas:
        used, source = dict(found.used), str(found.rule)
        for resource, hard in found.hard:
            mine = ours.get((found.namespace, source, resource), 0)
            # Pods and quotas are separate watches, which may disagree for a moment.
            others = max(used.get(resource, 0) - mine, 0)
            yield Quota(found.namespace, source, resource, hard, others)


def _ours(jobs: Iterable[TrainingJob]) -> dict[_Key, int]:
    """Quota usage of the training jobs' pods that have not ended.

    Provisional pods count where pods of their role would. Their usage of other quotas counts as
    other pods' usage while they exist.
    """
    found: defaultdict[_Key, int] = defaultdict(int)
    for job in jobs:
        for role in job.roles:
            pods = role.pods_in_quotas
            for source, resource, amount in role.template.charges if pods else ():
                found[job.key.namespace, source, resource] += amount * pods
        for source, resource, amount in provisional_charges(job):
            found[job.key.namespace, source, resource] += amount
    return found


def provisional_charges(job: TrainingJob) -> Iterator[QuotaCharge]:
    """Charges of the job's provisional pods to quotas in which pods of their roles count too."""
    if not job.provisioning.pods:
        return
    counted = {
        role.name: {(source, resource) for source, resource, _ in role.template.charges}
        for role in job.roles
    }
    for pod in job.provisioning.pods:
        for charge in pod.charges if not pod.gone else ():
            if charge[:2] in counted.get(pod.role, ()):
                yield charge


def _of_gpus(namespaces: Iterable[NamespaceFacts], bare: Iterable[PodFacts]) -> Iterator[Quota]:
    held: defaultdict[str, int] = defaultdict(int)
    for pod in bare:
        if not pod.ended:
            requests = pod.shape.requests
            gpus = requests.get(contract.GPU_RESOURCE) * 1000 + requests.get(SHARED_GPU)
            held[pod.namespace] += gpus
    for found in namespaces:
        hard = int((found.policy.gpu_budget or 0) * 1000)
        others = held.get(found.name, 0)
        yield Quota(found.name, contract.GPU_BUDGET, GPUS, hard, others, takes_back=True)
