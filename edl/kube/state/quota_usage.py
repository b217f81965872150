"""The quotas that a plan keeps: ResourceQuotas and GPU budgets, with other pods' usage."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from edl import contract, reasons
from edl.kube.cache.sorted_map import SortedMap
from edl.kube.cluster import Delta
from edl.kube.decode.namespace_quotas import QuotaFacts
from edl.kube.decode.object_facts import NamespaceFacts, PodFacts
from edl.kube.tally import Tally
from edl.model import Code, Quota, QuotaCharge, Role, TrainingJob
from edl.model.quotas import GPUS, MAX_EXCEEDED_RESOURCES, Excess
from edl.quantities import SHARED_GPU
from edl.spec.allowed_sizes import with_work

if TYPE_CHECKING:
    from edl.kube.cluster import ObjectKey

_Key = tuple[str, str, str]
_LISTING_DELAY: Final = timedelta(seconds=30)
"""By then pods that the last change of a role admitted can be listed."""


class QuotaIndex:
    """Quotas with the usage of others, updated by quota, namespace, training job and bare pod."""

    def __init__(self) -> None:
        self._quotas: defaultdict[str, dict[ObjectKey, QuotaFacts]] = defaultdict(dict)
        """By namespace."""
        self._budgets: dict[str, Quota] = {}
        """The GPU budgets of namespaces, without usage."""
        self._ours: Tally[_Key] = Tally()
        """The usage of training jobs' pods in ResourceQuotas."""
        self._bare: Tally[str] = Tally()
        """GPUs of training jobs' bare pods by namespace, which count in its GPU budget."""
        self._stale: set[str] = set()
        self._made: SortedMap[str, tuple[Quota, ...]] = SortedMap()

    def apply_quota(self, change: Delta[QuotaFacts]) -> None:
        namespace = change.key.namespace
        quotas = self._quotas[namespace]
        if change.after:
            quotas[change.key] = change.after
        else:
            quotas.pop(change.key, None)
        if not quotas:
            del self._quotas[namespace]
        self._stale.add(namespace)

    def apply_namespace(self, change: Delta[NamespaceFacts]) -> None:
        name = change.key.name
        self._budgets.pop(name, None)
        if change.after and change.after.policy.gpu_budget is not None:
            hard = int(change.after.policy.gpu_budget * 1000)
            self._budgets[name] = Quota(name, contract.GPU_BUDGET, GPUS, hard, takes_back=True)
        self._stale.add(name)

    def apply_job(self, change: Delta[TrainingJob]) -> None:
        for job, sign in change.signed():
            for key, amount in _charges(job):
                self._ours.add(key, sign * amount)
        self._stale.add(change.key.namespace)

    def count_bare_pod(self, pod: PodFacts, sign: int) -> None:
        if not pod.ended:
            requests = pod.shape.requests
            gpus = requests.get(contract.GPU_RESOURCE) * 1000 + requests.get(SHARED_GPU)
            self._bare.add(pod.namespace, sign * gpus)
            self._stale.add(pod.namespace)

    def values(self) -> tuple[Quota, ...]:
        """All quotas, sorted. `others` is a ResourceQuota's `used` without training jobs' pods."""
        for namespace in sorted(self._stale):
            self._made.put(namespace, tuple(sorted(self._of(namespace), key=repr)) or None)
        self._stale.clear()
        return tuple(chain.from_iterable(self._made.values()))

    def _of(self, namespace: str) -> Iterator[Quota]:
        for quota in self._quotas[namespace].values() if namespace in self._quotas else ():
            used, source = dict(quota.used), str(quota.rule)
            for resource, hard in quota.hard:
                # Pods and quotas are separate watches, which may disagree for a moment.
                ours = self._ours[namespace, source, resource]
                others = max(used.get(resource, 0) - ours, 0)
                yield Quota(namespace, source, resource, hard, others)
        if budget := self._budgets.get(namespace):
            yield replace(budget, others=self._bare[namespace])


def with_refused_pods(
    jobs: Sequence[TrainingJob], quotas: Iterable[Quota], now: datetime
) -> tuple[TrainingJob, ...]:
    """The jobs; roles that lack pods have the ResourceQuota or LimitRange that refuses them.

    `jobs`: all of the quotas' namespaces. `now`: the API server's.
    """
    limits: defaultdict[str, list[Quota]] = defaultdict(list)
    for quota in quotas:
        if not quota.takes_back:
            limits[quota.namespace].append(quota)
    used = charged(jobs) if limits else {}
    return tuple(_refused(job, limits.get(job.key.namespace, ()), used, now) for job in jobs)


