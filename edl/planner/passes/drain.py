"""Workers move off a node before it is removed.

From a node that is about to be removed (a spot interruption, a scale-down, a NoExecute taint) they
leave at once. A node that is only cordoned may stay for hours: its pods move one after the other,
and only if nodes and quotas admit the replacement; extras yield for a pod of a minimum
(`pod_claims.place_replacements`). So `kubectl drain` completes although PodDisruptionBudgets block
its evictions.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from edl import reasons
from edl.contract import DISRUPTED
from edl.feasibility.horizon import IDLE
from edl.frameworks import FRAMEWORKS, resizing
from edl.model import JobKey, Node, Pod, Reason, ResizePolicy, Role, TrainingJob
from edl.model.nodes import CORDONED
from edl.planner.pass_results import PassResults
from edl.planner.passes.placement_order import defer_growth
from edl.planner.plan import Drain
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.snapshot.unbound_pods import pending_gated_pods, pending_ungated_pods
from edl.spec import addresses

INTERRUPTED: Final = frozenset(
    {
        "ToBeDeletedByClusterAutoscaler",
        "aws-node-termination-handler/asg-lifecycle-termination",
        "aws-node-termination-handler/scheduled-maintenance",
        "aws-node-termination-handler/spot-itn",
        "cloud.google.com/impending-node-termination",
        DISRUPTED,
        "karpenter.sh/disruption",
        "node.cloudprovider.kubernetes.io/shutdown",
        "node.kubernetes.io/out-of-service",
    }
)
"""Taints that announce the removal of a node, of any effect, as documented by their owners."""
_MAY_COME_BACK: Final = frozenset(
    {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
)
"""A pod on such a node cannot be terminated gracefully, and the node may return at any moment."""


class NodesThatGo(NamedTuple):
    """Nodes that pods are to leave."""

    going: Mapping[str, str]
    """Nodes about to be removed, each with the taint that announces it."""
    cordoned: frozenset[str]


def nodes_that_go(nodes: Iterable[Node]) -> NodesThatGo:
    tainted = [node for node in nodes if node.taints]
    going = {node.name: taint for node in tainted if (taint := _interruption(node))}
    cordoned = {node.name for node in tainted if CORDONED in {taint.key for taint in node.taints}}
    return NodesThatGo(going, frozenset(cordoned - going.keys()))


def drains(snapshot: Snapshot, results: PassResults, busy: frozenset[JobKey]) -> tuple[Drain, ...]:
    """The pods to evict from such nodes, except those of `busy` jobs, which change otherwise."""
    if not results.leaving:
        return ()
    going = nodes_that_go(snapshot.state.nodes).going
    may_move = [role for role in _may_move(snapshot, results) if role.job.key not in busy]
    moved = _in_turn(snapshot, may_move)
    return tuple(
        _moved(allocation, pods, going)
        for allocation, pods in sorted(results.leaving.items(), key=lambda item: item[0].rank)
        if allocation in moved or (pods[0].node in going and allocation.job.key not in busy)
    )


def let_moves_go_first(snapshot: Snapshot, results: PassResults) -> None:
    """Defer growth that would keep a pod of a minimum on its cordoned node.

    A role does not grow while its own pod moves, nor do ungated roles beside a gated pod: else they
    take the capacity that extras have just freed for the move, and yield it again without end.
    """
    leaving = results.leaving
    may_move = _may_move(snapshot, results)
    if not (moves := [role for role in may_move if leaving[role][0].index < role.min_replicas]):
        return
    gated = [allocation.pod_class for allocation in moves if allocation.role.template.gated]
    for allocation in snapshot.allocations:
        if allocation.changed and allocation.growth > 0 and not allocation.starts:
            beside = () if allocation.role.template.gated else gated
            if allocation in moves or any(map(allocation.pod_class.competes_with, beside)):
                defer_growth(allocation)


def _may_move(snapshot: Snapshot, results: PassResults) -> list[RoleAllocation]:
    """Roles of which a pod may leave its cordoned node now."""
    going = nodes_that_go(snapshot.state.nodes).going if results.leaving else {}
    return [
        allocation
        for allocation, (pod, *_) in results.leaving.items()
        if pod.node not in going and is_whole(allocation, pod)
    ]


def draining_nodes(nodes: Iterable[Node]) -> frozenset[str]:
    """The names of all nodes that pods are to leave."""
    going, cordoned = nodes_that_go(nodes)
    return cordoned.union(going)


def _interruption(node: Node) -> str:
    """The taint that announces the removal of this node, or ""."""
    keys = (
        taint.key
        for taint in node.taints
        if taint.key in INTERRUPTED
        or (taint.effect == "NoExecute" and taint.key not in _MAY_COME_BACK)
    )
    return next(keys, "")


def is_movable(allocation: RoleAllocation) -> bool:
    """Whether one pod of a started role may be replaced while the others train."""
    role = allocation.role
    if role.status.suspended or role.request.removing:
        return False
    return may_lose_pods(allocation.job, role) and not allocation.job.problem


def may_lose_pods(job: TrainingJob, role: Role) -> bool:
    """Whether the framework continues without one pod of the role."""
    live = resizing(job) is ResizePolicy.LIVE
    return live and FRAMEWORKS[job.framework].kinds[role.name].resizable


def pods_that_must_leave(
    snapshot: Snapshot, allocation: RoleAllocation, going: Collection[str]
) -> Sequence[Pod]:
    """The role's pods on nodes about to be removed, except its last ready one."""
    return keeping_one_ready(allocation.role, _unwelcome(snapshot, allocation, going))


