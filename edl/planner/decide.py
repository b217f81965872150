"""One decision about the whole cluster: pure, deterministic, independent of the input's order."""

from msgspec.structs import replace

from edl.model import ClusterState, JobKey
from edl.planner.decision_limits import Limits
from edl.planner.passes.admission.admission_queue import AdmissionQueue
from edl.planner.passes.decision import Decision
from edl.planner.passes.drain import drains, let_moves_go_first
from edl.planner.passes.growth import GrowthCeiling, grow
from edl.planner.passes.named_moves import drains_of_moves
from edl.planner.passes.node_assignment import assign_gated_pods
from edl.planner.passes.pending_turns import SchedulingTurns
from edl.planner.passes.published_departures import departed, with_departures
from edl.planner.passes.quiet_period import hold_growth_until_quiet
from edl.planner.passes.rebalancing.rebalance import Rebalance
from edl.planner.passes.rebalancing.team_rebalance import TeamRebalance
from edl.planner.passes.reclaim_choice import drains_of_removals
from edl.planner.passes.scale_down.needed_nodes import only_needed
from edl.planner.passes.scale_down.vacating import Vacating
from edl.planner.passes.suspensions import reclaim_quotas, shrink_to_limits, suspend_jobs
from edl.planner.plan import Drain, Plan
from edl.planner.plan_cache import PlanCache
from edl.planner.policies import Policy
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import Decisions
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.planner.teams.team_balance import NO_TEAM


def decide(
    state: ClusterState, policy: Policy, limits: Limits, memory: PlanCache | None = None
) -> Plan:
    """The actions to take now, and a reason for each waiting job; `memory` only saves time.

    Plans converge: when a plan is executed and no other client changes anything, a later plan soon
    contains no action.
    """
    memory = memory or PlanCache()
    if known := memory.get(state, policy, limits):
        return known
    decided = run_passes(state, policy, limits)
    plan = decided.plan()
    plan = replace(plan, drains=_evacuations(decided, _busy(plan)))
    plan = with_departures(plan, state)
    memory.put(state, plan, decided.snapshot, waits=bool(decided.decisions.moves))
    return plan


def run_passes(state: ClusterState, policy: Policy, limits: Limits) -> Decision:
    """Run every pass, without building a plan; `edl.planner.explain` reads the result too."""
    snapshot, decisions = take_snapshot(departed(state), policy, limits), Decisions()
    ceiling = GrowthCeiling(snapshot)
    allocate(snapshot, decisions, ceiling)
    return Decision(snapshot, ceiling, decisions)


def snapshot_at_turn(state: ClusterState, policy: Policy, limits: Limits, key: JobKey) -> Snapshot:
    """The snapshot right after a queued job's claim: what later claims and growth take is idle."""
    snapshot = take_snapshot(departed(state), policy, limits)
    _serve_claims(snapshot, Decisions(), until=key)
    return snapshot


def _evacuations(decided: Decision, busy: frozenset[JobKey]) -> tuple[Drain, ...]:
    snapshot, decisions = decided.snapshot, decided.decisions
    moved = drains_of_moves(snapshot, decisions.moves, busy)
    named = drains_of_removals(snapshot)
    return (*moved, *named, *drains(snapshot, decisions, busy | {one.job for one in moved}))


def _busy(plan: Plan) -> frozenset[JobKey]:
    """Jobs that this plan starts, stops or resizes."""
    return (
        frozenset(one.job for one in plan.admissions)
        | {one.job for one in plan.suspensions}
        | {one.job for one in plan.resizes}
    )


def allocate(snapshot: Snapshot, decisions: Decisions, ceiling: GrowthCeiling) -> None:
    """Run the passes in order; each reserves or releases capacity in the snapshot."""
    vacating, queue = _serve_claims(snapshot, decisions)
    hold_growth_until_quiet(snapshot, asked=queue.expects_shrinks)
    if vacating:
        vacating.keep_growth_to_needed_nodes()
    stuck = grow(snapshot, ceiling)
    if snapshot.policy.balances:
        balance = snapshot.teams
        teams = TeamRebalance(snapshot, ceiling, balance) if balance else None
        team = teams.run(stuck) if teams else NO_TEAM
        Rebalance(snapshot, ceiling, team, teams).run(stuck)
    let_moves_go_first(snapshot, decisions)
    SchedulingTurns(snapshot, decisions).run()


def _serve_claims(
    snapshot: Snapshot, decisions: Decisions, until: JobKey | None = None
) -> tuple[Vacating | None, AdmissionQueue]:
    """The passes before growth; claims that come after the one of job `until` are not served."""
    vacating = Vacating(snapshot, decisions) if only_needed(snapshot) else None
    suspend_jobs(snapshot, decisions)
    shrink_to_limits(snapshot)
    reclaim_quotas(snapshot)
    assign_gated_pods(snapshot)
    if vacating:
        vacating.vacate()
    queue = AdmissionQueue(snapshot, decisions)
    queue.run(until)
    return vacating, queue
