"""Workers whose node is about to go move elsewhere before it does.

Where a node is taken away (a spot interruption, a scale-down, a taint that ends its pods) they
leave at once. Where it is only cordoned, a machine that may stay for hours, one moves after the
other, and only if there is room for it elsewhere. So a drain comes to its end although budgets hold
it back.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from edl import addresses
from edl.frameworks import FRAMEWORKS, resizing
from edl.model import ClusterState, JobKey, Node, Pod, Resizing, Role, TrainingJob
from edl.planner import reasons
from edl.planner.board import Board
from edl.planner.eligibility import Mask
from edl.planner.plan import Evacuation
from edl.planner.standing import NOWHERE

CORDONED: Final = "node.kubernetes.io/unschedulable"
INTERRUPTED: Final = frozenset(
    {
        "ToBeDeletedByClusterAutoscaler",
        "aws-node-termination-handler/asg-lifecycle-termination",
        "aws-node-termination-handler/scheduled-maintenance",
        "aws-node-termination-handler/spot-itn",
        "cloud.google.com/impending-node-termination",
        "karpenter.sh/disrupted",
        "karpenter.sh/disruption",
        "node.cloudprovider.kubernetes.io/shutdown",
        "node.kubernetes.io/out-of-service",
    }
)
"""Taints of nodes that are taken away, whatever their effect: as their makers document them."""
_MAY_COME_BACK: Final = frozenset(
    {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
)
"""Nobody can tell a pod there to leave, and its node may be back at any moment."""


def evacuations(
    state: ClusterState, board: Board, busy: frozenset[JobKey]
) -> tuple[Evacuation, ...]:
    """Pods that are to be made anew elsewhere; `busy` jobs have something else to do."""
    going = {node.name: taint for node in state.nodes if (taint := _interruption(node))}
    cordoned = {node.name for node in state.nodes if _is_cordoned(node)} - going.keys()
    if not going and not cordoned:
        return ()
    found = [
        _evacuation(board, job, role, going, cordoned)
        for job in board.jobs
        if job.key not in busy and not job.problem
        for role in _movable(job)
    ]
    return tuple(one for one in found if one)


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


def _movable(job: TrainingJob) -> Iterator[Role]:
    """Roles of which one pod may go and come back while the others train."""
    framework = FRAMEWORKS[job.framework]
    names = [role.name for role in job.roles]
    if resizing(job.framework, job.mode, names) is not Resizing.LIVE:
        return
    for role in job.live:
        if framework.kinds[role.name].resizable and not (role.suspended or role.removing):
            yield role


def _evacuation(
    board: Board, job: TrainingJob, role: Role, going: dict[str, str], cordoned: set[str]
) -> Evacuation | None:
    pods = [pod for pod in role.pods if pod.node and not (pod.terminating or pod.ended)]
    stays = board.eligibility.tolerated(role.shape)
    rows = board.grid.rows
    lost = [pod for pod in pods if pod.node in going and not stays[rows[pod.node]]]
    if lost:
        # One stays until the first has come back: nobody left would be the end of what they know.
        first = lost[1:] if len(lost) == len(pods) > 1 else lost
        names = sorted({going[pod.node] for pod in lost})
        return _moved(job, role, first, reasons.node_goes(names))
    # The highest index first: extras before the minimum.
    last = next((pod for pod in reversed(pods) if _may_move(board, pod, cordoned, stays)), None)
    room = last and board.rows_of(role.shape).fit.both.find() != NOWHERE
    if last and room and _are_whole(job, role, last):
        return _moved(job, role, [last], reasons.CORDONED)
    return None


def _may_move(board: Board, pod: Pod, cordoned: set[str], stays: Mask) -> bool:
    return pod.node in cordoned and not stays[board.grid.rows[pod.node]]


def _are_whole(job: TrainingJob, role: Role, last: Pod) -> bool:
    """All others are there, and listed: one goes when the one before has come back."""
    others = [pod for pod in role.pods if pod is not last and pod.ready and not pod.terminating]
    return len(others) == role.size - 1 == len(role.pods) - 1 and all(
        _lists_others(launcher, role, last)
        for one in job.roles
        if one.decides and FRAMEWORKS[job.framework].publishes == role.name
        for launcher in one.pods
    )


def _lists_others(launcher: Pod, role: Role, last: Pod) -> bool:
    """`last` itself may be off the list already: it leaves in two steps."""
    own = f"{addresses.hostname(role.job, last.index)}."
    listed = [host for host in (launcher.hosts or "").split() if not host.startswith(own)]
    return len(listed) == role.size - 1


def _moved(job: TrainingJob, role: Role, pods: Sequence[Pod], reason: str) -> Evacuation:
    return Evacuation(job.key, role.name, tuple(pod.name for pod in pods), reason)
