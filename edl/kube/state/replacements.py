"""Pods that came in the place of lost ones, where no failure is counted that would tell of them."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec.structs import replace

from edl.frameworks import restarts_together
from edl.model import Code, Pod, Role, TrainingJob

_SETTLED: Final = timedelta(seconds=30)
"""When the others have been at work for so long a start is over, however late pods were made."""
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


def told(job: TrainingJob) -> TrainingJob:
    """The same with `restarted_at` of such pods; mostly itself.

    It matters where the others cannot go on without the one that was lost: to them, a pod in
    another's place is as one whose container began again.
    """
    if not (job.started_at and any(map(_is_uncounted, job.roles)) and restarts_together(job)):
        return job
    made = {id(pod): pod.created_at for pod in _late(job)}
    if not made:
        return job
    return replace(job, roles=tuple(_marked(role, made) for role in job.roles))


def _is_uncounted(role: Role) -> bool:
    """Whether a pod of it may be lost without being counted as failed."""
    return role.status.ignores or (
        role.record.last is not None and role.record.last.code is Code.PODS_REMOVED
    )


def _marked(role: Role, made: dict[int, datetime]) -> Role:
    pods = tuple(
        replace(pod, restarted_at=pod.restarted_at or made[id(pod)]) if id(pod) in made else pod
        for pod in role.status.pods
    )
    return role.changed(pods=pods)


def _late(job: TrainingJob) -> Iterator[Pod]:
    """Pods created when all older ones had been running for a while."""
    mine = [
        (pod, _is_uncounted(role)) for role in job.live for pod in role.status.pods if _lives(pod)
    ]
    pods = [pod for pod, _ in mine]
    for pod, uncounted in mine:
        if uncounted and _all_worked(pods, pod.created_at):
            yield pod


def _all_worked(pods: Sequence[Pod], moment: datetime) -> bool:
    """Whether there were any before this moment, and all of them had long been ready."""
    before = [pod.ready_since or _NEVER for pod in pods if pod.created_at < moment]
    return bool(before) and max(before) < moment - _SETTLED


def _lives(pod: Pod) -> bool:
    return not (pod.ended or pod.terminating)
