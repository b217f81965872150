"""Builds one `TrainingJob` from all Jobs that name it, their pods and related objects."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import Final, TypeAlias

from msgspec.structs import replace

from edl import contract
from edl.annotations import write_refusals
from edl.contract import Provision
from edl.kube.cluster import ObjectKey
from edl.kube.decode import runtime_classes
from edl.kube.decode.job_facts import JobFacts
from edl.kube.decode.namespace_quotas import NO_RULES, NamespaceConstraints
from edl.kube.decode.object_facts import OwnedObjectRef, PodFacts, PriorityClassFacts
from edl.kube.decode.runtime_classes import RuntimeClassFacts
from edl.kube.dra.claim_resolution import DeviceView, concerned
from edl.kube.state.jobs import pod_admission
from edl.kube.state.jobs.injected_containers import injected_requests
from edl.kube.state.jobs.training_job_inputs import (
    TrainingJobInputs,
    grouped,
    problem,
    resolution,
)
from edl.model import JobKey, ObjectRef, Pod, ProvisionalPod, Provisioning, Role, TrainingJob
from edl.quantities import SHARED_GPU, Resources
from edl.spec.job_spec import JobSpec

TemplateInput: TypeAlias = tuple[str, ObjectKey]
"""A PersistentVolumeClaim, or a ResourceClaim or its template."""
ANY_VOLUME: Final = ("PersistentVolumeClaim", ObjectKey("", ""))
ANY_DEVICE: Final = ("ResourceClaim", ObjectKey("", ""))


def template_inputs(job: JobFacts) -> tuple[TemplateInput, ...]:
    """The claims that a Job's pod template names, and whether it depends on any."""
    inputs: set[TemplateInput] = {("PersistentVolumeClaim", claim) for claim in job.claims}
    if inputs:
        inputs.add(ANY_VOLUME)
    if job.role and concerned(job.role.template.shape):
        claims = job.role.template.shape.claims
        inputs |= {("ResourceClaim", ObjectKey(ref.namespace, ref.name)) for ref in claims}
        inputs.add(ANY_DEVICE)
    return tuple(inputs)


def jobs_of(owned: OwnedObjectRef) -> Iterator[JobKey]:
    """The training jobs to which an object belongs, or whose object names it may occupy."""
    first = owned.name.removesuffix("-0")  # its Service has the host name of pod 0
    for name in {owned.job, owned.name, first if owned.kind == "Service" else ""} - {""}:
        yield JobKey(owned.namespace, name)


def staying(jobs: Sequence[JobFacts]) -> list[JobFacts]:
    """The Jobs without those that are being deleted.

    An ended Job under deletion (a short TTL) is kept while others run, because it tells how the
    training job ended; not while others are queued, since these were recreated.
    """
    alive = [job for job in jobs if not job.leaving]
    if any(job.role is None or job.role.status.suspended for job in alive):
        return alive
    return [
        job for job in jobs if not job.leaving or (alive and job.role and job.role.status.ending)
    ]


def deleted(jobs: Sequence[JobFacts]) -> list[JobFacts]:
    """The Jobs if all of them are being deleted, which finalizers may delay for any time."""
    return [*jobs] if all(job.leaving for job in jobs) else []


def gather(key: JobKey, around: TrainingJobInputs) -> TrainingJob:
    specs = [job.spec for job in around.jobs if job.spec]
    first = min(around.jobs, key=lambda job: (job.created_at, job.name))
    all_roles = specs[0].role_names if specs else ()
    roles = _roles(around, all_roles)
    job = TrainingJob(
        key=key,
        framework=first.framework,
        roles=roles,
        queued_at=first.created_at,
        missing=tuple(name for name in all_roles if name not in {role.name for role in roles}),
        priority=max(_priorities(around), default=0),
        paused=any(job.paused for job in around.jobs if not job.has_ended),
        started_at=max((job.started_at for job in around.jobs if job.started_at), default=None),
        problem=problem(key, around, specs),
        provisioning=_provisioning(around, specs),
        mode=specs[0].mode if specs else "",
        existing_dependents={
            ref.target: ref.uid for ref in around.owned_objects if ref.job == key.name
        }
        | dict.fromkeys(_templates(key, roles, around.devices), ""),
        conflicting=around.conflicting,
    )
    return write_refusals.with_refusals(job)


def _provisioning(around: TrainingJobInputs, specs: Sequence[JobSpec]) -> Provisioning:
    """Its Jobs' provisioning settings and requests; a failure counts until the job starts."""
    settings = (
        spec.scheduling.provision
        for spec in specs
        if spec.scheduling.provision is not Provision.MINIMUM
    )
    pods = (
        _charged(pod.provisional, pod.admitted, around.rules)
        for pods in around.pods
        for pod in pods
        if pod.provisional
    )
    requests = sorted(
        (facts.request for facts in around.requests if facts.request),
        key=attrgetter("created_at", "name"),
    )
    failures = (job.unprovisioned for job in around.jobs if job.unprovisioned and job.awaits_start)
    return Provisioning(
        provision=next(settings, Provision.MINIMUM),
        pods=tuple(sorted(pods, key=attrgetter("name"))),
        requests=tuple(requests),
        failure=max(failures, key=attrgetter("attempts"), default=None),
        message=requests[-1].message if requests else "",
    )


def _charged(pod: ProvisionalPod, admitted: bytes, rules: NamespaceConstraints) -> ProvisionalPod:
    """The pod with its quota charges; quota scopes may count it unlike the pods of its role."""
    if not rules.quotas:
        return pod
    charges = pod_admission.admit(admitted, rules).charges
    return replace(pod, charges=tuple(one for one in charges if one.source != contract.GPU_BUDGET))


