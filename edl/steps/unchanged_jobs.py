"""Skips training jobs without pending work until their state changes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from edl.job_state import phases
from edl.model import JobKey, Role, TrainingJob
from edl.steps.backoff_limit import is_forgiven


@dataclass(slots=True)
class UnchangedJobs:
    """Cache for repeated rounds. It affects cost, never results."""

    _known: dict[JobKey, TrainingJob] = field(default_factory=dict)

    def __contains__(self, job: TrainingJob) -> bool:
        """Whether this very object is remembered: its upkeep required nothing, and still does."""
        return self._known.get(job.key) is job

    def remember(self, job: TrainingJob) -> None:
        """Remember a job whose upkeep required no write and no recheck."""
        if _is_settled(job):
            self._known[job.key] = job

    def retain(self, jobs: Iterable[TrainingJob]) -> None:
        """Forget jobs that are not among these objects."""
        self._known = {job.key: job for job in jobs if job in self}


def _is_settled(job: TrainingJob) -> bool:
    """Whether time alone requires no write: pods are settled, and no failure is to be forgiven."""
    return phases.ending(job) is not None or all(map(_is_complete, job.live))


def _is_complete(role: Role) -> bool:
    there = all((pod.ready or pod.ended) and not pod.terminating for pod in role.status.pods)
    return there and is_forgiven(role) and not (role.request.scaling or role.request.removing)
