"""Extras yield while a quota that takes capacity back is exceeded; minimums stay."""

from edl import reasons
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import record_eviction
from edl.planner.snapshot.extras.reclaimable import Reclaimable, reclaim_order
from edl.planner.teams.reclaim_priority import ALL_IN_REACH


def reclaim_quotas(snapshot: Snapshot) -> None:
    """Scale down the roles that count in an exceeded quota, in the order in which extras yield."""
    for quota in snapshot.quotas.lines.values():
        if quota.spec.takes_back and quota.future_remaining < 0:
            counting = [
                found
                for found in snapshot.allocations
                if found.resizable and found.quota_request.amount(quota)
            ]
            reclaimable = Reclaimable(snapshot, counting, reclaim_order(snapshot))
            queue = reclaimable.queue
            while quota.future_remaining < 0 and (allocation := queue.next(ALL_IN_REACH)):
                reclaimable.evict(allocation)
                record_eviction([allocation], reasons.above_budget(quota.spec))
                queue.requeue(allocation)
            for allocation in counting:
                allocation.forget_evicted_pods()
