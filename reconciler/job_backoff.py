"""Training jobs that back off after failed writes, until these are tried again."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Final, TypeAlias

from edl.backoff import Backoff
from edl.model import JobKey
from edl.writes import Create, CreateKeys, Step

AFTER_CONFLICT: Final = Backoff(0.1, 2.0)
"""Long enough for the watch to deliver the write that caused the conflict."""
AFTER_FAILURE: Final = Backoff(1.0, 60.0)
LASTING: Final = 15.0
"""Seconds from the first failed write until one that fails again counts as lasting: other jobs no
longer wait for the capacity that it keeps. If the API server answers no writes at all, the
leadership is lost by then."""


_Part: TypeAlias = tuple[JobKey, str]
"""A training job, and what a step writes beside its Jobs; empty for the job itself."""


class JobBackoff:
    """Back-off per job, and per part beside its Jobs. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._until: dict[_Part, float] = {}
        self._failures = Counter[_Part]()
        self._conflicts = Counter[_Part]()
        self._creations = Counter[_Part]()
        """Successful steps that only create objects."""
        self._failing: dict[_Part, float] = {}
        """Since when writes fail, conflicts aside."""
        self._uids: Mapping[JobKey, str] = {}

    def conflicted(self, job: JobKey, now: float, part: str = "") -> None:
        self._back_off(self._conflicts, (job, part), AFTER_CONFLICT, now)

    def failed(self, job: JobKey, now: float, part: str = "") -> None:
        self._failing.setdefault((job, part), now)
        self._back_off(self._failures, (job, part), AFTER_FAILURE, now)

    def succeeded(self, step: Step, now: float) -> None:
        """Creations are not repeated at once: an object of others, which is not seen, may exist."""
        key = (step.job, step.part)
        repeated = self._creations[key]
        self._forget(key)
        if step.part and _only_creates(step):
            self._creations[key] = repeated
            self._back_off(self._creations, key, AFTER_FAILURE, now)

    def is_lasting(self, job: JobKey, now: float, part: str = "") -> bool:
        return now - self._failing.get((job, part), now) >= LASTING

    def keep(self, jobs: Mapping[JobKey, str]) -> None:
        """Forgets all but these jobs, and those that were created again, with another uid."""
        uids_before = self._uids
        for job, part in list(self._until):
            if job not in jobs or jobs[job] != uids_before.get(job):
                self._forget((job, part))
        self._uids = jobs

    def due(
        self, steps: Sequence[Step], now: float, in_flight: Container[JobKey] = ()
    ) -> tuple[Step, ...]:
        """The steps without the parts that back off; last, by age, those whose last try failed.

        What needs no step any longer is forgotten. A job that backs off, or has steps in flight,
        has none now, whatever it needs.
        """
        asked = {(step.job, step.part) for step in steps}
        for job, part in self._until.keys() - asked:
            if job not in in_flight and not self.is_backing_off(job, now):
                self._forget((job, part))
        due = (step for step in steps if not self.is_backing_off(step.job, now, step.part))
        return tuple(sorted(due, key=lambda step: self._failed_until((step.job, step.part))))

    def _failed_until(self, key: _Part) -> float:
        return self._until[key] if key in self._failing else 0.0

    def is_backing_off(self, job: JobKey, now: float, part: str = "") -> bool:
        return self._until.get((job, part), now) > now

    def next(self, now: float, begun: float) -> float | None:
        """Seconds until the first job may be tried again that backed off when the round began.

        None if there is none. 0 if its back-off has ended since: the round did not try it.
        """
        ahead = [max(until - now, 0.0) for until in self._until.values() if until > begun]
        return min(ahead, default=None)

    def _back_off(
        self, counts: Counter[_Part], key: _Part, pause: Backoff[float], now: float
    ) -> None:
        counts[key] += 1
        self._until[key] = now + pause.after(counts[key])

    def _forget(self, key: _Part) -> None:
        self._until.pop(key, None)
        self._failing.pop(key, None)
        for counts in (self._failures, self._conflicts, self._creations):
            counts.pop(key, None)


def _only_creates(step: Step) -> bool:
    return all(isinstance(write, Create | CreateKeys) for write in step.writes)
