"""One decision about the whole cluster: pure, deterministic, independent of the input's order."""

from msgspec.structs import replace

from edl.model import ClusterState, JobKey
from edl.planner.limits import Limits
from edl.planner.passes.admission.admission_queue import Queue
from edl.planner.passes.decision import Decision
from edl.planner.passes.departures import departed, with_departures
from edl.planner.passes.displacement import displaced
from edl.planner.passes.drain import evacuations
from edl.planner.passes.evictions import shrink, suspend
from edl.planner.passes.growth import Ceiling, grow
from edl.planner.passes.node_assignment import seat_gated
from edl.planner.passes.pending_turns import Turns
from edl.planner.passes.quiet_period import wait_for_calm
from edl.planner.passes.quota_reclaim import keep_budgets
from edl.planner.passes.rebalancing.rebalance import Rebalance
from edl.planner.plan import Evacuation, Plan
from edl.planner.plan_cache import PlanCache
from edl.planner.policies import Policy
from edl.planner.snapshot.board import Board
from edl.planner.snapshot.build_board import set_up
from edl.planner.snapshot.decisions import Ledger


def decide(
    state: ClusterState, policy: Policy, limits: Limits, memory: PlanCache | None = None
) -> Plan:
    """What to do now, and for everybody who waits, why. The same with or without `memory`.

    Doing it, and deciding again in a cluster that nobody else changes, soon finds nothing to do.
    """
    memory = memory or PlanCache()
    if known := memory.recall(state, policy, limits):
        return known
    decided = outcome(state, policy, limits)
    plan = decided.plan()
    plan = replace(plan, evacuations=_evacuations(state, decided, _busy(plan)))
    plan = with_departures(plan, state)
    memory.keep(state, plan, decided.board, waits=bool(decided.ledger.moves))
    return plan


def outcome(state: ClusterState, policy: Policy, limits: Limits) -> Decision:
    """What is decided, before it is written down as a plan: `edl.planner.explain` reads it too."""
    board, ledger = set_up(departed(state), policy, limits), Ledger()
    ceiling = Ceiling(board)
    seat(board, ledger, ceiling)
    return Decision(board, ceiling, ledger)


def _evacuations(
    state: ClusterState, decided: Decision, busy: frozenset[JobKey]
) -> tuple[Evacuation, ...]:
    moved = displaced(decided.board, decided.ledger.moves, busy)
    return (*moved, *evacuations(state, decided.board, busy | {one.job for one in moved}))


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
    keep_budgets(board)
    seat_gated(board)
    queue = Queue(board, ledger)
    queue.serve()
    wait_for_calm(board, asked=queue.asked)
    stuck = grow(board, ceiling)
    if board.policy.balances:
        Rebalance(board, ceiling).run(stuck)
    Turns(board, ledger).run()
