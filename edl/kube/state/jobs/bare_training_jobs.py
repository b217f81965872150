"""Training jobs of labelled bare pods; they are neither queued nor resized."""

from collections.abc import Iterable, Sequence
from typing import Final

from edl import frameworks
from edl.kube.decode.namespace_quotas import NO_RULES
from edl.kube.decode.object_facts import OwnedObjectRef, PodFacts
from edl.kube.state.jobs.training_job_inputs import ClusterScope
from edl.model import (
    JobKey,
    Owner,
    PodTemplate,
    ResizePolicy,
    Role,
    RoleSpec,
    RoleStatus,
    Shape,
    TrainingJob,
)
from edl.parsing import namespace_policy
from edl.quantities import Resources
from edl.spec import addresses
from edl.spec.job_spec import RoleBounds

_ANY: Final = Shape(Resources())
"""A placeholder: plans do not read the shapes of bare pods."""


def bare_training_job(
    key: JobKey,
    pods: Iterable[PodFacts],
    owned_objects: Iterable[OwnedObjectRef],
    scope: ClusterScope,
) -> TrainingJob:
    pods = sorted(pods, key=lambda pod: pod.name)
    specs = [pod.bare.spec for pod in pods if pod.bare]
    first = specs[0]
    forbidden = any(map(frameworks.execs, specs)) and key.namespace not in scope.kubexec
    denied = namespace_policy.no_kubexec(key.namespace) if forbidden else ""
    return TrainingJob(
        key=key,
        framework=first.framework,
        roles=tuple(_role(bounds, pods) for bounds in first.all_roles),
        queued_at=min(pod.pod.created_at for pod in pods if pod.pod),
        problem=scope.rules.get(key.namespace, NO_RULES).problem((), denied),
        mode=first.mode,
        existing_dependents={ref.target: ref.uid for ref in owned_objects if ref.job == key.name},
        pods=tuple(Owner("v1", "Pod", pod.name, pod.bare.uid) for pod in pods if pod.bare),
    )


def _role(bounds: RoleBounds, pods: Sequence[PodFacts]) -> Role:
    """One role, with the pods that users have created so far."""
    members = [pod for pod in pods if pod.bare and pod.bare.spec.role == bounds.role]
    bare = next((pod.bare for pod in members), None)
    spec = bare.spec if bare else None
    return Role(
        name=bounds.role,
        job=_host_prefix(pods, bounds.role),
        uid="",
        version="",
        spec=RoleSpec(
            min=bounds.min,
            max=bounds.max,
            resizing=ResizePolicy.FIXED,
            is_leader=bool(spec and frameworks.is_leader(spec)),
            is_service=bool(spec and frameworks.is_service(spec)),
            indexed=True,
            slots=spec.resources.slots if spec else 1,
            port=spec.port if spec else 0,
        ),
        status=RoleStatus(
            size=bounds.max, suspended=False, pods=tuple(pod.pod for pod in members if pod.pod)
        ),
        template=PodTemplate(shape=_ANY, account=bare.account if bare else ""),
    )


def _host_prefix(pods: Sequence[PodFacts], role: str) -> str:
    """The Job name from which hostnames are derived, as if a Job had created the pods."""
    return next(addresses.job_name(pod.bare.spec, role) for pod in pods if pod.bare)
