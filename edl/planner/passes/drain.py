"""Workers move off a node before it is removed.

Where a node is taken away (a spot interruption, a scale-down, a taint that ends its pods) they
leave at once. Where it is only cordoned, a machine that may stay for hours, one moves after the
other, and only if nodes and quotas let its replacement in. So a drain comes to its end although
PodDisruptionBudgets hold it back.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from edl import reasons
from edl.contract import DISRUPTED
from edl.feasibility.eligibility import Mask
from edl.feasibility.horizon import IDLE
from edl.frameworks import FRAMEWORKS, resizing
from edl.model import ClusterState, JobKey, Node, Pod, ResizePolicy, Role, TrainingJob
from edl.planner.passes.pending_turns import pending_gated_pods, pending_ungated_pods
from edl.planner.plan import Drain
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation
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


def drains(state: ClusterState, snapshot: Snapshot, busy: frozenset[JobKey]) -> tuple[Drain, ...]:
    """Pods that are to be made anew elsewhere; `busy` jobs have something else to do."""
    tainted = [node for node in state.nodes if node.taints]
    going = {node.name: taint for node in tainted if (taint := _interruption(node))}
    cordoned = {node.name for node in tainted if _is_cordoned(node)} - going.keys()
    if not going and not cordoned:
        return ()
    allocations = [
        one
        for one in snapshot.allocations
        if one.job.key not in busy
        and not one.job.problem
        and one.role in roles_with_movable_pods(one.job)
    ]
    # First the pods that must move: the room that they need is not there for those that only may.
    leaving = {one: lost for one in allocations if (lost := _forced(snapshot, one, going))}
    rest = [one for one in allocations if one not in leaving]
    leaving |= _offers(snapshot, rest, cordoned)
    return tuple(leaving[one] for one in allocations if one in leaving)


def draining_nodes(nodes: Iterable[Node]) -> frozenset[str]:
    """Nodes whose pods may be taken off them."""
    tainted = (node for node in nodes if node.taints)
    return frozenset(node.name for node in tainted if _is_cordoned(node) or _interruption(node))


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


def _forced(snapshot: Snapshot, allocation: RoleAllocation, going: dict[str, str]) -> Drain | None:
    """Off nodes that are taken away."""
    role = allocation.role
    stays, nodes = snapshot.eligibility.tolerated(role.template.shape), snapshot.capacity.index
    lost = [pod for pod in _bound(role) if pod.node in going and not stays[nodes[pod.node]]]
    first = keeping_one_ready(role, lost)
    if not first:
        return None
    allocation.pod_class.idle.reserve_pods(len(first))
    return _moved(allocation.job, role, first, going)


def keeping_one_ready(role: Role, lost: Sequence[Pod]) -> Sequence[Pod]:
    """One ready worker stays until another is there: without any, in-memory state is lost."""
    names = {pod.name for pod in lost}
    alone = role.status.size - sum(pod.ended for pod in role.status.pods) <= 1
    if alone or any(pod.ready and pod.name not in names for pod in _bound(role)):
        return lost
    last = next((pod for pod in lost if pod.ready), None)
    return [pod for pod in lost if pod is not last]


def _offers(
    snapshot: Snapshot, allocations: Sequence[RoleAllocation], cordoned: set[str]
) -> dict[RoleAllocation, Drain]:
    """Drains of roles that the plan places, and then of others: never both where they might meet.

    kube-scheduler would put an ungated pod wherever there is room, also where a gated one is to go.
    """
    found: dict[RoleAllocation, Drain] = {}
    gated, ungated = [*pending_gated_pods(snapshot)], [*pending_ungated_pods(snapshot)]
    ungated += [
        one.pod_class for one in snapshot.allocations if one.created and not one.role.template.gated
    ]
    for one in sorted(allocations, key=lambda one: not one.role.template.gated):
        others = ungated if one.role.template.gated else gated
        if any(one.pod_class.competes_with(other) for other in others):
            continue
        if offer := _offered(snapshot, one, cordoned):
            found[one] = offer
            gated += [one.pod_class] * one.role.template.gated
    return found


def _offered(snapshot: Snapshot, allocation: RoleAllocation, cordoned: set[str]) -> Drain | None:
    """Off nodes that are only cordoned."""
    job, role, pod_class = allocation.job, allocation.role, allocation.pod_class
    stays = snapshot.eligibility.tolerated(role.template.shape)
    # The highest index first: extras before the minimum.
    pods = reversed(_bound(role))
    last = next((pod for pod in pods if _may_move(snapshot, pod, cordoned, stays)), None)
    node = pod_class.idle.find() if last else NO_NODE
    if last is None or node == NO_NODE or not _are_whole(job, role, last):
        return None
    if not quota_allows_replacement(snapshot, job, role):
        return None
    pod_class.idle.reserve(node)
    return _moved(job, role, [last], {})


def quota_allows_replacement(snapshot: Snapshot, job: TrainingJob, role: Role) -> bool:
    """Its replacement counts what it counts itself, which an overdrawn quota refuses."""
    quota_request = snapshot.quotas.pod_request(job, role)
    return quota_request is None or quota_request.allows(IDLE, 0)


def _bound(role: Role) -> list[Pod]:
    return [pod for pod in role.status.pods if pod.node and not (pod.terminating or pod.ended)]


def _may_move(snapshot: Snapshot, pod: Pod, cordoned: set[str], stays: Mask) -> bool:
    return pod.node in cordoned and not stays[snapshot.capacity.index[pod.node]]


def _are_whole(job: TrainingJob, role: Role, last: Pod) -> bool:
    """All others are there, and listed: one goes when the one before has come back."""
    others = [
        pod for pod in role.status.pods if pod is not last and pod.ready and not pod.terminating
    ]
    return len(others) == role.status.size - 1 == len(role.status.pods) - 1 and all(
        _lists_others(launcher, role, last)
        for one in job.roles
        if one.spec.is_leader and FRAMEWORKS[job.framework].publishes == role.name
        for launcher in one.status.pods
        if not (launcher.ended or launcher.terminating)
    )


def _lists_others(launcher: Pod, role: Role, last: Pod) -> bool:
    """`last` itself may be off the list already: it leaves in two steps."""
    own = f"{addresses.hostname(role.job, last.index)}."
    listed = [host for host in (launcher.published.hosts or "").split() if not host.startswith(own)]
    return len(listed) == role.status.size - 1


def _moved(job: TrainingJob, role: Role, pods: Sequence[Pod], going: Mapping[str, str]) -> Drain:
    """`going`: by node, the taint that takes it away."""
    nodes = {pod.node for pod in pods}
    taints = {going[node] for node in nodes if node in going}
    reason = reasons.off_nodes([f"{role.name}-{pod.index}" for pod in pods], nodes, taints)
    return Drain(job.key, role.name, tuple(pod.name for pod in pods), reason)
