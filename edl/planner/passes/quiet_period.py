"""Growing only when it will not be undone at once (`Policy.idle`)."""

from datetime import datetime

from edl import reasons
from edl.planner.snapshot.cluster_snapshot import Snapshot


def hold_growth_until_quiet(board: Snapshot, *, asked: bool) -> None:
    """Nobody grows until nothing has been started or resized for a while.

    `asked`: somebody waits for whom running jobs will shrink in a moment. Manual sizes and
    minimums never wait.
    """
    idle = board.policy.quiet_period
    asked = asked or any(standing.starts for standing in board.allocations)
    if not idle or not (asked or _moved(board)):
        return
    for standing in board.allocations:
        if not standing.manual and standing.size >= standing.role.min:
            standing.hold_reason = standing.hold_reason or reasons.not_idle(idle)
            standing.reserves_capacity = False


def _moved(board: Snapshot) -> bool:
    last = max(change_times(board), default=None)
    return last is not None and not board.has_passed(last, board.policy.quiet_period)


def change_times(board: Snapshot) -> list[datetime]:
    """When jobs were started and resized: read from the cluster, as whoever decides next will."""
    found = [job.started_at for job in board.jobs]
    found += [standing.role.resized_at for standing in board.allocations]
    return [moment for moment in found if moment is not None]
