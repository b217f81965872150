"""Bare pods with our labels: their dependents, and their launcher's host list."""

from datetime import datetime, timedelta

from edl.model import TrainingJob
from edl.steps.dependents.dependents import surroundings
from edl.steps.hosts.host_file import publish
from edl.writes import Step


def bare(job: TrainingJob, now: datetime) -> tuple[Step, timedelta | None]:
    """Writes that are due now, and when to check again without a change in the cluster."""
    if job.problem:
        return Step(job.key, ()), None
    published = publish(job, (), now)
    # Around first: a launcher whose gate is taken away needs its ServiceAccount.
    return Step(job.key, (*surroundings(job), *published.writes)), published.recheck
