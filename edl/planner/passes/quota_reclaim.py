"""Jobs above a budget that takes back give up extras; minimums stay."""

from math import inf

from edl import reasons
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import record_eviction
from edl.planner.snapshot.reclaimable import Reclaimable, reclaim_order


def reclaim_quotas(board: Snapshot) -> None:
    """Shrink whoever counts in an overdrawn budget, in the order in which extras yield."""
    for line in board.budgets.lines.values():
        if line.budget.takes_back and line.soon < 0:
            counting = [
                found
                for found in board.standings
                if found.moves and found.bill and found.bill.cost(line)
            ]
            extras = Reclaimable(board, counting, reclaim_order(board))
            while line.soon < 0 and (standing := extras.next(inf)):
                extras.rise(standing)
                record_eviction([standing], reasons.above_budget(line.budget))
                extras.back(standing)
            for standing in counting:
                standing.unbound = [one for one in standing.unbound if one.position < standing.size]
