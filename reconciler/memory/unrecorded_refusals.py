"""Refused starts that the Jobs do not record (yet)."""

from datetime import datetime

from msgspec.structs import replace

from edl.annotations import failed_attempts, start_refusals
from edl.model import ClusterState, JobKey, StartRefusal, TrainingJob


class RefusedStarts:
    """Refusals kept between rounds. Those written to the Jobs outlive the process."""

    def __init__(self) -> None:
        self._known: dict[JobKey, StartRefusal] = {}
        self._waiting: dict[JobKey, TrainingJob] = {}
        self.unseen = False
        """Whether a refusal was added that the last state does not include."""

    def seen(self, state: ClusterState) -> ClusterState:
        """The state with these refusals; unchanged if there are none."""
        jobs = tuple(map(self._with, state.jobs)) if self._known else state.jobs
        self._waiting = {job.key: job for job in jobs if start_refusals.waits(job)}
        self._known = {key: self._known[key] for key in self._known.keys() & self._waiting}
        self.unseen = False
        return state if jobs == state.jobs else replace(state, jobs=jobs)

    def note(self, key: JobKey, message: str, now: datetime) -> None:
        """Records a refused start; ignored if the job has started meanwhile."""
        if job := self._waiting.get(key):
            self._known[key] = failed_attempts.failed(StartRefusal, job.refusal, message, now)
            self.unseen = True

    def forget(self, key: JobKey) -> None:
        self._known.pop(key, None)

    def _with(self, job: TrainingJob) -> TrainingJob:
        known = self._known.get(job.key)
        return start_refusals.with_refusal(job, known) if known else job
