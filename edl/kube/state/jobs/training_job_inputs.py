"""The inputs of one training job, and the problems for which it cannot be planned or started."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from edl import contract
from edl.frameworks import FRAMEWORKS
from edl.kube.cluster import ObjectKey
from edl.kube.decode import gpu_sharing, runtime_classes, volume_claims
from edl.kube.decode.job_facts import JobFacts
from edl.kube.decode.namespace_quotas import (
    NO_RULES,
    LimitRangeFacts,
    NamespaceConstraints,
    QuotaFacts,
)
from edl.kube.decode.object_facts import (
    WITHOUT_CLASS,
    NamespaceFacts,
    OwnedObjectRef,
    PodFacts,
    PriorityClassFacts,
)
from edl.kube.decode.runtime_classes import RuntimeClasses, RuntimeClassFacts
from edl.kube.dra.claim_resolution import DeviceView, ResolvedShape, resolve
from edl.kube.provisioning.request_facts import CapacityRequestFacts
from edl.kube.state.jobs import pod_admission
from edl.kube.state.jobs.job_conflicts import disagreements, never_meet
from edl.model import ConflictingJob, JobKey, Reason, Role
from edl.parsing import namespace_policy
from edl.quantities import SHARED_GPU
from edl.spec import addresses
from edl.spec.job_spec import JobSpec


class TrainingJobInputs(msgspec.Struct, frozen=True):
    """Everything from which one training job is built.

    `jobs` are sorted by name; `pods`, `priorities` and `classes` have one entry per Job.
    """

    jobs: Sequence[JobFacts]
    pods: Sequence[Sequence[PodFacts]]
    owned_objects: Sequence[OwnedObjectRef]
    """Objects that have its name or its label."""
    kubexec: bool
    priorities: Sequence[PriorityClassFacts | None]
    """None if the PriorityClass does not exist."""
    classes: Sequence[RuntimeClassFacts | None]
    """RuntimeClasses; None for one that does not exist."""
    missing_claims: Sequence[ObjectKey] = ()
    """The PersistentVolumeClaims that its Jobs name and no pod can be placed with."""
    rules: NamespaceConstraints = NO_RULES
    """Quotas, LimitRanges and settings of its namespace."""
    devices: DeviceView | None = None
    """None if devices are not read."""
    requests: Sequence[CapacityRequestFacts] = ()
    """The ProvisioningRequests that its Jobs own."""
    previous_pods: Sequence[PodFacts] = ()
    """Pods of deleted Jobs of it that use nodes."""
    conflicting: tuple[ConflictingJob, ...] = ()
    """Jobs that are not among `jobs` because they conflict with them."""


class ClusterScope(msgspec.Struct, frozen=True):
    """Facts that many jobs depend on; few objects, all read again on each change."""

    kubexec: frozenset[str]
    """Namespaces in which launchers may exec into their workers."""
    priorities: Mapping[str, PriorityClassFacts]
    """By name of the PriorityClass."""
    default: PriorityClassFacts
    """What applies to pods without a class."""
    rules: Mapping[str, NamespaceConstraints] = msgspec.field(default_factory=dict)
    """By namespace, for namespaces that have any."""
    runtimes: RuntimeClasses = None
    """RuntimeClasses by name; None until they have been listed."""

    @classmethod
    def of(
        cls,
        namespaces: Sequence[NamespaceFacts],
        priorities: Sequence[PriorityClassFacts],
        quotas: Iterable[QuotaFacts] = (),
        ranges: Iterable[LimitRangeFacts] = (),
        runtimes: Iterable[RuntimeClassFacts] | None = None,
    ) -> "ClusterScope":
        return cls(
            kubexec=frozenset(found.name for found in namespaces if found.policy.kubexec),
            priorities={entry.name: entry for entry in priorities},
            default=next((entry for entry in priorities if entry.default), WITHOUT_CLASS),
            rules=_rules_of(namespaces, priorities, quotas, ranges),
            runtimes=None if runtimes is None else {runtime.name: runtime for runtime in runtimes},
        )

    def priority(self, job: JobFacts) -> PriorityClassFacts | None:
        """The PriorityClass of a Job; None if it does not exist."""
        return self.priorities.get(job.priority_class) if job.priority_class else self.default


def _rules_of(
    namespaces: Sequence[NamespaceFacts],
    priorities: Sequence[PriorityClassFacts],
    quotas: Iterable[QuotaFacts],
    ranges: Iterable[LimitRangeFacts],
) -> Mapping[str, NamespaceConstraints]:
    by_quota: defaultdict[str, list[QuotaFacts]] = defaultdict(list)
    for quota in quotas:
        by_quota[quota.namespace].append(quota)
    by_range: defaultdict[str, list[LimitRangeFacts]] = defaultdict(list)
    for limit_range in ranges:
        by_range[limit_range.namespace].append(limit_range)
    budgeted = {one.name for one in namespaces if one.policy.gpu_budget is not None}
    terminating = {namespace.name for namespace in namespaces if namespace.terminating}
    defaults = {namespace.name: namespace.policy.default_priority for namespace in namespaces}
    prioritised = {name for name, default in defaults.items() if default}
    named = next((entry.name for entry in priorities if entry.default), "")
    return {
        name: NamespaceConstraints(
            quotas=tuple(sorted(quota.rule for quota in by_quota.get(name, ()))),
            ranges=tuple(sorted(by_range.get(name, ()))),
            gpu_budget=name in budgeted,
            default_class=named,
            default_priority=defaults.get(name, ""),
            terminating=name in terminating,
        )
        for name in {*by_quota, *by_range, *budgeted, *terminating, *prioritised}
    }


def problem(key: JobKey, around: TrainingJobInputs, specs: Sequence[JobSpec]) -> Reason | None:
    """Why it cannot be planned; a job that has ended keeps its own problems alone."""
    rules = NO_RULES if all(job.has_ended for job in around.jobs) else around.rules
    execs = any(job.awaits_start for job in around.jobs) and any(job.execs for job in around.jobs)
    denied = namespace_policy.no_kubexec(key.namespace) if execs and not around.kubexec else ""
    return rules.problem(_problems(key, around, specs), denied)


def _problems(key: JobKey, around: TrainingJobInputs, specs: Sequence[JobSpec]) -> Iterator[str]:
    yield from (job.problem for job in around.jobs if job.problem)
    yield from disagreements(around.jobs, specs)
    # Requirements of a start are checked for waiting jobs only: running jobs are still resized.
    if any(job.awaits_start for job in around.jobs):
        yield from _obstacles(key, around, specs)


def _obstacles(key: JobKey, around: TrainingJobInputs, specs: Sequence[JobSpec]) -> Iterator[str]:
    """Why the job cannot start although each of its Jobs is valid."""
    yield from refusals(around)
    yield from _too_few(around)
    yield from _ended_before(around)
    if not any(job.started_at for job in around.jobs):  # jobs that have started may continue
        yield from never_meet(specs)
    needed = {name for job in around.jobs for name in _service_names(key, job)}
    for owned in around.owned_objects:
        if owned.kind == "Service" and owned.name in needed and owned.job != key.name:
            yield _taken(owned)


def _service_names(key: JobKey, job: JobFacts) -> Iterator[str]:
    """The Services by which pods of a Job find their peers, as in `edl.steps.dependents`."""
    framework = FRAMEWORKS[job.spec.framework] if job.spec else None
    if job.spec and framework and framework.ranked:
        yield key.name
        if [bounds.role for bounds in job.spec.all_roles] == [framework.host_role]:
            yield addresses.hostname(job.name, 0)


def _taken(service: OwnedObjectRef) -> str:
    job = service.job
    whose = f"is that of the training job {job}" if job else "is not ours"
    once = f" once {job} is gone" if job else ""
    return (
        f'the Service "{service.name}" {whose}, and its name is the one that the '
        f"pods' addresses need: rename the job, or delete the Service{once}"
    )


def refusals(around: TrainingJobInputs) -> Iterator[str]:
    """Why the API server would refuse every pod of a template, or no node would ever fit one."""
    for job, priority, of in zip(around.jobs, around.priorities, around.classes, strict=True):
        if priority is None:
            default = job.priority_class == around.rules.default_priority
            namespace = job.key.namespace if default else ""
            yield namespace_policy.no_priority_class(job.priority_class, namespace)
        if job.role:
            yield from runtime_classes.refusals(job.role.template.shape, job.runtime, of)
            yield from resolution(job.role, job.key.namespace, around.devices).problems
            yield from _unclaimed(job)
        if around.rules != NO_RULES:
            texts = pod_admission.admit(job.template, around.rules, share(job)).refusals
            yield from (f"{job.role.name if job.role else job.name}: {text}" for text in texts)
    yield from volume_claims.refusals(around.missing_claims)


def _unclaimed(job: JobFacts) -> Iterator[str]:
    """The problem of a template whose claims the API server dropped: its pods would get no GPU."""
    gpu = job.spec.resources.gpu if job.spec else None
    if job.role is None or not (gpu and gpu.device_class):
        return
    shape = job.role.template.shape
    if not shape.claims and not any("/" in name for name, _ in shape.requests.items):
        yield (
            "the API server has dropped the ResourceClaims of its pods, as one does that serves no "
            f"resource.k8s.io: recreate it without {contract.GPU_CLASS}"
        )


def resolution(role: Role, namespace: str, devices: DeviceView | None) -> ResolvedShape:
    """The role's shape with claims resolved; its own missing template counts as created."""
    shape, made = role.template.shape, role.template.device_template
    if devices is not None and made is not None:
        devices = devices.with_template(namespace, made)
    return resolve(shape, devices, role.spec.max)


