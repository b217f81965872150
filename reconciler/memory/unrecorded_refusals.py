"""Refused writes that the Jobs do not record (yet)."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from edl.annotations import write_refusals
from edl.errors import Forbidden
from edl.kube.create_failures import exceeded_quota
from edl.kube.writer.executor import StepFailure
from edl.model import ClusterState, JobKey, TrainingJob
from edl.model.causes.reason_subjects import Usage
from edl.planner.round_memory import RoundMemory

if TYPE_CHECKING:
    from edl.model import WriteRefusal


class UnrecordedRefusals(RoundMemory):
    """Refusals kept between rounds. Those written to the Jobs outlive the process."""

    def __init__(self) -> None:
        self._known: dict[tuple[JobKey, str], tuple[WriteRefusal, ...]] = {}
        self._jobs: dict[JobKey, TrainingJob] = {}
        self.has_unseen = False
        """Whether a refusal was added that the last state does not include."""

    def recall(self, state: ClusterState) -> ClusterState:
        """The state with these refusals; unchanged if there are none."""
        jobs = tuple(map(self._with_refusals, state.jobs)) if self._known else state.jobs
        self._jobs = {job.key: job for job in jobs}
        self._known = {
            _id(job): job.refused_writes
            for job in jobs
            if _id(job) in self._known and job.refused_writes
        }
        self.has_unseen = False
        return state if jobs == state.jobs else replace(state, jobs=jobs)

    def forget(self) -> None:
        """Another leader may have started these jobs meanwhile."""
        self._known, self._jobs, self.has_unseen = {}, {}, False

    def remember(self, key: JobKey, refused: Sequence[StepFailure], now: datetime) -> bool:
        """Records the refused start and sizes of a job, each as one refusal.

        False if there are none: nothing that plans count on was refused, or the job is gone.
        """
        job = self._jobs.get(key)
        if job is None:
            return False
        refusals = {
            refusal.kind: replace(refusal, usage=_usage(failure, key.namespace))
            for failure in refused
            for refusal in write_refusals.refused(
                job, failure.step.sizes, str(failure.error), now, starts=failure.step.starts
            )
        }
        if not refusals:
            return False
        self._known[_id(job)] = (*job.refused_writes, *refusals.values())
        self.has_unseen = True
        return True

    def forget_start(self, key: JobKey) -> None:
        """Forgets that the start was refused: it has been made, or a dry run of it."""
        job = self._jobs.get(key)
        if job and (refusals := self._known.pop(_id(job), ())):
            self._known[_id(job)] = tuple(refusal for refusal in refusals if refusal.size)

    def _with_refusals(self, job: TrainingJob) -> TrainingJob:
        refusals = self._known.get(_id(job))
        return write_refusals.with_refusals(job, refusals) if refusals else job


def _usage(refused: StepFailure, namespace: str) -> Usage | None:
    """The quota that refused it, with its figures; None if a webhook did, in whatever words."""
    by_api_server = isinstance(refused.error, Forbidden)
    return exceeded_quota(str(refused.error), namespace) if by_api_server else None


def _id(job: TrainingJob) -> tuple[JobKey, str]:
    """Its name, and the uid of its first Job: another job of the same name was refused nothing."""
    return job.key, job.uid
