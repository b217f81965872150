"""From the Jobs that name the same training job, and what surrounds them, to one `TrainingJob`."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from edl import contract
from edl.annotations import start_refusals
from edl.contract import Provision
from edl.frameworks import FRAMEWORKS
from edl.kube.cluster import ObjectKey
from edl.kube.decode import gpu_sharing, runtime_classes
from edl.kube.decode.job_facts import JobFacts
from edl.kube.decode.namespace_quotas import NO_RULES, NamespaceConstraints
from edl.kube.decode.object_facts import OwnedObjectRef, PodFacts
from edl.kube.decode.runtime_classes import RuntimeClassFacts
from edl.kube.dra.claim_resolution import DeviceView, ResolvedShape, concerned, resolve
from edl.kube.state import pod_admission, replacements
from edl.model import JobKey, ObjectRef, Pod, Provisioning, Role, Shape, TrainingJob
from edl.parsing import namespace_policy
from edl.quantities import SHARED_GPU
from edl.spec.job_spec import JobSpec


class TrainingJobInputs(msgspec.Struct, frozen=True):
    """All that one training job is made from.

    `jobs` are sorted by name; `pods`, `priorities` and `classes` go with them, one each.
    """

    jobs: Sequence[JobFacts]
    pods: Sequence[Sequence[PodFacts]]
    tags: Sequence[OwnedObjectRef]
    """The objects that carry its name or its label."""
    kubexec: bool
    priorities: Sequence[int | None]
    """None where the PriorityClass does not exist."""
    classes: Sequence[RuntimeClassFacts | None]
    """RuntimeClasses; None where it does not exist."""
    rules: NamespaceConstraints = NO_RULES
    """Settings of its namespace."""
    devices: DeviceView | None = None
    """None where devices may not be read."""


def gather(key: JobKey, around: TrainingJobInputs) -> TrainingJob:
    specs = [job.spec for job in around.jobs if job.spec]
    first = min(around.jobs, key=lambda job: (job.created_at, job.name))
    cast = [seat.role for seat in specs[0].cast] if specs else []
    roles = _roles(around, cast)
    found = TrainingJob(
        key=key,
        framework=first.framework,
        roles=roles,
        queued_at=first.created_at,
        missing=tuple(name for name in cast if name not in {role.name for role in roles}),
        priority=max(_priorities(around), default=0),
        paused=any(job.paused for job in around.jobs),
        started_at=max((job.started_at for job in around.jobs if job.started_at), default=None),
        problem="; ".join(dict.fromkeys(_problems(key, around, specs))),
        provisioning=_provisioning(around, specs),
        mode=specs[0].mode if specs else "",
        clean_up=_clean_up(around),
        surroundings={tag.target: tag.uid for tag in around.tags if tag.job == key.name}
        | dict.fromkeys(_templates(key, roles, around.devices), ""),
    )
    return replacements.told(start_refusals.with_refusal(found))


def _provisioning(around: TrainingJobInputs, specs: Sequence[JobSpec]) -> Provisioning:
    """What any of its Jobs wishes, and has asked for; a failure is over once it is started."""
    wishes = (
        spec.scheduling.provision
        for spec in specs
        if spec.scheduling.provision is not Provision.MINIMUM
    )
    pods = (pod.provisional for pods in around.pods for pod in pods if pod.provisional)
    failures = (job.unprovisioned for job in around.jobs if job.unprovisioned and _waits(job))
    return Provisioning(
        wish=next(wishes, Provision.MINIMUM),
        pods=tuple(sorted(pods, key=attrgetter("name"))),
        failure=max(failures, key=attrgetter("attempts"), default=None),
    )


def _templates(
    key: JobKey, roles: Sequence[Role], devices: DeviceView | None
) -> Iterator[ObjectRef]:
    """The ResourceClaimTemplates of its roles that were made."""
    known = devices.templates if devices else {}
    for role in roles:
        found = role.template.device_template
        if found and ObjectKey(key.namespace, found.name) in known:
            yield ObjectRef("ResourceClaimTemplate", key.namespace, found.name)


def _roles(around: TrainingJobInputs, cast: Sequence[str]) -> tuple[Role, ...]:
    roles = [
        _ruled(job, _staffed(job, job.role, pods, of), around.rules, of)
        for job, pods, of in zip(around.jobs, around.pods, around.classes, strict=True)
        if job.role and job.role.name in cast
    ]
    namespace = around.jobs[0].key.namespace
    roles = [_resolved(_grouped(role), namespace, around.devices) for role in roles]
    return tuple(sorted(roles, key=lambda role: (cast.index(role.name), role.job)))


def _staffed(
    job: JobFacts, role: Role, pods: Sequence[PodFacts], of: RuntimeClassFacts | None
) -> Role:
    """With its pods, and the shape of those to come."""
    role = role.changed(shape=runtime_classes.admitted(role.template.shape, job.runtime, of))
    return role.changed(pods=_pods(pods), shape=_shape(role, pods))


def _resolved(role: Role, namespace: str, devices: DeviceView | None) -> Role:
    """With the devices that its pods' claims ask for."""
    if not concerned(role.template.shape):
        return role
    found = _resolution(role, namespace, devices)
    return role.changed(shape=found.shape, caveats=found.caveats)


