"""Workers move off a node before it is removed.

Where a node is taken away (a spot interruption, a scale-down, a taint that ends its pods) they
leave at once. Where it is only cordoned, a machine that may stay for hours, one moves after the
other, and only if nodes and quotas let its replacement in; for a pod of a minimum extras make room
(`pod_claims.place_replacements`). So a drain comes to its end although PodDisruptionBudgets hold
it back.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from edl import reasons
from edl.contract import DISRUPTED
from edl.feasibility.horizon import IDLE
from edl.frameworks import FRAMEWORKS, resizing
from edl.model import JobKey, Node, Pod, ResizePolicy, Role, TrainingJob
from edl.planner.passes.pending_turns import pending_gated_pods, pending_ungated_pods
from edl.planner.plan import Drain
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import Decisions
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.spec import addresses

CORDONED: Final = "node.kubernetes.io/unschedulable"
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
"""Taints of nodes that are taken away, NoSchedule or NoExecute, as their makers document them."""
_MAY_COME_BACK: Final = frozenset(
    {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
)
"""No process can tell a pod there to leave, and its node may be back at any moment."""


class NodesThatGo(NamedTuple):
    """Nodes whose pods may be taken off them."""

    going: Mapping[str, str]
    """Nodes that are taken away, each with the taint that does so."""
    cordoned: frozenset[str]


def nodes_that_go(nodes: Iterable[Node]) -> NodesThatGo:
    tainted = [node for node in nodes if node.taints]
    going = {node.name: taint for node in tainted if (taint := _interruption(node))}
    cordoned = {node.name for node in tainted if _is_cordoned(node)}
    return NodesThatGo(going, frozenset(cordoned - going.keys()))


def drains(snapshot: Snapshot, decisions: Decisions, busy: frozenset[JobKey]) -> tuple[Drain, ...]:
    """Pods that are to be made anew elsewhere; `busy` jobs have something else to do."""
    if not decisions.leaving:
        return ()
    going = nodes_that_go(snapshot.state.nodes).going
    leaving = {one: pods for one, pods in decisions.leaving.items() if one.job.key not in busy}
    may = [
        one for one, pods in leaving.items() if pods[0].node not in going and is_whole(one, pods[0])
    ]
    moved = _in_turn(snapshot, may)
    return tuple(
        _moved(one, pods, going)
        for one, pods in sorted(leaving.items(), key=lambda found: found[0].rank)
        if pods[0].node in going or one in moved
    )


def draining_nodes(nodes: Iterable[Node]) -> frozenset[str]:
    """The names of all of them."""
    going, cordoned = nodes_that_go(nodes)
    return cordoned.union(going)


def movable_allocations(snapshot: Snapshot) -> list[RoleAllocation]:
    """Started roles of which one pod may go and come back while the others train."""
    return [
        one
        for one in snapshot.allocations
        if not one.job.problem and one.role in roles_with_movable_pods(one.job)
    ]


def _interruption(node: Node) -> str:
    """The taint that takes this node away, or nothing."""
    keys = (
        taint.key
        for taint in node.taints
        if taint.key in INTERRUPTED
        or (taint.effect == "NoExecute" and taint.key not in _MAY_COME_BACK)
    )
    return next(keys, "")


def _is_cordoned(node: Node) -> bool:
    return any(taint.key == CORDONED for taint in node.taints)


def roles_with_movable_pods(job: TrainingJob) -> Iterator[Role]:
    """Roles of which one pod may go and come back while the others train."""
    framework = FRAMEWORKS[job.framework]
    names = [role.name for role in job.roles]
    if resizing(job.framework, job.mode, names) is not ResizePolicy.LIVE:
        return
    for role in job.live:
        if framework.kinds[role.name].resizable and not (
            role.status.suspended or role.request.removing
        ):
            yield role


def pods_that_must_leave(
    snapshot: Snapshot, allocation: RoleAllocation, going: Collection[str]
) -> Sequence[Pod]:
    """Its pods on nodes that are taken away, but for the last ready one of the role."""
    return keeping_one_ready(allocation.role, _unwelcome(snapshot, allocation, going))


def pods_that_may_leave(
    snapshot: Snapshot, allocation: RoleAllocation, cordoned: Collection[str]
) -> Sequence[Pod]:
    """Its pods on nodes that are only cordoned; the highest index first: extras before others."""
    return _unwelcome(snapshot, allocation, cordoned)[::-1]


def _unwelcome(
    snapshot: Snapshot, allocation: RoleAllocation, nodes: Collection[str]
) -> Sequence[Pod]:
    found = [pod for pod in _bound(allocation.role) if pod.node in nodes]
    if not found:
        return ()
    stays = snapshot.eligibility.tolerated(allocation.role.template.shape)
    return [pod for pod in found if not stays[snapshot.capacity.index[pod.node]]]


def keeping_one_ready(role: Role, lost: Sequence[Pod]) -> Sequence[Pod]:
    """One ready worker stays until another is there: without any, in-memory state is lost."""
    names = {pod.name for pod in lost}
    alone = role.status.size - sum(pod.ended for pod in role.status.pods) <= 1
    if alone or any(pod.ready and pod.name not in names for pod in _bound(role)):
        return lost
    last = next((pod for pod in lost if pod.ready), None)
    return [pod for pod in lost if pod is not last]


def _in_turn(snapshot: Snapshot, allocations: Iterable[RoleAllocation]) -> set[RoleAllocation]:
    """Roles that the plan places, and then others: never both where they might meet.

    kube-scheduler would put an ungated pod wherever there is room, also where a gated one is to go.
    """
    found: set[RoleAllocation] = set()
    gated, ungated = [*pending_gated_pods(snapshot)], [*pending_ungated_pods(snapshot)]
    ungated += [
        one.pod_class for one in snapshot.allocations if one.created and not one.role.template.gated
    ]
    for one in sorted(allocations, key=lambda one: (not one.role.template.gated, one.rank)):
        others = ungated if one.role.template.gated else gated
        if not any(one.pod_class.competes_with(other) for other in others):
            found.add(one)
            gated += [one.pod_class] * one.role.template.gated
    return found


def quota_allows_replacement(snapshot: Snapshot, job: TrainingJob, role: Role) -> bool:
    """Its replacement counts what it counts itself, which an overdrawn quota refuses."""
    return snapshot.quotas.pod_request(job, role).allows(IDLE, 0)


def _bound(role: Role) -> list[Pod]:
    return [pod for pod in role.status.pods if pod.node and not (pod.terminating or pod.ended)]


def is_whole(allocation: RoleAllocation, last: Pod) -> bool:
    """All others are there, and listed: one goes when the one before has come back."""
    job, role = allocation.job, allocation.role
    whole = len(role.status.pods) == role.status.size and others_are_ready(role, last)
    return whole and all(
        _lists_others(launcher, role, last)
        for one in job.roles
        if one.spec.is_leader and FRAMEWORKS[job.framework].publishes == role.name
        for launcher in one.status.pods
        if not (launcher.ended or launcher.terminating)
    )


def others_are_ready(role: Role, last: Pod) -> bool:
    """Whether all of its size are there; others may be about to leave."""
    others = (pod for pod in role.status.pods if pod is not last and not pod.terminating)
    return sum(pod.ready for pod in others) == role.status.size - 1


def _lists_others(launcher: Pod, role: Role, last: Pod) -> bool:
    """`last` itself may be off the list already: it leaves in two steps."""
    own = f"{addresses.hostname(role.job, last.index)}."
    listed = [host for host in (launcher.published.hosts or "").split() if not host.startswith(own)]
    return len(listed) == role.status.size - 1


def _moved(allocation: RoleAllocation, pods: Sequence[Pod], going: Mapping[str, str]) -> Drain:
    """`going`: by node, the taint that takes it away."""
    job, role = allocation.job, allocation.role
    nodes = {pod.node for pod in pods}
    taints = {going[node] for node in nodes if node in going}
    reason = reasons.off_nodes([f"{role.name}-{pod.index}" for pod in pods], nodes, taints)
    return Drain(job.key, role.name, tuple(pod.name for pod in pods), reason)
