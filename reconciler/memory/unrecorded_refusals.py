"""Refused writes that the Jobs do not record (yet)."""

from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from edl.annotations import write_refusals
from edl.errors import Forbidden, Invalid
from edl.kube.writer.executor import StepFailure
from edl.model import ClusterState, JobKey, TrainingJob

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
        self._known = {key: one for key, one in refused.items() if one and one.holds}
        self.unseen = False
        return state if jobs == state.jobs else replace(state, jobs=jobs)

    def note(self, key: JobKey, failures: Sequence[StepFailure], now: datetime) -> bool:
        """Records the failed start or refused sizes of a job, as one refusal.

        False if there are none: nothing that plans count on has failed, or the job is gone. A
        size is refused only by an answer of the API server: a write without one is postponed.
        """
        job = self._jobs.get(key)
        starts = any(one.step.starts for one in failures)
        refused = [one for one in failures if isinstance(one.error, Invalid | Forbidden)]
        sizes = tuple(chain.from_iterable(one.step.sizes for one in refused))
        planned = [one.error for one in failures if one.step.starts]
        planned += [one.error for one in refused if one.step.sizes]
        if job is None or not planned:
            return False
        found = write_refusals.refused(job, sizes, str(planned[0]), now, starts=starts)
        if not write_refusals.concerns(job, found):
            return False
        self._known[key] = found
        self.unseen = True
        return True

    def forget(self, key: JobKey) -> None:
        self._known.pop(key, None)

    def _with(self, job: TrainingJob) -> TrainingJob:
        known = self._known.get(job.key)
        return write_refusals.with_refusal(job, known) if known else job
