"""The queued jobs of a plan."""

from edl.model import ClusterState
from edl.phases import blocked, waits_to_start
from edl.planner.plan import Held, Plan


def waiting(state: ClusterState, plan: Plan) -> tuple[Held, ...]:
    """The queue after this plan, in the plan's order; jobs without a position come last."""
    jobs = {job.key: job for job in state.jobs}
    return tuple(
        one
        for one in plan.held
        if one.position or one.never or (blocked(jobs[one.job]) and waits_to_start(jobs[one.job]))
    )
