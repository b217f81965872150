"""Who waits, in the planner's order; where the cluster may not be read, in the order of arrival."""

from collections.abc import Iterable
from math import inf
from typing import Final

from edl.messages import message, messages
from edl.model import ClusterState, TrainingJob
from edl.phases import waits
from edl.planner.plan import Admission, Plan
from kubectl_edl.model.training_job_view import Why, why
from kubectl_edl.queue.view import WaitingJob

_STARTS_NOW: Final = "starts now"
_WOULD_START: Final = "would start"


def in_plan(state: ClusterState, plan: Plan, stalled: str = "") -> tuple[WaitingJob, ...]:
    """The whole queue: what starts in this very plan first, then everybody's position.

    At the end, without a position, jobs that cannot be planned, or never start. `stalled` says why
    no reconciler carries the plan out: then what would start has none either.
    """
    starts, first = (_WOULD_START, None) if stalled else (_STARTS_NOW, 0)
    jobs = {job.key: job for job in state.jobs}
    starting = tuple(
        WaitingJob(jobs[one.job], first, (), _starts(one, starts)) for one in plan.admissions
    )
    held = (
        WaitingJob(
            jobs[one.job],
            one.position or None,
            one.ahead,
            Why(one.reason.code, message(one.reason)),
            held=one.reason,
        )
        for one in plan.held
        if one.position or one.never or (jobs[one.job].blocker and waits(jobs[one.job]))
    )
    return (*starting, *sorted(held, key=lambda waiting: waiting.position or inf))


def _starts(one: Admission, starts: str) -> Why:
    said = messages((one.reason, *one.grown))
    return Why(one.reason.code, f"{starts}: {said}")


def by_arrival(jobs: Iterable[TrainingJob]) -> tuple[WaitingJob, ...]:
    """Queued training jobs of one namespace: places and who is ahead are not known."""
    queued = [job for job in jobs if waits(job)]
    ordered = sorted(queued, key=lambda job: (-job.priority, job.queued_at, job.key))
    return tuple(WaitingJob(job, None, (), why(job), known=False) for job in ordered)