def _resolution(role: Role, namespace: str, devices: DeviceView | None) -> ResolvedShape:
    """A template that the reconciler has yet to make counts as made."""
    shape, made = role.template.shape, role.template.device_template
    if devices is not None and made is not None:
        devices = devices.with_template(namespace, made)
    return resolve(shape, devices, role.spec.max)


def _unclaimed(job: JobFacts) -> Iterator[str]:
    """Where the API server dropped the claims of a pod template, its pods would have no GPU."""
    gpu = job.spec.resources.gpu if job.spec else None
    if job.role is None or not (gpu and gpu.device_class):
        return
    shape = job.role.template.shape
    if not shape.claims and not any("/" in name for name, _ in shape.requests.items):
        yield (
            "the API server has dropped the ResourceClaims of its pods, as one does that serves no "
            f"resource.k8s.io: recreate it without {contract.GPU_CLASS}"
        )


def _grouped(role: Role) -> Role:
    """KubeShare waits until a group has the pods that it asks for: this number is its minimum."""
    group = gpu_sharing.group(dict(role.template.labels)) if role.template.shape.share else None
    if group is None or not role.spec.min < group.least <= role.spec.max:
        return role
    return role.changed(min=group.least)


def _too_few(around: TrainingJobInputs) -> Iterator[str]:
    """Groups of KubeShare that would never be whole."""
    pods: defaultdict[gpu_sharing.SharedGpuGroup, int] = defaultdict(int)
    for job in around.jobs:
        group = (
            gpu_sharing.group(dict(job.role.template.labels))
            if job.role and job.role.template.shape.share
            else None
        )
        if job.role and group:
            pods[group] += max(_grouped(job.role).spec.min, job.role.spec.min)
    for group, count in sorted(pods.items()):
        if count < group.least:
            _, headcount, threshold = contract.SHARED_GPU_GROUP
            yield (
                f"KubeShare starts its group {group.name} with {group.least} pods, and it has "
                f"{count}: raise {contract.MAX}, or lower {headcount} or {threshold}"
            )


def _ruled(
    job: JobFacts, role: Role, rules: NamespaceConstraints, of: RuntimeClassFacts | None
) -> Role:
    """With what admission adds to its pods before there are any, and what they count in quotas."""
    if rules == NO_RULES:
        return role
    share = role.template.shape.requests.get(SHARED_GPU)
    overhead = of.pod_fixed if of else ()
    admitted = pod_admission.admit(job.template, rules, share, overhead)
    shape = role.template.shape
    if not role.status.pods and admitted.requests != shape.requests:
        shape = replace(shape, requests=admitted.requests)
    return role.changed(shape=shape, charges=admitted.charges)


def _shape(role: Role, pods: Sequence[PodFacts]) -> Shape:
    """Pods ask for more than their template where a LimitRange or a RuntimeClass adds to it."""
    ages = [(facts.pod.created_at, facts.name, facts.shape) for facts in pods if facts.pod]
    if not ages:
        return role.template.shape
    shape, requests = role.template.shape, max(ages, key=lambda age: age[:2])[2].requests
    return shape if requests == shape.requests else replace(shape, requests=requests)


def _pods(pods: Sequence[PodFacts]) -> tuple[Pod, ...]:
    found = [facts.pod for facts in pods if facts.pod]
    return tuple(sorted(found, key=lambda pod: (pod.index, pod.created_at, pod.name)))


def _priorities(around: TrainingJobInputs) -> Iterator[int]:
    """Pods whose PriorityClass was deleted keep their own priority."""
    for pods, priority in zip(around.pods, around.priorities, strict=True):
        yield from [pod.priority for pod in pods] if priority is None else [priority]


