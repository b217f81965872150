"""Pods that plans leave on cordoned nodes, and whether a drain can evict them.

Their PodDisruptionBudget blocks a drain, until their node has been cordoned for `drain_patience`:
then the budget of their role is deleted, and the drain evicts them as a failure of the node would.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from operator import attrgetter
from typing import Final, NamedTuple, Self

from msgspec.structs import replace

from edl import reasons
from edl.frameworks import FRAMEWORKS
from edl.job_state import phases
from edl.job_state.lost_pods import missing_pods, recreated_within, why_role_lacks
from edl.model import Code, Node, Pod, Reason, Role, TrainingJob
from edl.planner.disruption_budgets import counted_pods, disruptions_allowed, min_available
from edl.planner.pass_results import PassResults
from edl.planner.passes.drain import (
    is_movable,
    may_lose_pods,
    nodes_that_go,
    others_are_ready,
    pods_that_may_leave,
)
from edl.planner.plan import Drain, StayingPods
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decision_clock import DecisionClock
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.spec.allowed_sizes import with_work

_SOON: Final = timedelta(minutes=2)
"""A new pod, and the Job controller's back-off before it, usually take less."""


class Cordons(NamedTuple):
    """The cordoned nodes, and how long budgets protect pods there; zero: for ever."""

    nodes: frozenset[str]
    overdue: frozenset[str]
    """Those that have been cordoned for the patience, also if they are about to be removed."""
    patience: timedelta
    clock: DecisionClock

    @classmethod
    def of(cls, nodes: Sequence[Node], patience: timedelta, clock: DecisionClock) -> Self:
        overdue = frozenset(
            node.name
            for node in nodes
            if patience and clock.elapsed_or_recheck(node.since.cordoned, patience)
        )
        return cls(nodes_that_go(nodes).cordoned | overdue, overdue, patience, clock)

    def lift(self, job: TrainingJob, role: Role) -> bool:
        """Whether the role gets no budget as long as no plan moves its pods off overdue nodes.

        Jobs that are left alone keep theirs.
        """
        if phases.blocked(job) or not min_available(job, role):
            return False
        return bool(_counted_on(self.overdue, role)) and not self._go_one_by_one(job, role)

    def _go_one_by_one(self, job: TrainingJob, role: Role) -> bool:
        """Whether a drain evicts work items beside the budget: now, or once others are ready.

        New items have the patience for that.
        """
        if FRAMEWORKS[job.framework].ranked:
            return False
        active = [pod for pod in role.status.pods if pod.active]
        return (
            disruptions_allowed(job, role) > 0
            or len(active) < with_work(role, role.status.size)
            or not all(
                self.clock.elapsed_or_recheck(pod.created_at, self.patience)
                for pod in active
                if not pod.ready
            )
        )


def staying_pods(
    snapshot: Snapshot, results: PassResults, drains: Iterable[Drain]
) -> tuple[StayingPods, ...]:
    """The pods of budgets that stay on cordoned nodes, without those that are about to move."""
    cordons = Cordons.of(snapshot.state.nodes, snapshot.limits.drain_patience, snapshot.clock)
    moved = {(drain.job, drain.role): drain.pods for drain in drains}
    staying = []
    for allocation in (
        sorted(snapshot.allocations, key=lambda allocation: allocation.rank)
        if cordons.nodes
        else ()
    ):
        if allocation.job.key in results.suspended or not (
            pods := _counted_on(cordons.nodes, allocation.role)
        ):
            continue
        away = moved.get((allocation.job.key, allocation.role.name), ())
        moves = any(pod.name in away for pod in _counted_on(cordons.overdue, allocation.role))
        lifted = not moves and cordons.lift(allocation.job, allocation.role)
        why = results.irreplaceable.get(allocation) or _why_none_moves(
            snapshot, allocation, cordons
        )
        leaves = allocation in results.leaving or (
            _may_move(allocation.job, allocation.role) and why is None
        )
        if lifted or not leaves:
            staying.append(_staying(allocation.job, allocation.role, pods, why, lifted=lifted))
        elif tolerant := _tolerant(snapshot, allocation, pods):
            stays = _staying(allocation.job, allocation.role, tolerant, None, lifted=False)
            staying.append(replace(stays, tolerated=True))
    return tuple(staying)


def _tolerant(snapshot: Snapshot, allocation: RoleAllocation, pods: Iterable[Pod]) -> Sequence[Pod]:
    """Those of the pods that tolerate the taints of their nodes."""
    tolerated = snapshot.eligibility.tolerated(allocation.role.template.shape)
    return [pod for pod in pods if tolerated[snapshot.capacity.index[pod.node]]]


def staying_anyway(job: TrainingJob, cordons: Cordons) -> tuple[tuple[StayingPods, ...], bool]:
    """The staying pods of a job's roles that no plan moves, and whether there can be no others.

    Otherwise a plan of the whole cluster decides about the others.
    """
    there = [(role, _counted_on(cordons.nodes, role)) for role in job.live]
    fixed = [(role, pods) for role, pods in there if pods and not _may_move(job, role)]
    complete = len(fixed) == sum(bool(pods) for _, pods in there)
    return tuple(
        _staying(job, role, pods, None, lifted=cordons.lift(job, role)) for role, pods in fixed
    ), complete


def _why_none_moves(
    snapshot: Snapshot, allocation: RoleAllocation, cordons: Cordons
) -> Reason | None:
    """Which pods keep the next one from its move, as each waits until all others are ready.

    None if they may soon be ready: they have just been created, as after each move.
    """
    role = allocation.role
    first = next(iter(pods_that_may_leave(snapshot, allocation, cordons.nodes)), None)
    if first is None or not is_movable(allocation) or others_are_ready(role, first):
        return None
    if missing_pods(role) and recreated_within(role) > _SOON:
        return why_role_lacks(role)
    others = (pod for pod in role.status.pods if pod is not first and pod.active)
    late = [pod.name for pod in others if not pod.ready and _is_late(pod, cordons.clock)]
    return reasons.about_pods(Code.PODS_UNREADY, late) if late else None


def _is_late(pod: Pod, clock: DecisionClock) -> bool:
    """Whether a pod that is not ready has had its time, or fails again and again."""
    waits = pod.containers.waits
    return bool(waits and not waits.usual) or clock.elapsed_or_recheck(pod.created_at, _SOON)


def _may_move(job: TrainingJob, role: Role) -> bool:
    return may_lose_pods(job, role) and not job.problem


def _counted_on(nodes: Collection[str], role: Role) -> list[Pod]:
    """The pods on these nodes that the role's PodDisruptionBudget counts, by index and name."""
    pods = (pod for pod in counted_pods(role) if pod.active and pod.node in nodes)
    return sorted(pods, key=attrgetter("index", "name"))


def _staying(
    job: TrainingJob, role: Role, pods: Sequence[Pod], why: Reason | None, *, lifted: bool
) -> StayingPods:
    """`why`: why no other pod can replace one, if the role may be moved."""
    if not may_lose_pods(job, role):
        why = None
    elif job.problem:
        why = job.problem
    ready = [pod for pod in pods if pod.ready]
    allowed = len(ready) if lifted else disruptions_allowed(job, role)
    stay = pods if allowed or not ready else ready
    evictable = len(stay) - len(ready) + min(len(ready), allowed)
    named = tuple((pod.name, pod.node) for pod in stay)
    return StayingPods(job.key, role.name, named, evictable, why, lifted)