def _templates(
    key: JobKey, roles: Sequence[Role], devices: DeviceView | None
) -> Iterator[ObjectRef]:
    """The existing ResourceClaimTemplates of its roles."""
    templates = devices.templates if devices else {}
    for role in roles:
        template = role.template.device_template
        if template and ObjectKey(key.namespace, template.name) in templates:
            yield ObjectRef("ResourceClaimTemplate", key.namespace, template.name)


def _roles(around: TrainingJobInputs, all_roles: Sequence[str]) -> tuple[Role, ...]:
    roles = [
        _ruled(job, _staffed(job, job.role, pods, of, priority), pods, around.rules, of)
        for job, pods, of, priority in zip(
            around.jobs, around.pods, around.classes, around.priorities, strict=True
        )
        if job.role and job.role.name in all_roles
    ]
    namespace = around.jobs[0].key.namespace
    roles = [_resolved(grouped(role), namespace, around.devices) for role in roles]
    roles = sorted(roles, key=lambda role: (all_roles.index(role.name), role.job))
    return (
        _succeeding(roles, around.previous_pods)
        if any(job.awaits_start for job in around.jobs)
        else (*roles,)
    )


def _succeeding(roles: Sequence[Role], previous: Sequence[PodFacts]) -> tuple[Role, ...]:
    """The roles with the pods of their deleted Jobs; the first one has those of no other role."""
    pods: defaultdict[str, list[PodFacts]] = defaultdict(list)
    names = {role.name for role in roles}
    for pod in previous if roles else ():
        name = dict(pod.labels).get(contract.ROLE, "")
        pods[name if name in names else roles[0].name].append(pod)
    return tuple(
        replace(role, previous_pods=_pods(pods.pop(role.name))) if role.name in pods else role
        for role in roles
    )


def _staffed(
    job: JobFacts,
    role: Role,
    pods: Sequence[PodFacts],
    of: RuntimeClassFacts | None,
    priority: PriorityClassFacts | None,
) -> Role:
    """The role with its pods, and with the preemption policy and RuntimeClass of future ones."""
    shape = runtime_classes.admitted(role.template.shape, job.runtime, of)
    sources = [priority] if priority else pods
    preempts = all(source.preempts for source in sources)
    missing = "" if priority else job.priority_class
    return role.changed(pods=_pods(pods), shape=shape, preempts=preempts, missing_class=missing)


def _resolved(role: Role, namespace: str, devices: DeviceView | None) -> Role:
    """The role with its pods' claims resolved to devices."""
    if not concerned(role.template.shape):
        return role
    resolved = resolution(role, namespace, devices)
    return role.changed(shape=resolved.shape, caveats=resolved.caveats)


def _ruled(
    job: JobFacts,
    role: Role,
    pods: Sequence[PodFacts],
    rules: NamespaceConstraints,
    of: RuntimeClassFacts | None,
) -> Role:
    """The role with its quota charges, and with the requests that admission gives future pods."""
    shape, added = role.template.shape, role.template.added
    share, overhead = shape.requests.get(SHARED_GPU), of.pod_fixed if of else ()
    admit = partial(pod_admission.admit, job.template, rules, share, overhead)
    expected = shape.requests if rules == NO_RULES else admit().requests
    if _shows_requests(role):
        requests = _shown_requests(expected, pods)
        added = replace(added, amounts=injected_requests(job.template, pods))
    else:
        requests = expected + added.amounts
    shape = shape if requests == shape.requests else replace(shape, requests=requests)
    if rules == NO_RULES:
        unchanged = shape is role.template.shape and added == role.template.added
        return role if unchanged else role.changed(shape=shape, added=added)
    admitted = admit(added.amounts)
    return role.changed(
        shape=shape,
        added=added,
        charges=admitted.charges,
        limits=admitted.limits,
        pod_refusals=admitted.refusals,
    )


def _shows_requests(role: Role) -> bool:
    """Whether a pod was created from the template as it is, and under the rules that hold now.

    While a Job is suspended its containers' resources may change (docs/kubernetes.md 4), and pods
    of earlier runs that have ended remain.
    """
    return not role.status.suspended and any(pod.active for pod in role.status.pods)


def _shown_requests(expected: Resources, pods: Sequence[PodFacts]) -> Resources:
    """The requests of the newest active pod, to which a webhook may have added.

    Those expected if the pod before has others and some pod has those that were expected: the
    newest one has been resized in place, and future pods will not be.
    """
    ages = [
        (facts.pod.created_at, facts.name, facts.shape.requests)
        for facts in pods
        if facts.pod and facts.pod.active
    ]
    requests = [age[2] for age in sorted(ages, key=itemgetter(0, 1))]
    if not requests or (expected in requests and requests[-1] not in requests[-2:-1]):
        return expected
    return requests[-1]


def _pods(pods: Sequence[PodFacts]) -> tuple[Pod, ...]:
    known_pods = [facts.pod for facts in pods if facts.pod]
    return tuple(sorted(known_pods, key=lambda pod: (pod.index, pod.created_at, pod.name)))


def _priorities(around: TrainingJobInputs) -> Iterator[int]:
    """Priorities of the Jobs; those of existing pods if the PriorityClass was deleted."""
    for pods, priority in zip(around.pods, around.priorities, strict=True):
        yield from [pod.priority for pod in pods] if priority is None else [priority.value]
