"""A training job's phase, read off its roles: nothing is stored that could be derived."""

from edl.contract import CleanUp
from edl.model import Ending, JobKey, Phase, PodPhase, Role, TrainingJob


def ending(job: TrainingJob) -> Ending | None:
    """How the training job ended: as its deciding role did; before that, with any that failed.

    A Job fails when its retries are used up, so a training job without it would wait for ever.
    Complete at size 0 is no decision: `edl.steps.finish` ended that Job because another failed.
    """
    decided = next((role.ending for role in job.roles if role.decides and role.size), None)
    failed = any(role.ending is Ending.FAILED for role in job.roles)
    return decided or (Ending.FAILED if failed else None)


def verdict(key: JobKey, end: Ending) -> str:
    """How it ended, in a sentence."""
    return f"{key.name} {'is done' if end is Ending.COMPLETE else 'has failed'}"


def phase(job: TrainingJob) -> Phase:
    """The phase, as users watch it."""
    end = ending(job)
    if end is not None:
        return _ended(job, end)
    if all(role.suspended for role in job.live):
        return _waiting(job)
    if job.missing or any(not runs(role) for role in job.live):
        return Phase.STARTING
    return Phase.RUNNING


def _ended(job: TrainingJob, end: Ending) -> Phase:
    if job.live and job.clean_up is not CleanUp.NONE:
        return Phase.FINISHING
    return Phase.SUCCEEDED if end is Ending.COMPLETE else Phase.FAILED


def _waiting(job: TrainingJob) -> Phase:
    if job.paused:
        return Phase.PAUSED
    return Phase.INCOMPLETE if job.missing else Phase.QUEUED


def runs(role: Role) -> bool:
    """Whether the role's minimum is at work: running now, or already done."""
    at_work = sum(
        pod.ready or pod.phase is PodPhase.SUCCEEDED for pod in role.pods if not pod.terminating
    )
    return not role.suspended and at_work >= min(role.min, role.size)
