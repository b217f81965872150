"""One decision about the whole cluster: pure, deterministic, independent of the input's order."""

from dataclasses import replace

from edl.model import ClusterState, JobKey
from edl.planner.board import Board, set_up
from edl.planner.evacuate import evacuations
from edl.planner.growth import Ceiling, grow
from edl.planner.ledger import Ledger
from edl.planner.limits import Limits
from edl.planner.outcome import Outcome
from edl.planner.plan import Plan
from edl.planner.policies import Policy
from edl.planner.queue import Queue, seat_unbound
from edl.planner.rebalance import Rebalance
from edl.planner.rest import shrink, suspend


def decide(state: ClusterState, policy: Policy, limits: Limits) -> Plan:
    """What to do now, and for everybody who waits, why.

    Doing it, and deciding again in a cluster that nobody else changes, soon finds nothing to do.
    """
    board, ledger = set_up(state, policy, limits), Ledger()
    ceiling = Ceiling(board)
    seat(board, ledger, ceiling)
    plan = Outcome(board, ceiling, ledger).plan()
    return replace(plan, evacuations=evacuations(state, board, _busy(plan)))


def _busy(plan: Plan) -> frozenset[JobKey]:
    """Jobs that start, stop or move in this plan."""
    return (
        frozenset(one.job for one in plan.admissions)
        | {one.job for one in plan.suspensions}
        | {one.job for one in plan.resizes}
    )


def seat(board: Board, ledger: Ledger, ceiling: Ceiling) -> None:
    """Give every replica of the plan its place, those first who come first."""
    suspend(board, ledger)
    shrink(board)
    seat_unbound(board)
    Queue(board, ledger).serve()
    stuck = grow(board, ceiling)
    Rebalance(board, ceiling).run(stuck)
