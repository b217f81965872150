"""The order of queued jobs in a plan."""

from math import inf

from edl.model import ClusterState
from edl.phases import waits
from edl.planner.plan import Held, Plan


def waiting(state: ClusterState, plan: Plan) -> tuple[Held, ...]:
    """The queue after this plan, by position; jobs without a position come last."""
    jobs = {job.key: job for job in state.jobs}
    held = (
        one
        for one in plan.held
        if one.position or one.never or (jobs[one.job].blocker and waits(jobs[one.job]))
    )
    return tuple(sorted(held, key=lambda one: (one.position or inf, one.job)))
