"""Nodes that hold up a running training job: cordoned, unready and deleted ones."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from edl.durations import duration_text
from edl.messages import message
from edl.messages.scarcity_messages import listed
from edl.model import Code, Node, Pod, Role, Taint, Toleration, TrainingJob
from edl.planner.plan import StayingPods
from kubectl_edl.job_views.blocker_facts import JobBlocker
from kubectl_edl.job_views.training_job_view import JobView
from kubectl_edl.output.cell_quantities import counted

UNREACHABLE: Final = "node.kubernetes.io/unreachable"
"""The taint of a node whose kubelet is silent, as its machine is off or its network is down."""
_SILENT: Final = (UNREACHABLE, "node.kubernetes.io/not-ready")
_DEFAULT_SECONDS: Final = 300
"""What the admission plugin DefaultTolerationSeconds adds to pods without such a toleration."""
_MAX_SECONDS: Final = 100 * 365 * 86_400
"""A hundred years: tolerationSeconds may be any int64, and a timedelta holds fewer days."""
_OUT_OF_SERVICE: Final = Taint("node.kubernetes.io/out-of-service", "nodeshutdown", "NoExecute")
AGAIN: Final = "only when the node is ready again, deleted or tainted out-of-service"
_LATE: Final = timedelta(seconds=30)
"""After its grace period a pod on a node that answers is gone within this time."""


def staying_text(group: StayingPods) -> str:
    """Which pods stay on cordoned nodes, why, and what their budget does to a drain."""
    names, nodes = [pod for pod, _ in group.pods], sorted({node for _, node in group.pods})
    verb, their = ("stays", "its") if len(names) == 1 else ("stay", "their")
    noun = "node" if len(nodes) == 1 else "nodes"
    stay = f"{listed(names)} {verb} on the cordoned {noun} {listed(nodes)}{_why_staying(group)}"
    if group.blocks_drain:
        until = "all are ready, or " if _awaits_others(group) else ""
        then = f"PodDisruptionBudget blocks a drain until {until}the job is paused or ends"
        return f"{stay}, and {their} {then}"
    if group.unprotected:
        return (
            f"{stay}; after --drain-patience {their} PodDisruptionBudget is deleted: kubectl drain "
            f"evicts {_them(names)}, and the job reacts as to the failure of a node"
        )
    first = f", {group.evictable} at once," if group.evictable < len(names) else ""
    return (
        f"{stay} until kubectl drain evicts {_them(names)}{first} and {their} Job recreates "
        f"{_them(names)} on nodes with free capacity"
    )


def _why_staying(group: StayingPods) -> str:
    if group.tolerated:
        they = "it tolerates" if len(group.pods) == 1 else "they tolerate"
        return f", as {they} the cordon"
    if group.reason is None:
        return ""
    them, why = _them(group.pods), message(group.reason)
    if _awaits_others(group):
        return f", as a plan moves {them} only while the other pods are ready ({why})"
    return f", as no other pod can replace {them} elsewhere ({why})"


def _awaits_others(group: StayingPods) -> bool:
    return group.reason is not None and group.reason.code in (Code.PODS_UNREADY, Code.PODS_MISSING)


class _PodsThere(NamedTuple):
    """Pods of one role on one node that no other pod replaces."""

    role: Role
    pods: Sequence[Pod]

    @property
    def evicted(self) -> bool:
        return self.pods[0].terminating


def unready_nodes(job: TrainingJob, nodes: Iterable[Node], flags: str = "") -> Iterator[JobBlocker]:
    """Nodes that are not ready under pods of the job, and what becomes of these pods.

    `flags`: the options by which kubectl reaches the cluster.
    """
    for node in nodes:
        if not node.ready:
            there = [group for role in job.live for group in _awaited(role, node.name)]
            for then in dict.fromkeys(_fate(group, node) for group in there):
                alike = [group for group in there if _fate(group, node) == then]
                count = sum(len(group.pods) for group in alike)
                pods = f"{counted(count, 'pod')} {'is' if count == 1 else 'are'}"
                what = f"{pods} on {node.name}, which {node_state(node)}: {then}"
                yield JobBlocker(what, _removal(node.name, alike, flags))


def _awaited(role: Role, node: str) -> Iterator[_PodsThere]:
    """Its pods there, those that terminate apart; a started role replaces the others elsewhere."""
    status = role.status
    active = [pod for pod in status.pods if pod.active]
    present = {pod.index for pod in active if role.spec.indexed}
    lacks = not status.suspended and len(active) < status.size
    there = [pod for pod in status.pods if pod.node == node and not pod.ended]
    leaving = [pod for pod in there if pod.terminating and lacks and pod.index not in present]
    for pods in ([pod for pod in there if pod.active], leaving):
        if pods:
            yield _PodsThere(role, pods)


def node_state(node: Node) -> str:
    """Since when it is not ready, after `which`."""
    unreachable = any(taint.key == UNREACHABLE for taint in node.taints)
    kind = " (unreachable)" if unreachable else ""
    since = f" since {node.since.unready:%Y-%m-%d %H:%M:%S} UTC" if node.since.unready else ""
    return f"is not ready{kind}{since}"


def _fate(group: _PodsThere, node: Node) -> str:
    """What Kubernetes does with such pods."""
    if group.evicted:
        return f"evicted, but not known to have ended; replaced {AGAIN}"
    tolerated = _tolerated(group.role, node)
    if tolerated is None:
        return "Kubernetes never evicts pods there, as they tolerate this without tolerationSeconds"
    when = f"after {duration_text(tolerated)}" if tolerated else "at once"
    then = f", and replaces them {AGAIN}" if group.role.status.ignores else ""
    return f"Kubernetes evicts pods there {when} (tolerationSeconds){then}"


def _tolerated(role: Role, node: Node) -> timedelta | None:
    """How long pods of the role stay on the unready node; None: until they end.

    Each taint counts with the first toleration that matches, and the shortest of these times.
    """
    real = [taint for taint in node.taints if taint.key in _SILENT and taint.effect == "NoExecute"]
    taints = real or [Taint(key, effect="NoExecute") for key in _SILENT]
    mine = role.template.shape.tolerations
    defaults = [
        Toleration(key, "Exists", effect="NoExecute", seconds=_DEFAULT_SECONDS)
        for key in _SILENT
        if not any(one.key in ("", key) and one.effect in ("", "NoExecute") for one in mine)
    ]
    matches = [taint.toleration((*mine, *defaults)) for taint in taints]
    if None in matches:
        return timedelta()
    times = [match.seconds for match in matches if match and match.seconds is not None]
    return timedelta(seconds=min(max(min(times), 0), _MAX_SECONDS)) if times else None


def awaited_pods(job: TrainingJob, nodes: Iterable[Node]) -> Iterator[str]:
    """The terminating pods of which `unready_nodes` says what becomes of them."""
    unready = [node.name for node in nodes if not node.ready]
    there = (group for role in job.live for name in unready for group in _awaited(role, name))
    yield from (pod.name for group in there if group.evicted for pod in group.pods)


def _removal(node: str, groups: Iterable[_PodsThere], flags: str) -> str:
    """The commands by which Kubernetes learns that no pod runs there any longer."""
    if any(_OUT_OF_SERVICE.tolerated(group.role.template.shape.tolerations) for group in groups):
        return f"make sure that its machine is off, then: kubectl delete node {node}{flags}"
    return off_commands(node, flags)


def off_commands(node: str, flags: str = "") -> str:
    """Both commands by which Kubernetes learns that the node's machine is off."""
    removed = f"kubectl delete node {node}{flags}"
    tainted = f"kubectl taint node {node} {_OUT_OF_SERVICE}{flags}"
    return f"make sure that its machine is off, then: {tainted}; or: {removed}"