def pods_that_may_leave(
    snapshot: Snapshot, allocation: RoleAllocation, cordoned: Collection[str]
) -> Sequence[Pod]:
    """The role's pods on cordoned nodes: its minimum before its extras, highest index first.

    PodDisruptionBudgets protect the minimum alone, and extras may find no capacity to move to.
    """
    pods = _unwelcome(snapshot, allocation, cordoned)
    return sorted(pods, key=lambda pod: (pod.index >= allocation.min_replicas, -pod.index))


def _unwelcome(
    snapshot: Snapshot, allocation: RoleAllocation, nodes: Collection[str]
) -> Sequence[Pod]:
    pods = [pod for pod in _bound(allocation.role) if pod.node in nodes]
    if not pods:
        return ()
    stays = snapshot.eligibility.tolerated(allocation.role.template.shape)
    return [pod for pod in pods if not stays[snapshot.capacity.index[pod.node]]]


def keeping_one_ready(role: Role, lost: Sequence[Pod]) -> Sequence[Pod]:
    """`lost` without its first ready pod if no other is ready: it holds the in-memory state.

    The only pod of a role leaves nevertheless.
    """
    names = {pod.name for pod in lost}
    alone = role.status.size - sum(pod.ended for pod in role.status.pods) <= 1
    if alone or any(pod.ready and pod.name not in names for pod in _bound(role)):
        return lost
    last = next((pod for pod in lost if pod.ready), None)
    return [pod for pod in lost if pod is not last]


def _in_turn(snapshot: Snapshot, allocations: Iterable[RoleAllocation]) -> set[RoleAllocation]:
    """The roles whose pods may be recreated now: gated roles first, then ungated ones.

    Gated and ungated pods that compete for nodes never come in one plan, because kube-scheduler
    may bind the ungated pod to the capacity that is assigned to the gated one.
    """
    movers: set[RoleAllocation] = set()
    gated = [*pending_gated_pods(snapshot)]
    ungated = [*pending_ungated_pods(snapshot, snapshot.unsettled)]
    ungated += [
        allocation.pod_class
        for allocation in snapshot.allocations
        if allocation.created and not allocation.role.template.gated
    ]
    for allocation in sorted(
        allocations, key=lambda allocation: (not allocation.role.template.gated, allocation.rank)
    ):
        others = ungated if allocation.role.template.gated else gated
        if not any(allocation.pod_class.competes_with(other) for other in others):
            movers.add(allocation)
            gated += [allocation.pod_class] * allocation.role.template.gated
    return movers


def exceeded_by_replacement(allocation: RoleAllocation) -> Reason | None:
    """The exceeded quota that refuses a replacement, which counts as much as the pod; or None."""
    quota = allocation.quota_request.exceeded(IDLE, 0)
    return reasons.over_quota(quota.spec) if quota else None


def _bound(role: Role) -> list[Pod]:
    return [pod for pod in role.status.pods if pod.node and pod.active]


def is_whole(allocation: RoleAllocation, last: Pod) -> bool:
    """Whether all pods but `last` are ready and in their launcher's host list.

    So a pod leaves only once the replacement of the one before has joined.
    """
    job, role = allocation.job, allocation.role
    there = sum(not pod.ended for pod in role.status.pods)
    return (there == _running_size(role) and others_are_ready(role, last)) and all(
        _lists_others(launcher, role, last)
        for leader in job.roles
        if leader.spec.is_leader and FRAMEWORKS[job.framework].publishes == role.name
        for launcher in leader.status.pods
        if launcher.active
    )


def others_are_ready(role: Role, last: Pod) -> bool:
    """Whether all pods of its size but `last` are ready, without terminating ones."""
    others = (pod for pod in role.status.pods if pod is not last and not pod.terminating)
    return sum(pod.ready for pod in others) == _running_size(role) - 1


def _running_size(role: Role) -> int:
    """How many pods its size has, without those of ranks that have ended."""
    return role.status.size - sum(rank < role.status.size for rank in role.ended_ranks)


def _lists_others(launcher: Pod, role: Role, last: Pod) -> bool:
    """Whether the launcher lists all others; `last` leaves the list before it is deleted."""
    own_host = f"{addresses.hostname(role.job, last.index)}."
    listed = [
        host for host in (launcher.published.hosts or "").split() if not host.startswith(own_host)
    ]
    return len(listed) == role.status.size - 1


def _moved(allocation: RoleAllocation, pods: Sequence[Pod], going: Mapping[str, str]) -> Drain:
    """The eviction of these pods. `going`: by node, the taint that announces its removal."""
    job, role = allocation.job, allocation.role
    nodes = {pod.node for pod in pods}
    taints = {going[node] for node in nodes if node in going}
    reason = reasons.off_nodes([f"{role.name}-{pod.index}" for pod in pods], nodes, taints)
    return Drain(job.key, role.name, tuple(pod.name for pod in pods), reason)