def _clean_up(around: TrainingJobInputs) -> contract.CleanUp:
    """As the deciding role says."""
    chosen = [
        job.spec.lifecycle.clean_up
        for job in around.jobs
        if job.spec and job.role and job.role.spec.decides
    ]
    return chosen[0] if chosen else contract.CleanUp.RUNNING


def _problems(key: JobKey, around: TrainingJobInputs, specs: Sequence[JobSpec]) -> Iterator[str]:
    yield from (job.problem for job in around.jobs if job.problem)
    yield from _disagreements(around, specs)
    # What only a start needs may disappear later: running jobs still shrink, pause and end.
    if any(_waits(job) for job in around.jobs):
        yield from _obstacles(key, around, specs)


def _waits(job: JobFacts) -> bool:
    return job.role is None or (job.role.status.suspended and job.role.status.ending is None)


def _obstacles(key: JobKey, around: TrainingJobInputs, specs: Sequence[JobSpec]) -> Iterator[str]:
    """What is missing or in the way around the Jobs, so that they cannot start."""
    yield from _refused(around)
    yield from _too_few(around)
    yield from _ended_before(around)
    if not any(job.started_at for job in around.jobs):  # jobs that have started may continue
        yield from _never_meet(specs)
    if any(job.execs for job in around.jobs) and not around.kubexec:
        yield namespace_policy.no_kubexec(key.namespace)
    if any(FRAMEWORKS[spec.framework].ranked for spec in specs):
        for tag in around.tags:
            if tag.kind == "Service" and tag.name == key.name and tag.job != key.name:
                yield (
                    f'the Service "{tag.name}" is not ours, and its name is the one that the '
                    "pods' addresses need: rename the job, or delete the Service"
                )


def _refused(around: TrainingJobInputs) -> Iterator[str]:
    """Why the API server would refuse every pod of a template, or no node ever take one."""
    for job, priority, of in zip(around.jobs, around.priorities, around.classes, strict=True):
        if priority is None:
            name = job.priority_class
            create = f"kubectl create priorityclass {name} --value=VALUE"
            yield f'there is no PriorityClass "{name}": create it ({create}), or name another'
        if job.role:
            yield from runtime_classes.refusals(job.role.template.shape, job.runtime, of)
            yield from _resolution(job.role, job.key.namespace, around.devices).problems
            yield from _unclaimed(job)
        if around.rules != NO_RULES:
            refusals = pod_admission.admit(job.template, around.rules, _share(job)).refusals
            yield from (f"{job.role.name if job.role else job.name}: {one}" for one in refusals)


def _never_meet(specs: Sequence[JobSpec]) -> Iterator[str]:
    """They would wait for each other at different places."""
    if len({spec.mode for spec in specs}) > 1:
        yield f"its Jobs disagree on {contract.MODE}: recreate them with the same"
    if len({spec.port for spec in specs}) > 1:
        yield f"its Jobs disagree on {contract.PORT}: recreate them with the same"


def _ended_before(around: TrainingJobInputs) -> Iterator[str]:
    """Jobs of an earlier run: those that were created anew would start without them."""
    roles = [(job, job.role) for job in around.jobs if job.role]
    if any(not (role.status.suspended or role.status.ending) for _, role in roles):
        return
    fresh = (job for job, role in roles if not (role.status.ending or job.started_at))
    latest = max((job.created_at for job in fresh), default=None)
    for job, role in roles:
        if latest and role.status.ended_at and role.status.ended_at < latest:
            yield (
                f"{job.name} has ended before others were recreated: delete it, and apply it "
                "again with them"
            )


def _share(job: JobFacts) -> int:
    return job.role.template.shape.requests.get(SHARED_GPU) if job.role else 0


def _disagreements(around: TrainingJobInputs, specs: Sequence[JobSpec]) -> Iterator[str]:
    if len({spec.framework for spec in specs}) > 1:
        yield f"its Jobs disagree on {contract.FRAMEWORK}: write the same on each"
    if len({spec.cast for spec in specs}) > 1:
        yield f"its Jobs disagree on {contract.ROLES}: write the same cast on each"
        return
    if len({spec.scheduling.topology for spec in specs if spec.scheduling.topology}) > 1:
        either = f"{contract.REQUIRED_TOPOLOGY} or {contract.PREFERRED_TOPOLOGY}"
        yield f"its Jobs disagree on {either}: write the same on each that has one"
    names = [spec.role for spec in specs]
    for name in sorted({name for name in names if names.count(name) > 1}):
        jobs = [job.name for job in around.jobs if job.spec and job.spec.role == name]
        yield f"several Jobs are its {name}: {', '.join(jobs)}; delete all but one"
