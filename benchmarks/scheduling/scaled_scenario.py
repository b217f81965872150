"""A simulated scenario as manifests; its times are divided by `SPEED`."""

from collections.abc import Iterator, Mapping
from typing import Final

from edl import contract
from edl.model import Node, Role, Shape, TrainingJob
from edl.quantities import CPU, MEMORY, Resources
from edl.simulator import Service, Training
from edl.spec.job_spec import RoleBounds
from edl.writes import Json
from sandbox import NodeGroup

SPEED: Final = 20.0
GPU: Final = "nvidia.com/gpu"
ENDS_AFTER: Final = "sandbox.edl.dev/complete-after"
_GRACE: Final = 5
_ALONE: Final = ("master",)
"""Roles for which the webhook writes the command."""
_HOST: Final = "kubernetes.io/hostname"


def group(node: Node, prefix: str) -> NodeGroup:
    """A group of one simulated node of this size, `PREFIX-000`."""
    room = dict(node.allocatable.items)
    labels = {key: text for key, text in (node.labels or {}).items() if key != _HOST and text}
    return NodeGroup(
        1, f"{room[CPU]}m", str(room[MEMORY]), room.get(GPU, 0), labels, name_prefix=prefix
    )


def jobs(training: Training) -> Iterator[Json]:
    """The Jobs of a training job as its user writes them; pods of the deciding role end."""
    job = training.job
    all_roles = ",".join(
        RoleBounds(role.name, role.spec.min, role.spec.max).entry for role in job.roles
    )
    base = next(role.spec.min for role in job.roles if role.name == training.counted)
    seconds = training.work.seconds / base / SPEED
    for role in job.roles:
        yield _job(job, role, all_roles, f"{seconds:.1f}s" if role.spec.is_leader else "")


def _job(job: TrainingJob, role: Role, all_roles: str, ends_after: str) -> Json:
    name = job.key.name
    labels = {contract.FRAMEWORK: job.framework}
    if len(job.roles) > 1:
        labels |= {contract.JOB: name, contract.ROLE: role.name}
    else:
        labels |= {contract.MIN: str(role.spec.min), contract.MAX: str(role.spec.max)}
    notes = {contract.ROLES: all_roles} if len(job.roles) > 1 else {}
    if job.mode:
        notes[contract.MODE] = job.mode
    pod: Json = {"restartPolicy": "Never", **_spec(role.template.shape, alone=role.name in _ALONE)}
    if job.priority:
        pod["priorityClassName"] = priority_class(job.priority)
    template: Json = {"metadata": {"labels": {"job": name}}, "spec": pod}
    if ends_after:
        template["metadata"]["annotations"] = {ENDS_AFTER: ends_after}
    return {
        "metadata": {"name": role.job, "labels": labels, "annotations": notes},
        "spec": {"parallelism": role.spec.min, "template": template},
    }


def _spec(shape: Shape, *, alone: bool = False) -> Json:
    """The spec of a pod of this shape; for one that is `alone` the webhook writes the command."""
    asked = _amounts(shape.requests)
    container: Json = {"name": "main", "image": "none", "resources": {"requests": asked}}
    if not alone:
        container["command"] = ["train"]
    if GPU in asked:
        container["resources"]["limits"] = {GPU: asked[GPU]}
    spec: Json = {"terminationGracePeriodSeconds": _GRACE, "containers": [container]}
    if shape.node_selector:
        spec["nodeSelector"] = dict(shape.node_selector)
    if shape.constraints and shape.constraints.anti_affinity:
        required = [
            {
                "topologyKey": term.key,
                "labelSelector": {"matchLabels": dict(shape.constraints.labels)},
            }
            for term in shape.constraints.anti_affinity
        ]
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": required}
        spec["affinity"] = {"podAntiAffinity": rule}
    return spec


def _amounts(requests: Resources) -> dict[str, str]:
    found = {name: str(amount) for name, amount in requests.items if name != "pods" and amount}
    return found | {CPU: f"{found[CPU]}m"}


def priority_class(value: int) -> str:
    return f"priority-{value}"


def deployment(service: Service) -> Json:
    """The Deployment of another tenant, with no pods yet."""
    labels = {"app": service.name}
    spec = _spec(service.shape)
    if service.priority:
        spec["priorityClassName"] = priority_class(service.priority)
    return {
        "metadata": {"name": service.name},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def steps(service: Service, least: float) -> Iterator[tuple[float, int]]:
    """(seconds, replicas) of each change of a service, at least `least` seconds apart."""
    last = -least
    *some, end = ((at / SPEED, pods) for at, pods in service.steps)
    for at, pods in some:
        if at - last >= least:
            last = at
            yield at, pods
    yield max(end[0], last), 0


def priorities() -> Mapping[str, int]:
    """The PriorityClasses of the scenarios, with their values."""
    return {priority_class(value): value for value in (10, 1000)}
