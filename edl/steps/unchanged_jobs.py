"""Skips training jobs without pending work until their state changes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from edl import phases
from edl.model import JobKey, Role, TrainingJob


@dataclass(slots=True)
class UnchangedJobs:
    """Cache for repeated rounds. It affects cost, never results."""

    _known: dict[JobKey, TrainingJob] = field(default_factory=dict)

    def __contains__(self, job: TrainingJob) -> bool:
        """Whether this very object was noted: its upkeep required nothing, and still does."""
        return self._known.get(job.key) is job

    def note(self, job: TrainingJob) -> None:
        """Remember a job whose upkeep required no write and no recheck."""
        if _stands_still(job):
            self._known[job.key] = job

    def keep(self, jobs: Iterable[TrainingJob]) -> None:
        """Forget jobs that are not among these objects."""
        self._known = {job.key: job for job in jobs if job in self}


def _stands_still(job: TrainingJob) -> bool:
    """Whether time alone requires no write: pods are settled, and no failure is to be forgiven."""
    return phases.ending(job) is not None or all(map(_is_there, job.live))


def _is_there(role: Role) -> bool:
    there = all((pod.ready or pod.ended) and not pod.terminating for pod in role.status.pods)
    forgiven = (
        not role.spec.retries or role.spec.backoff_limit >= role.status.failures + role.spec.retries
    )
    return there and forgiven and not (role.request.scaling or role.request.removing)