def lacking_pods(job: TrainingJob, now: datetime) -> dict[str, int]:
    """How many pods each started role lacks, if any; a terminating pod is not lacking yet.

    A role that has just changed is left out: a quota counts new pods before they can be listed.
    """
    return {
        role.name: lacks
        for role in job.live
        if (lacks := _lacking_pods(role)) and _is_settled(job, role, now)
    }


def _is_settled(job: TrainingJob, role: Role, now: datetime) -> bool:
    changes = job.started_at, role.record.resized_at, role.reported_at
    return all(now - time >= _LISTING_DELAY for time in changes if time)


def _lacking_pods(role: Role) -> int:
    status = role.status
    if status.suspended or status.ending:
        return 0
    size = with_work(role, status.size)
    done = sum(index < size for index in status.finished_indexes)
    return max(size - done - sum(not pod.ended for pod in status.pods), 0)


def _refused(
    job: TrainingJob, quotas: Iterable[Quota], used: Mapping[_Key, int], now: datetime
) -> TrainingJob:
    lacking = {} if job.namespace_terminating else lacking_pods(job, now)
    if any(role.template.pod_refusals for role in job.live if role.name in lacking):
        return replace(job, roles=tuple(_out_of_range(role, lacking) for role in job.roles))
    exceeded = [*excesses(job, lacking, quotas, used)] if lacking else []
    if not exceeded:
        return job
    # A refusal names one quota, as the API server's does.
    named = [usage for usage in exceeded if usage.budget.source == exceeded[0].budget.source]
    first, *more = named[:MAX_EXCEEDED_RESOURCES]
    why = reasons.insufficient_quota(first.budget, first.needs, first.used, *more)
    refused = {
        role.name
        for role in job.live
        if role.name in lacking and any(charge(role, usage.budget) for usage in named)
    }
    roles = (
        replace(role, refused_pods=why) if role.name in refused else role for role in job.roles
    )
    return replace(job, roles=tuple(roles))


def excesses(
    job: TrainingJob, lacking: Mapping[str, int], quotas: Iterable[Quota], used: Mapping[_Key, int]
) -> Iterator[Excess]:
    """The quotas without room for the pods that its roles lack; `used` is that of `charged`."""
    for quota in quotas:
        needs = sum(charge(role, quota) * lacking.get(role.name, 0) for role in job.live)
        uses = quota.others + used.get((quota.namespace, quota.source, quota.resource), 0)
        if needs > max(quota.hard - uses, 0):
            yield Excess(quota, needs, uses)


def _out_of_range(role: Role, lacking: Mapping[str, int]) -> Role:
    """The role; if it lacks pods that no quota of any size would allow, with the reason."""
    if not (role.name in lacking and role.template.pod_refusals):
        return role
    missing = f"{lacking[role.name]} of {role.status.size} {role.name} missing"
    text = f"{missing}: {'; '.join(role.template.pod_refusals)}"
    return replace(role, refused_pods=reasons.quoted(Code.PODS_MISSING, text))


def charge(role: Role, quota: Quota) -> int:
    """What one pod of the role counts in the quota."""
    key = quota.source, quota.resource
    return sum(charge.amount for charge in role.template.charges if charge[:2] == key)


def charged(jobs: Iterable[TrainingJob]) -> Mapping[_Key, int]:
    """Quota usage of the training jobs' pods that have not ended."""
    usage: Counter[_Key] = Counter()
    for key, amount in chain.from_iterable(map(_charges, jobs)):
        usage[key] += amount
    return usage


def _charges(job: TrainingJob) -> Iterator[tuple[_Key, int]]:
    """Quota usage of the job's pods that have not ended.

    Provisional pods count where pods of their role would. Their usage of other quotas counts as
    other pods' usage while they exist.
    """
    for role in job.roles:
        pods = role.pods_in_quotas if role.template.charges else 0
        for source, resource, amount in role.template.charges if pods else ():
            yield (job.key.namespace, source, resource), amount * pods
    for source, resource, amount in provisional_charges(job):
        yield (job.key.namespace, source, resource), amount


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
