"""Training jobs whose writes failed, and when to try them again."""

from collections.abc import Collection
from typing import Final

from edl.backoff import Backoff
from edl.model import JobKey

AFTER_CONFLICT: Final = Backoff(0.1, 2.0)
"""Long enough for the watch to deliver the write that caused the conflict."""
AFTER_FAILURE: Final = Backoff(1.0, 60.0)


class JobBackoff:
    """Back-off per job. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._until: dict[JobKey, float] = {}
        self._failures: dict[JobKey, int] = {}

    def postpone(self, job: JobKey, pause: Backoff[float], now: float) -> None:
        self._failures[job] = self._failures.get(job, 0) + 1
        self._until[job] = now + pause.after(self._failures[job])

    def keep(self, jobs: Collection[JobKey]) -> None:
        """Forgets all other jobs, which no longer exist."""
        for job in [job for job in self._failures if job not in jobs]:
            self.forget(job)

    def forget(self, job: JobKey) -> None:
        self._failures.pop(job, None)
        self._until.pop(job, None)

    def waits(self, job: JobKey, now: float) -> bool:
        return self._until.get(job, now) > now

    def next(self, now: float) -> float | None:
        """Seconds until the first job may be tried again; None if no job is postponed."""
        ahead = [until - now for until in self._until.values() if until > now]
        return min(ahead, default=None)