def _ended_before(around: TrainingJobInputs) -> Iterator[str]:
    """Jobs that ended in an earlier run: recreated Jobs would start without them."""
    roles = [(job, job.role) for job in around.jobs if job.role]
    if any(not (role.status.suspended or role.status.ending) for _, role in roles):
        return
    fresh = (job for job, role in roles if not (role.status.ending or job.started_at))
    latest = max((job.created_at for job in fresh), default=None)
    for job, role in roles:
        end = role.status.end_condition
        if latest and end and end.since < latest:
            yield (
                f"{job.name} has ended before others were recreated: delete it, and apply it "
                "again with them"
            )


def share(job: JobFacts) -> int:
    return job.role.template.shape.requests.get(SHARED_GPU) if job.role else 0


def grouped(role: Role) -> Role:
    """The role with its KubeShare group's size as minimum, below which KubeShare starts no pod."""
    group = _group(role)
    if group is None or not role.spec.min < group.least <= role.spec.max:
        return role
    return role.changed(min=group.least)


def _group(role: Role) -> gpu_sharing.SharedGpuGroup | None:
    return gpu_sharing.group(dict(role.template.labels)) if role.template.shape.share else None


def _too_few(around: TrainingJobInputs) -> Iterator[str]:
    """KubeShare groups that the job has too few pods for."""
    pods: defaultdict[gpu_sharing.SharedGpuGroup, int] = defaultdict(int)
    for job in around.jobs:
        if job.role and (group := _group(job.role)):
            pods[group] += max(grouped(job.role).spec.min, job.role.spec.min)
    for group, count in sorted(pods.items()):
        if count < group.least:
            _, headcount, threshold = contract.SHARED_GPU_GROUP
            yield (
                f"KubeShare starts its group {group.name} with {group.least} pods, and it has "
                f"{count}: raise {contract.MAX}, or lower {headcount} or {threshold}"
            )
