"""Refused starts that the Jobs do not record (yet)."""

from datetime import datetime

from msgspec.structs import replace

from edl.annotations import attempt_backoff, start_refusals
from edl.model import ClusterState, JobKey, StartRefusal, TrainingJob


class RefusedStarts:
    """Kept between rounds; what is written to the Jobs outlives the process."""

    def __init__(self) -> None:
        self._known: dict[JobKey, StartRefusal] = {}
        self._waiting: dict[JobKey, TrainingJob] = {}
        self.unseen = False
        """Whether the last state does not show one of them yet."""

    def seen(self, state: ClusterState) -> ClusterState:
        """The state with these refusals; itself where there are none."""
        jobs = tuple(map(self._with, state.jobs)) if self._known else state.jobs
        self._waiting = {job.key: job for job in jobs if start_refusals.waits(job)}
        self._known = {key: self._known[key] for key in self._known.keys() & self._waiting}
        self.unseen = False
        return state if jobs == state.jobs else replace(state, jobs=jobs)

    def note(self, key: JobKey, message: str, now: datetime) -> None:
        """A start was refused; starts that succeeded meanwhile are ignored."""
        if job := self._waiting.get(key):
            self._known[key] = attempt_backoff.failed(StartRefusal, job.refusal, message, now)
            self.unseen = True

    def forget(self, key: JobKey) -> None:
        self._known.pop(key, None)

    def _with(self, job: TrainingJob) -> TrainingJob:
        known = self._known.get(job.key)
        return start_refusals.with_refusal(job, known) if known else job