def _unterminated(view: JobView, now: datetime) -> Iterator[JobBlocker]:
    """Pods whose deletion is overdue; nodes may be unreadable."""
    for node in view.nodes:
        there = [one for role in view.job.live for one in _awaited(role, node) if one.evicted]
        late = [pod for group in there for pod in group.pods if _is_overdue(pod, now)]
        if late:
            what = f"{counted(len(late), 'pod')} on {node} did not terminate in the grace period"
            yield JobBlocker(
                f"{what}: if the node is not ready, replaced {AGAIN}",
                f"ask a cluster administrator to run: kubectl get node {node}",
            )


def _is_overdue(pod: Pod, now: datetime) -> bool:
    return pod.deletion.due_at is not None and now - pod.deletion.due_at > _LATE


def node_blockers(
    view: JobView, nodes: Sequence[Node], staying: Iterable[StayingPods], now: datetime
) -> Iterator[JobBlocker]:
    """Blockers of one training job; `nodes` is empty if they may not be read."""
    for group in staying:
        if group.job == view.job.key and group.endangers:
            yield JobBlocker(staying_text(group), f"kubectl edl pause {view.argument}")
    if not nodes:
        yield from _unterminated(view, now)
        return
    yield from unready_nodes(view.job, nodes, view.scope.cluster_flags)
    yield from deleted_nodes(view.job, nodes)


def deleted_nodes(job: TrainingJob, nodes: Iterable[Node]) -> Iterator[JobBlocker]:
    """Nodes of its pods that no longer exist."""
    present = {node.name for node in nodes}
    pods = [pod for role in job.live for pod in role.status.pods if pod.active and pod.node]
    for gone in sorted({pod.node for pod in pods} - present):
        names = [pod.name for pod in pods if pod.node == gone]
        yield JobBlocker(
            f"node {gone} of {listed(names)} does not exist any longer: pod garbage collection "
            f"deletes {_them(names)} within about a minute, and the Job controller then replaces "
            f"{_them(names)}",
            "",
        )


def _them(names: Sequence[object]) -> str:
    return "it" if len(names) == 1 else "them"
