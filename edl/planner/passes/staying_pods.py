"""Pods that plans leave on cordoned nodes, and whether a drain can evict them.

Their PodDisruptionBudget blocks a drain, until their node is cordoned for `drain_patience`: then
the budget of their role is deleted, and the drain evicts them as a failure of the node would.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta

from edl import phases
from edl.model import Node, Pod, Reason, Role, TrainingJob
from edl.planner.disruption_budgets import counted_pods, disruptions_allowed
from edl.planner.pass_results import PassResults
from edl.planner.passes.drain import may_lose_pods, nodes_that_go
from edl.planner.plan import StayingPods
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decision_clock import DecisionClock


def staying_pods(snapshot: Snapshot, results: PassResults) -> tuple[StayingPods, ...]:
    """The pods of budgets that stay on cordoned nodes, without those that are about to move."""
    nodes, clock = snapshot.state.nodes, snapshot.clock
    cordoned = nodes_that_go(nodes).cordoned
    overdue = overdue_nodes(nodes, snapshot.limits.drain_patience, clock) if cordoned else ()
    found = []
    for one in sorted(snapshot.allocations, key=lambda one: one.rank) if cordoned else ():
        if one in results.leaving or one.job.key in results.suspended:
            continue
        why = results.irreplaceable.get(one)
        if _may_move(one.job, one.role) and why is None:
            continue
        if stay := _counted_on(cordoned, one.role):
            found.append(_staying(one.job, one.role, stay, why, overdue))
    return tuple(found)


def staying_anyway(
    job: TrainingJob, nodes: Iterable[Node], overdue: Collection[str]
) -> tuple[tuple[StayingPods, ...], bool]:
    """The staying pods of a job's roles that no plan moves, and whether there can be no others.

    Otherwise a plan of the whole cluster decides about the others.
    """
    cordoned = nodes_that_go(nodes).cordoned
    there = [(role, _counted_on(cordoned, role)) for role in job.live]
    fixed = [(role, pods) for role, pods in there if pods and not _may_move(job, role)]
    complete = len(fixed) == sum(bool(pods) for _, pods in there)
    return tuple(_staying(job, *one, None, overdue) for one in fixed), complete


def overdue_nodes(
    nodes: Iterable[Node], patience: timedelta, clock: DecisionClock
) -> frozenset[str]:
    """The nodes that are cordoned for longer than the patience; none if it is zero."""
    return frozenset(
        node.name
        for node in nodes
        if patience and clock.elapsed_or_recheck(node.cordoned_since, patience)
    )


def _may_move(job: TrainingJob, role: Role) -> bool:
    return may_lose_pods(job, role) and not job.problem


def _counted_on(cordoned: Collection[str], role: Role) -> list[Pod]:
    """The pods on these nodes that the role's PodDisruptionBudget counts."""
    return [pod for pod in counted_pods(role) if pod.active and pod.node in cordoned]


def _staying(
    job: TrainingJob,
    role: Role,
    pods: Sequence[Pod],
    why: Reason | None,
    overdue: Collection[str],
) -> StayingPods:
    """`why`: why no other pod can replace one, if the role may be moved."""
    if not may_lose_pods(job, role):
        why = None
    elif job.problem:
        why = job.problem
    ready = [pod for pod in pods if pod.ready]
    # Jobs that are left alone keep their budgets.
    unprotected = phases.blocked(job) is None and any(pod.node in overdue for pod in pods)
    allowed = len(ready) if unprotected else disruptions_allowed(job, role)
    stay = pods if allowed or not ready else ready
    evictable = len(stay) - len(ready) + min(len(ready), allowed)
    named = tuple((pod.name, pod.node) for pod in stay)
    return StayingPods(job.key, role.name, named, evictable, why, unprotected)
