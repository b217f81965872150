"""Jobs above a budget that takes back give up extras; minimums stay."""

from math import inf

from edl import reasons
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import record_eviction
from edl.planner.snapshot.reclaimable import Reclaimable, reclaim_order


def reclaim_quotas(board: Snapshot) -> None:
    """Shrink whoever counts in an overdrawn budget, in the order in which extras yield."""
    for line in board.quotas.lines.values():
        if line.quota.takes_back and line.future_remaining < 0:
            counting = [
                found
                for found in board.allocations
                if found.resizable and found.quota_request and found.quota_request.amount(line)
            ]
            extras = Reclaimable(board, counting, reclaim_order(board))
            while line.future_remaining < 0 and (standing := extras.next(inf)):
                extras.evict(standing)
                record_eviction([standing], reasons.above_budget(line.quota))
                extras.requeue(standing)
            for standing in counting:
                standing.unscheduled = [
                    one for one in standing.unscheduled if one.position < standing.size
                ]
