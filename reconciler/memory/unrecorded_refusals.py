"""Refused writes that the Jobs do not record (yet)."""

from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from edl.annotations import write_refusals
from edl.model import ClusterState, JobKey, TrainingJob
from edl.writes import Step

if TYPE_CHECKING:
    from edl.model import WriteRefusal


class RefusedWrites:
    """Refusals kept between rounds. Those written to the Jobs outlive the process."""

    def __init__(self) -> None:
        self._known: dict[JobKey, WriteRefusal] = {}
        self._jobs: dict[JobKey, TrainingJob] = {}
        self.unseen = False
        """Whether a refusal was added that the last state does not include."""

    def seen(self, state: ClusterState) -> ClusterState:
        """The state with these refusals; unchanged if there are none."""
        jobs = tuple(map(self._with, state.jobs)) if self._known else state.jobs
        self._jobs = {job.key: job for job in jobs}
        refused = {job.key: job.refusal for job in jobs if job.key in self._known}
        self._known = {key: one for key, one in refused.items() if one and not one.lifted}
        self.unseen = False
        return state if jobs == state.jobs else replace(state, jobs=jobs)

    def note(self, step: Step, message: str, now: datetime) -> None:
        """Records that a start or a new size was refused; ignored for a job that is gone."""
        if job := self._jobs.get(step.job):
            self._known[step.job] = write_refusals.refused(
                job, step.sizes, message, now, starts=step.starts
            )
            self.unseen = True

    def forget(self, key: JobKey) -> None:
        self._known.pop(key, None)

    def _with(self, job: TrainingJob) -> TrainingJob:
        known = self._known.get(job.key)
        return write_refusals.with_refusal(job, known) if known else job
