"""The queued jobs of a plan."""

from edl.job_state.phases import blocked, waits_to_start
from edl.model import ClusterState
from edl.planner.plan import Plan, WaitingJob


def waiting(state: ClusterState, plan: Plan) -> tuple[WaitingJob, ...]:
    """The queue after this plan, in the plan's order; jobs without a position come last."""
    jobs = {job.key: job for job in state.jobs}
    return tuple(
        entry
        for entry in plan.waiting
        if entry.position
        or entry.never
        or (blocked(jobs[entry.job]) and waits_to_start(jobs[entry.job]))
    )
