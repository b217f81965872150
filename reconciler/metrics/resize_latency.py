"""Measures how long a resize takes: from the patch until all pods of the new size are ready."""

from collections.abc import Iterable, Iterator

import msgspec

from edl.frameworks import FRAMEWORKS
from edl.job_state.phases import ending
from edl.model import JobKey, PodPhase, Role, TrainingJob
from edl.spec.allowed_sizes import with_work


class _Change(msgspec.Struct, frozen=True):
    decision: str
    role: str
    since: float


class ResizeLatency:
    """The resizes in progress, one per training job. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._changes: dict[JobKey, _Change] = {}

    def begin(self, job: JobKey, decision: str, role: str, now: float) -> None:
        """Records that a resize was written; it replaces one in progress.

        `role` is empty for all roles.
        """
        self._changes[job] = _Change(decision, role, now)

    def forget(self) -> None:
        """Drops all resizes: another process leads now, and measures its own."""
        self._changes.clear()

    def ended(self, jobs: Iterable[TrainingJob], now: float) -> Iterator[tuple[str, float]]:
        """(decision, seconds) of completed resizes.

        Jobs that ended or are suspended are dropped.
        """
        if not self._changes:
            return
        by_key = {job.key: job for job in jobs if job.key in self._changes}
        for key, change in list(self._changes.items()):
            job = by_key.get(key)
            if job is None or ending(job) or job.suspended:
                del self._changes[key]
            elif all(_works(job, role) for role in job.live if change.role in ("", role.name)):
                del self._changes[key]
                yield change.decision, now - change.since


def _works(job: TrainingJob, role: Role) -> bool:
    """All pods of the size are ready, none is terminating, and launchers list them."""
    if any(pod.terminating for pod in role.status.pods):
        return False
    there = [pod for pod in role.replicas if pod.ready or pod.phase is PodPhase.SUCCEEDED]
    too_many = role.spec.indexed and len(role.status.pods) > role.status.size
    if len(there) < with_work(role, role.status.size) or too_many:
        return False
    return FRAMEWORKS[job.framework].publishes != role.name or _published(job, role)


def _published(job: TrainingJob, role: Role) -> bool:
    launchers = (pod for other in job.live if other.spec.is_leader for pod in other.status.pods)
    return all(
        len((pod.published.hosts or "").split()) == role.status.size
        for pod in launchers
        if not pod.ended
    )
