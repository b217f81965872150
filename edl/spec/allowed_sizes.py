"""Sizes that the spec, a manual size and the remaining work items of a role allow."""

from edl.model import ResizePolicy, Role

RESIZABLE = (ResizePolicy.LIVE, ResizePolicy.ITEMS, ResizePolicy.RESTART)
"""Roles that a plan may resize: while they run, or by a restart of their training job."""


def manual_size(role: Role) -> int | None:
    """The manual size, clamped to min and max; None if there is none."""
    wanted = role.request.replicas
    return None if wanted is None else min(max(wanted, role.spec.min), role.spec.max)


def start_size(role: Role) -> int:
    """Replicas of this role that must fit before its gang starts."""
    wanted = manual_size(role)
    size = role.spec.min if wanted is None else wanted
    return max(with_work(role, size), 1) if role.status.remaining is not None else size


def most_replicas(role: Role) -> int:
    """The manual size, else the max."""
    wanted = manual_size(role)
    return role.spec.max if wanted is None else wanted


def with_work(role: Role, replicas: int) -> int:
    """`replicas`, but no more than work items remain."""
    remaining = role.status.remaining
    return replicas if remaining is None else min(replicas, remaining)
