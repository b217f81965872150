"""Builds training jobs as the webhook would complete them, for scenarios and traces."""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from edl.frameworks import FRAMEWORKS
from edl.frameworks.base import Framework, Mode
from edl.model import (
    JobKey,
    PodTemplate,
    ResizePolicy,
    Role,
    RoleSpec,
    RoleStatus,
    Shape,
    Topology,
    TrainingJob,
)
from edl.simulator.scenario import START

NAMESPACE: Final = "default"


class WorkloadRole(msgspec.Struct, frozen=True):
    """One role of a workload: `min` to `max` pods of one shape."""

    role: str
    min: int
    max: int
    shape: Shape


class Workload(msgspec.Struct, frozen=True):
    """What a training job runs: a framework, and one of its modes ("": its default)."""

    framework: str = "pytorch"
    mode: str = ""
    topology: Topology = Topology()


RoleContext: TypeAlias = tuple[Framework, Mode, Sequence[WorkloadRole]]


def queued(
    name: str,
    kind: Workload,
    all_roles: Sequence[WorkloadRole],
    *,
    priority: int = 0,
    items: int | None = None,
) -> TrainingJob:
    """A training job whose Jobs all exist and are suspended.

    `items`: the number of work items (framework `none`). `queued_at` is set on arrival. Raises
    ValueError for a job that the webhook would refuse.
    """
    framework, mode = _known(kind, all_roles)
    of = (framework, mode, all_roles)
    return TrainingJob(
        key=JobKey(NAMESPACE, name),
        framework=kind.framework,
        roles=tuple(
            _role(kind, of, role, name if len(all_roles) == 1 else f"{name}-{role.role}", items)
            for role in all_roles
        ),
        queued_at=START,
        priority=priority,
        mode=mode.name,
    )


def _role(kind: Workload, of: RoleContext, role: WorkloadRole, job: str, items: int | None) -> Role:
    """One suspended Job. `items` apply only if its pods have no ranks."""
    framework, mode, all_roles = of
    names = [other.role for other in all_roles]
    return Role(
        name=role.role,
        job=job,
        uid=job if len(all_roles) > 1 else f"{job}-{role.role}",
        version="1",
        spec=RoleSpec(
            min=role.min,
            max=role.max,
            resizing=_resizing(framework, mode, role),
            is_leader=role.role == framework.completion_role(names),
            is_service=framework.kinds[role.role].serves,
            indexed=framework.ranked,
            port=mode.port or framework.port,
            topology=kind.topology,
        ),
        status=RoleStatus(
            size=role.min, suspended=True, remaining=None if framework.ranked else items
        ),
        template=PodTemplate(
            shape=role.shape, gated=mode.needs_placement(names) or bool(kind.topology)
        ),
    )


def _resizing(framework: Framework, mode: Mode, role: WorkloadRole) -> ResizePolicy:
    elastic = framework.kinds[role.role].resizable and role.min < role.max
    return mode.resizing if elastic else ResizePolicy.FIXED


def _known(kind: Workload, all_roles: Sequence[WorkloadRole]) -> tuple[Framework, Mode]:
    framework = FRAMEWORKS.get(kind.framework)
    if framework is None:
        raise ValueError(f'framework: "{kind.framework}"; one of {", ".join(FRAMEWORKS)}')
    roles = [role.role for role in all_roles]
    for role in all_roles:
        _check(framework, role)
    if len(set(roles)) < len(roles) or not roles:
        raise ValueError(f"roles: {', '.join(roles) or 'none'}; each role once, at least one")
    mode = framework.mode(kind.mode, roles)
    if mode is None:
        modes = ", ".join(dict.fromkeys(mode.name for mode in framework.modes))
        raise ValueError(f'mode: "{kind.mode}" with {", ".join(roles)}; one of {modes}')
    absent = [role for role in mode.roles if role not in roles]
    if absent or not framework.completion_role(roles):
        needed = ", ".join(absent or framework.completion_roles)
        raise ValueError(f"roles: {', '.join(roles)}; {framework.name} needs {needed} too")
    return framework, mode


def _check(framework: Framework, role: WorkloadRole) -> None:
    kind = framework.kinds.get(role.role)
    if kind is None:
        names = ", ".join(framework.kinds)
        raise ValueError(f'role: "{role.role}"; {framework.name} knows {names}')
    if not 1 <= role.min <= role.max:
        raise ValueError(f"{role.role}: {role.min}..{role.max}; 1 ≤ min ≤ max")
    if role.min < role.max and not kind.resizable:
        raise ValueError(f"{role.role}: {role.min}..{role.max}; it is never resized: min = max")
    if kind.single and role.max > 1:
        raise ValueError(f"{role.role}: {role.max}; {framework.name} has exactly one")
