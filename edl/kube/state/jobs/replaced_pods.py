"""Detects replacement pods whose predecessors' failures are not counted.

That is so for podFailurePolicy `Ignore` and for pods removed by name.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec.structs import replace

from edl.frameworks import restarts_together
from edl.model import Code, Pod, Role, TrainingJob

_SETTLED: Final = timedelta(seconds=30)
"""Once all older pods have been ready for this long, a start is over: a new pod replaces one."""
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


def with_replacements(job: TrainingJob) -> TrainingJob:
    """The job with `restarted_at` set on replacement pods; usually the same object.

    Only for jobs that restart as a whole: to the other pods, a replacement is equivalent to a
    container that restarted alone.
    """
    if not (job.started_at and any(map(_is_uncounted, job.roles)) and restarts_together(job)):
        return job
    made = {id(pod): pod.created_at for pod in _late(job)}
    if not made:
        return job
    return replace(job, roles=tuple(_marked(role, made) for role in job.roles))


def _is_uncounted(role: Role) -> bool:
    """Whether the Job may have lost a pod of this role without counting a failure."""
    return role.status.ignores or (
        role.record.last is not None and role.record.last.code is Code.PODS_REMOVED
    )


def _marked(role: Role, made: dict[int, datetime]) -> Role:
    pods = tuple(
        _restarted(pod, made[id(pod)]) if id(pod) in made else pod for pod in role.status.pods
    )
    return role.changed(pods=pods)


def _restarted(pod: Pod, time: datetime) -> Pod:
    return replace(pod, containers=replace(pod.containers, restarted_at=pod.restarted_at or time))


def _late(job: TrainingJob) -> Iterator[Pod]:
    """Uncounted roles' pods that were created after all older pods had been ready for a while."""
    mine = [
        (pod, _is_uncounted(role)) for role in job.live for pod in role.status.pods if pod.active
    ]
    pods = [pod for pod, _ in mine]
    for pod, uncounted in mine:
        if uncounted and _all_worked(pods, pod.created_at):
            yield pod


def _all_worked(pods: Sequence[Pod], moment: datetime) -> bool:
    """Whether older pods exist, and all had been ready for `_SETTLED` at this time."""
    before = [pod.ready_since or _NEVER for pod in pods if pod.created_at < moment]
    return bool(before) and max(before) < moment - _SETTLED
