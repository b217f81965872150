"""Sizes that the spec, a manual size, remaining work items and ended ranks of a role allow."""

from edl.model import PodPhase, ResizePolicy, Role

RESIZABLE = (ResizePolicy.LIVE, ResizePolicy.ITEMS, ResizePolicy.RESTART)
"""Roles that a plan may resize: while they run, or by a restart of their training job."""


def manual_size(role: Role) -> int | None:
    """The manual size, clamped to min and max; None if there is none."""
    wanted = role.request.replicas
    return None if wanted is None else min(max(wanted, role.spec.min), role.spec.max)


def start_size(role: Role) -> int:
    """Replicas of this role that must fit before its gang starts."""
    wanted = manual_size(role)
    size = with_unended(role, role.spec.min if wanted is None else wanted)
    return max(with_work(role, size), 1) if role.status.remaining is not None else size


def start_pods(role: Role) -> int:
    """The pods that it gets at its start size."""
    return pods_at(role, start_size(role))


def most_replicas(role: Role) -> int:
    """The manual size, else the max."""
    wanted = manual_size(role)
    return role.spec.max if wanted is None else wanted


def with_work(role: Role, replicas: int) -> int:
    """`replicas`, but no more than work items remain."""
    remaining = role.status.remaining
    return replicas if remaining is None else min(replicas, remaining)


def with_unended(role: Role, replicas: int) -> int:
    """`replicas`, or as many more as leave the minimum of ranks that have not ended.

    With ended ranks alone the Job would be complete, and the others' work lost
    (docs/kubernetes.md 34). No more than those of its present size are needed.
    """
    largest = max(role.status.size, role.spec.min)
    # Fast path: most roles run at their min, or none of their ranks has ended.
    if replicas >= largest or not (ended := role.ended_ranks):
        return replicas
    left = [index for index in range(largest) if index not in ended][: role.spec.min]
    return max(replicas, left[-1] + 1 if left else largest)


def pods_at(role: Role, size: int) -> int:
    """How many pods the Job controller creates at this size: none for ranks that have ended."""
    return max(unended(role, size), 1) if size else 0


def unended(role: Role, size: int) -> int:
    """How many of its first `size` ranks have not ended."""
    ended = role.ended_ranks
    return sum(index not in ended for index in range(size)) if ended else size


def is_finishing(role: Role) -> bool:
    """Whether a rank has succeeded in a Job of which each rank has to: its training ends.

    Further ranks would have to succeed as well. Not so those of a service, or of a Job whose
    successPolicy names the ranks that decide. Pods that are deleted may exit with 0 on SIGTERM:
    these count once the Job controller has counted them.
    """
    spec, status = role.spec, role.status
    if not spec.indexed or spec.is_service or status.has_success_policy:
        return False
    return bool(status.finished_indexes - status.failed_indexes) or any(
        pod.phase is PodPhase.SUCCEEDED and not pod.terminating for pod in status.pods
    )
