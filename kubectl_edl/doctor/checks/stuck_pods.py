"""Finds pods that do not terminate, that no scheduler processes, or that fit nowhere.

Also nodes of KubeShare that report no GPUs, so that their shares are planned without a limit.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from edl import contract
from edl.errors import Forbidden
from edl.job_state.phases import waits_to_start
from edl.kube.decode.gpu_sharing import GPU_COUNT_LABEL, UNCOUNTED
from edl.kube.decode.schemas import SCHEDULING_GATED
from edl.messages import message
from edl.messages.scarcity_messages import listed
from edl.model import Code, Node, TrainingJob
from edl.parsing.yaml_values import timestamp
from edl.quantities import SHARED_GPU
from kubectl_edl.cli.suggested_commands import FixCommand, by_administrator, explanation
from kubectl_edl.doctor.checks.check import (
    CheckContext,
    CheckResult,
    CheckResults,
    first,
    warning,
)
from kubectl_edl.doctor.unsettled_pods import UnsettledPod
from kubectl_edl.job_views.job_reasons import why
from kubectl_edl.job_views.node_blockers import AGAIN, awaited_pods, node_state, off_commands
from kubectl_edl.output.age import duration
from kubectl_edl.output.cell_quantities import counted

_LATE: Final = timedelta(minutes=1)
"""After its grace period a pod is gone within this time."""
_PROCESSED: Final = timedelta(minutes=1)
"""A scheduler that runs has placed or refused a pod within this time."""
_PLACED: Final = timedelta(seconds=30)
"""A replaced pod of a minimum has a node within this time, if one has room."""
_SHOWN: Final = 100
"""The most characters of a finalizer's or scheduler's name that are shown."""
_SCHEDULER: Final = FixCommand("kubectl get lease kube-scheduler -n kube-system -o yaml")
"""Its renewTime shows whether a kube-scheduler leads, also of a managed control plane."""
_Nodes = Mapping[str, Node] | None
"""By name; None if they may not be read."""


class _Awaited(StrEnum):
    """What a terminating pod waits for."""

    FINALIZERS = "Finalizers"
    DELETED_NODE = "DeletedNode"
    UNREADY_NODE = "UnreadyNode"
    UNREADABLE_NODE = "UnreadableNode"
    KUBELET = "Kubelet"


def terminating(context: CheckContext) -> CheckResults:
    """Pods whose grace period is long over, by what they wait for and on which node."""
    late = [
        pod
        for pod in context.unsettled_pods
        if context.now - _due(pod, context.now) > _LATE
        and (pod.spec.node_name or pod.metadata.finalizers)
    ]
    if not late:
        return
    nodes = _nodes(context)
    named = _named_with_their_job(context, nodes)
    groups: defaultdict[tuple[_Awaited, str], list[UnsettledPod]] = defaultdict(list)
    for pod in late:
        if (pod.metadata.namespace, pod.metadata.name) not in named:
            groups[_awaited(pod, nodes)].append(pod)
    results = [
        _unterminated(awaited, about, pods, (nodes or {}).get(about), context.now)
        for (awaited, about), pods in sorted(groups.items())
    ]
    yield from first(results, FixCommand(f"kubectl get pods {context.where} -o wide"))


def _due(pod: UnsettledPod, otherwise: datetime) -> datetime:
    """The end of its grace period."""
    return pod.metadata.deletion_timestamp or otherwise


def _nodes(context: CheckContext) -> _Nodes:
    try:
        return context.nodes
    except Forbidden:
        return None


def _named_with_their_job(context: CheckContext, nodes: _Nodes) -> frozenset[tuple[str, str]]:
    """The pods that the check of unready nodes reports."""
    return frozenset(
        (job.key.namespace, name)
        for job in context.survey.jobs
        for name in awaited_pods(job, (nodes or {}).values())
    )


def _awaited(pod: UnsettledPod, nodes: _Nodes) -> tuple[_Awaited, str]:
    """What the pod waits for, with its finalizers or its node: finalizers once it has ended."""
    name = pod.spec.node_name
    finalizers = listed([_cut(finalizer) for finalizer in pod.metadata.finalizers or ()])
    ended = not name or pod.status.ended
    node = None if nodes is None else nodes.get(name)
    if finalizers and (ended or (nodes is not None and node is None)):
        return _Awaited.FINALIZERS, finalizers
    if nodes is None:
        return _Awaited.UNREADABLE_NODE, name
    if node is None:
        return _Awaited.DELETED_NODE, name
    return (_Awaited.KUBELET if node.ready else _Awaited.UNREADY_NODE), name


def _cut(name: str) -> str:
    """A name that any user may have set, and at any length."""
    return name if len(name) <= _SHOWN else f"{name[: _SHOWN - 1]}…"


def _unterminated(
    awaited: _Awaited, about: str, pods: Sequence[UnsettledPod], node: Node | None, now: datetime
) -> CheckResult:
    """`about`: the finalizers, or the name of the node."""
    it, its = ("it", "its") if len(pods) == 1 else ("them", "their")
    silent = f"{node_state(node)}; Kubernetes removes {it} {AGAIN}" if node else ""
    why = {
        _Awaited.FINALIZERS: f"no controller has removed {its} finalizer {about}",
        _Awaited.DELETED_NODE: f"node {about} does not exist any longer, only {its} object is left",
        _Awaited.UNREADY_NODE: f"node {about} {silent}, and counts {its} requests until then",
        _Awaited.UNREADABLE_NODE: f"the kubelet of node {about} has not ended {it}",
        _Awaited.KUBELET: f"node {about} is ready, but its kubelet has not ended {it}",
    }[awaited]
    since = duration(now - min(_due(pod, now) for pod in pods))
    what = f"{_names(pods)} should have terminated {since} ago: {why}"
    return warning(what, _remedy(awaited, about, pods[0]))


def _remedy(awaited: _Awaited, name: str, example: UnsettledPod) -> FixCommand:
    """The command for a node, or for the first of the pods."""
    pod = f"pod {example.metadata.name} -n {example.metadata.namespace}"
    match awaited:
        case _Awaited.FINALIZERS:
            unset = (
                f"""kubectl patch {pod} --type=merge -p '{{"metadata":{{"finalizers":null}}}}'"""
            )
            return FixCommand(f"if the controller that set it is gone: {unset}")
        case _Awaited.DELETED_NODE:
            return FixCommand(f"kubectl delete {pod} --force")
        case _Awaited.UNREADY_NODE:
            return FixCommand(off_commands(name))
        case _Awaited.UNREADABLE_NODE:
            return by_administrator(f"kubectl get node {name}")
        case _Awaited.KUBELET:
            return FixCommand(f"kubectl describe {pod}")


def _names(pods: Sequence[UnsettledPod]) -> str:
    """`web/a-0`, or `2 pods (web/a-0, web/a-1)`."""
    names = sorted(f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods)
    return names[0] if len(names) == 1 else f"{counted(len(names), 'pod')} ({listed(names)})"


def ignored(context: CheckContext) -> CheckResults:
    """Pods that their scheduler has neither placed nor refused, by scheduler."""
    groups: defaultdict[str, list[UnsettledPod]] = defaultdict(list)
    for pod in context.unsettled_pods:
        since = _unprocessed_since(pod)
        if since is not None and context.now - since > _PROCESSED:
            groups[pod.spec.scheduler_name].append(pod)
    results = [_unprocessed(name, pods, context.now) for name, pods in sorted(groups.items())]
    yield from first(results, FixCommand(f"kubectl get pods {context.where}"))


def _unprocessed_since(pod: UnsettledPod) -> datetime | None:
    """Since when it waits for the first answer of its scheduler; None if it does not.

    The API server's condition for scheduling gates stays when they are removed; the reconciler
    records the time at which it removes its own.
    """
    metadata, spec = pod.metadata, pod.spec
    if (
        pod.status.phase != "Pending"
        or spec.node_name
        or spec.scheduling_gates
        or metadata.deletion_timestamp
    ):
        return None
    answers = [one for one in pod.status.conditions or () if one.type == "PodScheduled"]
    if any(answer.reason != SCHEDULING_GATED for answer in answers):
        return None
    placed = timestamp(metadata.annotations.placed_at)
    return placed or (None if answers else metadata.creation_timestamp)


def _unprocessed(scheduler: str, pods: Sequence[UnsettledPod], now: datetime) -> CheckResult:
    since = min(filter(None, map(_unprocessed_since, pods)), default=now)
    waited = f"{_names(pods)} for {duration(now - since)}"
    if scheduler == contract.DEFAULT_SCHEDULER:
        return warning(f"kube-scheduler has not processed {waited}", _SCHEDULER)
    name = f'scheduler "{_cut(scheduler)}"'
    return warning(
        f"{name} has not processed {waited}",
        f"run {name}, or delete the owners of these pods and apply them with a "
        "schedulerName that runs",
    )


def unplaced(context: CheckContext) -> CheckResults:
    """Started jobs of whose minimum pods have had no node for a while, and what these lack."""
    waiting = [job for job in context.survey.jobs if _lacks_nodes(job, context.now)]
    if not waiting:
        return
    try:
        _, _, plan = context.next_plan
    except Forbidden:
        return  # the check `never` names the missing right
    for job in waiting:
        if lacks := plan.unplaced(job.key):
            yield warning(f"{job.key}: {message(lacks)}", explanation(job))


def _lacks_nodes(job: TrainingJob, now: datetime) -> bool:
    if waits_to_start(job) or why(job).reason is not Code.INSUFFICIENT_CAPACITY:
        return False
    pods = [pod for role in job.live for pod in role.status.pods if pod.active and not pod.node]
    return any(now - pod.created_at > _PLACED for pod in pods)


def uncounted_gpus(context: CheckContext) -> CheckResults:
    """Nodes of KubeShare that report no GPUs."""
    nodes = (_nodes(context) or {}).values()
    names = [node.name for node in nodes if node.allocatable.get(SHARED_GPU) == UNCOUNTED]
    if names:
        label = f"{contract.SHARED_GPU_NODE}={contract.TRUE}"
        what = f"report {contract.GPU_RESOURCE} neither as a resource nor by {GPU_COUNT_LABEL}"
        effect = "so that shares of their GPUs are planned without a limit"
        yield warning(
            f"nodes with {label} {what}, {effect}: {listed(names)}",
            by_administrator(f"kubectl label node {names[0]} {GPU_COUNT_LABEL}=NUMBER"),
        )
