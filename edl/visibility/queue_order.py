"""The queued jobs of a plan."""

from edl.job_state.phases import blocked, waits_to_start
from edl.model import ClusterState
from edl.planner.plan import Held, Plan


def waiting(state: ClusterState, plan: Plan) -> tuple[Held, ...]:
    """The queue after this plan, in the plan's order; jobs without a position come last."""
    jobs = {job.key: job for job in state.jobs}
    return tuple(
        held
        for held in plan.held
        if held.position
        or held.never
        or (blocked(jobs[held.job]) and waits_to_start(jobs[held.job]))
    )
