"""One decision about the whole cluster: pure, deterministic, independent of the input's order."""

from typing import Final

from edl.model import ClusterState, JobKey
from edl.planner.counted_demands import with_counted_demands, with_offered_names
from edl.planner.decision import Decision
from edl.planner.decision_limits import Limits
from edl.planner.pass_results import PassResults
from edl.planner.passes.admission.admission_queue import AdmissionQueue
from edl.planner.passes.delisted_workers import with_removals_of_delisted, without_delisted
from edl.planner.passes.drain import let_moves_go_first
from edl.planner.passes.growth import GrowthCeiling, grow
from edl.planner.passes.node_assignment import assign_gated_pods
from edl.planner.passes.placement_order import PlacementOrder
from edl.planner.passes.quiet_period import hold_growth_until_quiet
from edl.planner.passes.rebalancing.rebalance import Rebalance
from edl.planner.passes.rebalancing.team_rebalance import TeamRebalance
from edl.planner.passes.scale_down.needed_nodes import only_needed
from edl.planner.passes.scale_down.vacating import Vacating
from edl.planner.passes.suspensions import reclaim_quotas, shrink_to_limits, suspend_jobs
from edl.planner.passes.whole_restarts import forbidden_by_rules, settle_restarts
from edl.planner.plan import Plan
from edl.planner.plan_builder import build_plan
from edl.planner.plan_cache import PlanCache
from edl.planner.policies import Policy
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.restarts.restraints import NO_RESTRAINTS, Restraints, StoppedForGood
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.planner.teams.team_guarantees import NO_TEAM

_MAX_ATTEMPTS: Final = 5
"""How many attempts a decision has at most (`run_passes`)."""


def decide(
    state: ClusterState, policy: Policy, limits: Limits, plan_cache: PlanCache | None = None
) -> Plan:
    """The actions to take now, and a reason for each waiting job; `plan_cache` only saves time.

    Plans converge: when a plan is executed and no other client changes anything, a later plan soon
    contains no action.
    """
    plan_cache = plan_cache or PlanCache()
    if cached_plan := plan_cache.get(state, policy, limits):
        return cached_plan
    decision = run_passes(state, policy, limits)
    plan = with_removals_of_delisted(build_plan(decision), state)
    plan_cache.put(state, plan, decision.snapshot, waits=bool(decision.results.moves))
    return plan


def run_passes(state: ClusterState, policy: Policy, limits: Limits) -> Decision:
    """Run every pass, without building a plan.

    An attempt that stops jobs which could not come back is dropped, and the next one does not
    restart these. The last one restarts no job that it could stop for good.
    """
    restraints = NO_RESTRAINTS
    for attempt in range(1, _MAX_ATTEMPTS + 1):
        restraints = restraints._replace(strict=attempt == _MAX_ATTEMPTS)
        snapshot = observed_snapshot(state, policy, limits, restraints)
        results, ceiling = PassResults(), GrowthCeiling(snapshot)
        stopped = allocate(snapshot, results, ceiling)
        if not any(stopped):
            break
        restraints = restraints.after(stopped)
    return Decision(snapshot, ceiling, results)


def snapshot_at_turn(state: ClusterState, policy: Policy, limits: Limits, key: JobKey) -> Snapshot:
    """The snapshot right after a queued job's claim: what later claims and growth take is idle."""
    snapshot = observed_snapshot(state, policy, limits)
    _serve_claims(snapshot, PassResults(), until=key)
    return snapshot


def observed_snapshot(
    state: ClusterState, policy: Policy, limits: Limits, restraints: Restraints = NO_RESTRAINTS
) -> Snapshot:
    """The snapshot of a state as it was read.

    It has neither departing workers nor pods that no job scales down for; nor have states derived
    from its own, for which `take_snapshot` suffices.
    """
    considered = without_delisted(with_offered_names(with_counted_demands(state, limits)))
    return take_snapshot(considered, policy, limits, restraints)


def allocate(snapshot: Snapshot, results: PassResults, ceiling: GrowthCeiling) -> StoppedForGood:
    """Run the passes in order; each reserves or releases capacity in the snapshot."""
    vacating, queue = _serve_claims(snapshot, results)
    without_places = settle_restarts(snapshot)
    hold_growth_until_quiet(snapshot, asked=queue.expects_shrinks)
    if vacating:
        vacating.keep_growth_to_needed_nodes()
    order = PlacementOrder(snapshot, results)
    unserved = order.without_waiting(grow(snapshot, ceiling))
    if snapshot.policy.balances:
        balance = snapshot.teams
        teams = TeamRebalance(snapshot, ceiling, balance) if balance else None
        team = teams.run(unserved) if teams else NO_TEAM
        Rebalance(snapshot, ceiling, team, teams).run(unserved)
    let_moves_go_first(snapshot, results)
    order.run()
    if without_places:  # rules cost a look at the cluster without each job
        return StoppedForGood(without_places)
    return StoppedForGood(forbidden=forbidden_by_rules(snapshot))


def _serve_claims(
    snapshot: Snapshot, results: PassResults, until: JobKey | None = None
) -> tuple[Vacating | None, AdmissionQueue]:
    """The passes before growth; claims that come after the one of job `until` are not served."""
    vacating = Vacating(snapshot, results) if only_needed(snapshot) else None
    suspend_jobs(snapshot, results)
    shrink_to_limits(snapshot)
    reclaim_quotas(snapshot)
    assign_gated_pods(snapshot)
    if vacating:
        vacating.vacate()
    queue = AdmissionQueue(snapshot, results)
    queue.run(until)
    return vacating, queue
