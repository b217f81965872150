"""Growth is held until a period without starts and resizes has passed (`Policy.quiet_period`)."""

from datetime import timedelta

from edl import reasons
from edl.job_state.last_changes import stopped_to_resize
from edl.planner.pass_results import PassResults
from edl.planner.snapshot.cluster_snapshot import Snapshot


def hold_growth_until_quiet(snapshot: Snapshot, *, asked: bool) -> None:
    """Hold the growth of all roles, except manual sizes and unmet minimums.

    A job that was stopped to resize does not grow by returning to the size that it was stopped for.
    `asked`: running jobs will soon scale down for a queued job.
    """
    idle = snapshot.policy.quiet_period
    asked = asked or any(allocation.starts for allocation in snapshot.allocations)
    if not idle or not (asked or changed_within(snapshot, idle)):
        return
    for allocation in snapshot.allocations:
        exempt = allocation.manual or stopped_to_resize(allocation.role)
        if not exempt and allocation.size >= allocation.role.spec.min:
            allocation.hold.deny_as_well(reasons.not_idle(idle))


def changed_within(snapshot: Snapshot, period: timedelta) -> bool:
    """Whether any planned job has started or resized so recently, as recorded in the cluster."""
    times = [job.started_at for job in snapshot.jobs]
    times += [allocation.role.record.resized_at for allocation in snapshot.allocations]
    last = max(filter(None, times), default=None)
    return last is not None and not snapshot.clock.elapsed_or_recheck(last, period)


def is_on_its_way(snapshot: Snapshot, results: PassResults) -> bool:
    """Whether capacity is being freed for claims, by this plan or by a recent resize.

    After `queue_patience` the answer is False again, because some pods never terminate.
    """
    if results.suspended or any(allocation.reason for allocation in snapshot.allocations):
        return True
    return changed_within(snapshot, snapshot.limits.queue_patience)
