"""A size request of `kubectl edl scale`, and the role of a training job that it is about."""

from dataclasses import dataclass
from datetime import timedelta

import click

from edl.frameworks import FRAMEWORKS
from edl.kube.option_group import option, option_group
from edl.model import Pod, ResizePolicy, Role, TrainingJob
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.completion_candidates import role_names
from kubectl_edl.cli.context import Scope
from kubectl_edl.cli.param_types import Duration
from kubectl_edl.job_views.job_reasons import problem_text
from kubectl_edl.scale.worker_removal import named_pods


@option_group
class SizeRequest:
    """A size request: a manual size, or return to automatic scaling (`auto`), and new bounds.

    `remove` names workers that leave; without `size`, the remaining number becomes the manual size.
    `timeout` reverts a scale-up that takes longer. `scope` is that of suggested commands.
    """

    size: int | None = None
    auto: bool = option(help="Return to automatic scaling.")
    min: int | None = option(type=click.IntRange(min=1), help="Minimum replicas.")
    max: int | None = option(type=click.IntRange(min=1), help="Maximum replicas.")
    role: str = option(shell_complete=role_names, help="Role to resize, if several can be resized.")
    remove: tuple[str, ...] = option(metavar="WORKER[,…]", help="Workers to end; may be repeated.")
    timeout: timedelta | None = option(
        type=Duration(above_zero=True),
        help="Revert a scale-up that is not ready in this time; also limits --wait.",
    )
    scope: Scope = Scope()


@dataclass(frozen=True, slots=True)
class ResizeTarget:
    """A request that is resolved to one role: its size with a removal, and its bounds."""

    job: TrainingJob
    role: Role
    request: SizeRequest
    removed: tuple[Pod, ...]
    size: int | None
    """That of the request, or what a removal leaves."""
    low: int
    high: int

    @property
    def name(self) -> str:
        return f"{self.job.key.name}: {self.role.name}"

    @property
    def manual_size(self) -> int | None:
        """The manual size after the change; None for automatic scaling."""
        if self.request.auto:
            return None
        return self.role.request.replicas if self.size is None else self.size

    @property
    def fallback(self) -> int | None:
        pending = self.role.request.scaling
        return pending.fallback if pending else self.role.request.replicas

    @property
    def limited(self) -> bool:
        size = self.role.status.size
        return bool(self.request.timeout and self.size is not None and self.size > size)

    @property
    def shrinks(self) -> bool:
        status, manual = self.role.status, self.manual_size
        goal = min(status.size, self.high) if manual is None else manual
        return goal < status.size and not status.suspended

    @property
    def stays(self) -> bool:
        status = self.role.status
        if self.manual_size is not None or self.request.auto or status.suspended:
            return False
        return self.low <= status.size <= self.high <= self.role.spec.max


def resolved(job: TrainingJob, request: SizeRequest) -> ResizeTarget:
    """Raises Refused for roles and workers that are ambiguous, unknown or ended."""
    role = _chosen_role(job, request.role)
    if (ending := role.status.ending) is not None:
        name = f"{job.key.name}: {role.name}"
        raise Refused(f"{name} has ended ({ending.value}): nothing is left to resize")
    removed = named_pods(job, role, ",".join(request.remove)) if request.remove else ()
    size = request.size
    return ResizeTarget(
        job=job,
        role=role,
        request=request,
        removed=removed,
        size=_left(role, len(removed)) if removed and size is None else size,
        low=request.min or role.spec.min,
        high=request.max or role.spec.max,
    )


def _chosen_role(job: TrainingJob, named: str) -> Role:
    """The role to resize; `named` may be empty. Raises Refused if it is ambiguous or fixed."""
    roles = {role.name: role for role in _resizable(job)}
    names = ", ".join(roles)
    name = job.key.name
    if not roles:
        why = problem_text(job) or f"{job.framework}, roles {', '.join(job.role_names)}"
        raise Refused(f"{name}: it has no role that can be resized ({why})")
    if named and named not in roles:
        what = "is never resized" if named in job.role_names else "is not one of its roles"
        raise Refused(f"{name}: {named} {what}; --role is one of {names}")
    if len(roles) < len(_resizable(job)):  # a Job of each cannot be told from the other
        raise Refused(f"{name} is not resized: {problem_text(job)}")
    elastic = [role for role in roles.values() if role.spec.resizing is not ResizePolicy.FIXED]
    candidates = [roles[named]] if named else elastic or list(roles.values())
    if len(candidates) > 1:
        raise Refused(f"{name} has several roles that can be resized: add --role, one of {names}")
    return candidates[0]


def _resizable(job: TrainingJob) -> tuple[Role, ...]:
    """The roles that the framework allows to resize."""
    framework = FRAMEWORKS.get(job.framework)
    kinds = framework.kinds if framework else {}
    return tuple(
        role
        for role in job.roles
        if (role.name in kinds and kinds[role.name].resizable)
        or role.spec.resizing is not ResizePolicy.FIXED
    )


def active_pods(role: Role) -> int:
    return sum(pod.active for pod in role.status.pods)


def _left(role: Role, removed: int) -> int:
    """The size after a removal, from the smaller of the current and the manual size."""
    if role.queue_closed:
        return active_pods(role) - removed
    size, manual = role.status.size, role.request.replicas
    return min(size, size if manual is None else manual) - removed
