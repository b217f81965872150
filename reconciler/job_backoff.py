"""Training jobs that back off after failed writes, until these are tried again."""

from collections.abc import Mapping
from typing import Final

from edl.backoff import Backoff
from edl.model import JobKey

AFTER_CONFLICT: Final = Backoff(0.1, 2.0)
"""Long enough for the watch to deliver the write that caused the conflict."""
AFTER_FAILURE: Final = Backoff(1.0, 60.0)
LASTING: Final = 15.0
"""Seconds from the first failed write until one that fails again counts as lasting: other jobs no
longer wait for the capacity that it keeps. If the API server answers no writes at all, the
leadership is lost by then."""


class JobBackoff:
    """Back-off per job. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._until: dict[JobKey, float] = {}
        self._failures: dict[JobKey, int] = {}
        self._failing: dict[JobKey, float] = {}
        """Since when writes fail, conflicts aside."""
        self._uids: Mapping[JobKey, str] = {}

    def back_off(self, job: JobKey, pause: Backoff[float], now: float) -> None:
        self._failures[job] = self._failures.get(job, 0) + 1
        self._until[job] = now + pause.after(self._failures[job])

    def failed(self, job: JobKey, now: float) -> None:
        self._failing.setdefault(job, now)
        self.back_off(job, AFTER_FAILURE, now)

    def is_lasting(self, job: JobKey, now: float) -> bool:
        return now - self._failing.get(job, now) >= LASTING

    def keep(self, jobs: Mapping[JobKey, str]) -> None:
        """Forgets all but these jobs, and those that were created again, with another uid."""
        uids = self._uids
        for job in [job for job in self._failures if job not in jobs or jobs[job] != uids.get(job)]:
            self.forget(job)
        self._uids = jobs

    def forget(self, job: JobKey) -> None:
        self._failures.pop(job, None)
        self._failing.pop(job, None)
        self._until.pop(job, None)

    def is_backing_off(self, job: JobKey, now: float) -> bool:
        return self._until.get(job, now) > now

    def next(self, now: float, begun: float) -> float | None:
        """Seconds until the first job may be tried again that backed off when the round began.

        None if there is none. 0 if its back-off has ended since: the round did not try it.
        """
        ahead = [max(until - now, 0.0) for until in self._until.values() if until > begun]
        return min(ahead, default=None)
