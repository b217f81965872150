"""Decodes the pods of training jobs: those of Jobs, and bare pods with our labels."""

from collections.abc import Iterable
from sys import intern
from typing import Final

import msgspec

from edl import contract, node_affinity
from edl.annotations import leaving_workers
from edl.annotations.failed_attempts import quoted
from edl.contract.manifest_parts import default_container
from edl.dns_names import is_dns_subdomain
from edl.errors import Denied
from edl.kube.decode.schemas import (
    ENDED_PHASES,
    SCHEDULING_GATED,
    Condition,
    ContainerStatus,
    ContainerWaiting,
    PodAnnotations,
    PodObject,
)
from edl.model import Code, Pod, PodPhase
from edl.model.pods import (
    CRASH_LOOP,
    ContainerWait,
    DisruptionMark,
    PlannedNode,
    PodContainers,
    PodDeletion,
    PublishedHosts,
    SchedulingStatus,
    TrainingRuns,
    foreign_gate,
)
from edl.parsing.parser import parse
from edl.parsing.yaml_values import timestamp, whole
from edl.spec.job_spec import DISRUPTION_TARGET, JobSpec
from edl.writes import Json

_TRUE: Final = "True"
_CODES: Final = {str(code): code for code in Code}
_SCHEDULED: Final = SchedulingStatus()
_UNREMARKABLE: Final = PodContainers()
_containers: Final = msgspec.json.Decoder(list[ContainerStatus] | None)


class BarePod(msgspec.Struct, frozen=True, gc=False):
    """A pod that does not belong to a Job. `account` is its ServiceAccount."""

    spec: JobSpec
    uid: str
    account: str


def bare_pod(raw: bytes) -> BarePod | None:
    """The facts of a whole pod that carries `edl.dev/framework`; None if its labels are invalid."""
    manifest = msgspec.json.decode(raw)
    try:
        spec = parse(manifest | {"kind": "Pod"})
    except Denied:
        return None
    return BarePod(
        spec, manifest["metadata"]["uid"], manifest["spec"].get("serviceAccountName", "")
    )


def pod(obj: PodObject, alone: BarePod | None, devices: tuple[str, ...]) -> Pod:
    annotations = obj.metadata.annotations
    rank = alone.spec.rank if alone else None
    conditions = obj.status.conditions or ()
    # The condition is outdated once the pod has ended without its kubelet, as on a lost node.
    is_ready = (one for one in conditions if one.type == "Ready" and one.status == _TRUE)
    ready = next(is_ready, None) if obj.status.phase == PodPhase.RUNNING else None
    gates = tuple(gate.name for gate in obj.spec.scheduling_gates or ())
    return Pod(
        name=obj.metadata.name,
        index=rank if rank is not None else _index(annotations.index),
        node=intern(obj.spec.node_name),
        phase=PodPhase(obj.status.phase),
        ready=ready is not None,
        terminating=obj.metadata.deletion_timestamp is not None,
        created_at=obj.metadata.creation_timestamp,
        version=obj.metadata.resource_version,
        published=_published(annotations),
        planned=_planned(obj, waits=contract.PLACEMENT_GATE in gates),
        scheduling=_scheduling(obj, gates),
        ready_since=ready.last_transition_time if ready else None,
        containers=_of_containers(obj),
        deletion=_deletion(obj),
        devices=devices,
    )


def _deletion(pod: PodObject) -> PodDeletion:
    finalizers = tuple(map(intern, pod.metadata.finalizers or ()))
    marks = (
        DisruptionMark(_CODES[condition.reason], condition.last_transition_time)
        for condition in pod.status.conditions or ()
        if condition.type == DISRUPTION_TARGET and condition.status == _TRUE
        if condition.reason in _CODES and condition.last_transition_time
    )
    return PodDeletion(finalizers, pod.metadata.deletion_timestamp, next(marks, None))


def _published(annotations: PodAnnotations) -> PublishedHosts:
    """The pod's host list. Most pods have none, and share one value."""
    return PublishedHosts(
        annotations.hosts if annotations.published_at else None,
        leaving_workers.read_leaving(annotations.leaving),
        timestamp(annotations.published_at),
        timestamp(annotations.confirmed_at),
    )


def _planned(pod: PodObject, *, waits: bool) -> PlannedNode:
    annotations = pod.metadata.annotations
    if waits:
        decides = (annotations.do_not_disrupt, annotations.safe_to_evict) != (None, None)
        affinity = intern(node_affinity.terms_text(msgspec.json.decode(pod.spec.affinity)))
        return PlannedNode(node_affinity=affinity, has_disruption_annotation=decides)
    if not is_dns_subdomain(annotations.assigned):
        return PlannedNode()
    return PlannedNode(intern(annotations.assigned), timestamp(annotations.placed_at))


def _scheduling(pod: PodObject, gates: tuple[str, ...]) -> SchedulingStatus:
    """The gates of a pod, or why its scheduler has not placed it; mostly neither.

    Another controller's scheduling gate counts as a refusal.
    """
    if gates:
        gate = foreign_gate(gates)
        refusal = intern(quoted(f"{SCHEDULING_GATED}: {gate}")) if gate else ""
        return SchedulingStatus(gates, refusal=refusal)
    if pod.spec.node_name:
        return _SCHEDULED
    for condition in pod.status.conditions or ():
        if is_refused_by_scheduler(condition):
            return SchedulingStatus(refusal=quoted(condition.message))
    scheduler = pod.spec.scheduler_name
    if scheduler == contract.DEFAULT_SCHEDULER:
        return _SCHEDULED
    return SchedulingStatus(scheduler=intern(quoted(scheduler)))


def is_refused_by_scheduler(condition: Condition) -> bool:
    """Whether this condition says that the pod's scheduler found no node for it."""
    refused = condition.type == "PodScheduled" and condition.status == "False"
    return refused and condition.reason != SCHEDULING_GATED


def _of_containers(pod: PodObject) -> PodContainers:
    """Its containers; pods that have not begun share one value."""
    containers = _containers.decode(pod.status.container_statuses) or []
    over = pod.metadata.deletion_timestamp is not None or pod.status.ended
    initial = [] if over else _containers.decode(pod.status.init_container_statuses) or []
    wait = None if over else _first_wait([*initial, *containers])
    waits = wait if wait and not wait.usual else None
    restarts = 0 if over else sum(status.restart_count for status in (*initial, *containers))
    training = _training_container(pod)
    status = next((status for status in containers if status.name == training), None)
    runs = _runs(status, over=over) if status else TrainingRuns()
    decoded = PodContainers(runs, waits, restarts)
    return _UNREMARKABLE if decoded == _UNREMARKABLE else decoded


def _training_container(pod: PodObject) -> str:
    names = [container.name for container in pod.spec.containers]
    return names[default_container(names, pod.metadata.annotations.container)] if names else ""


def _runs(status: ContainerStatus, *, over: bool) -> TrainingRuns:
    """The runs of one container.

    A kubelet that no longer knows the end of the run before reports none: it was before this run.
    """
    running, ended = status.state.running, status.state.terminated
    began = running.started_at if running else None
    if not status.restart_count:
        return TrainingRuns(began)
    if ended is None or not ended.exit_code:
        ended = status.last_state.terminated
    failed_at = ended.finished_at if ended and ended.finished_at else began
    restarts = 0 if over else status.restart_count
    return TrainingRuns(began, failed_at, ended.started_at if ended else None, restarts)


def container_wait(status: Json) -> ContainerWait | None:
    """The first container that cannot start, else the first that waits; None if none does."""
    if status.get("phase") in ENDED_PHASES:
        return None
    kinds = ("initContainerStatuses", "containerStatuses")
    statuses = [entry for kind in kinds for entry in status.get(kind) or ()]
    return _first_wait(msgspec.convert(statuses, list[ContainerStatus]))


def _first_wait(containers: Iterable[ContainerStatus]) -> ContainerWait | None:
    waits = [wait for container in containers if (wait := _wait(container))]
    return min(waits, key=lambda wait: wait.usual, default=None)


def _wait(container: ContainerStatus) -> ContainerWait | None:
    waiting, ended = container.state.waiting, container.last_state.terminated
    failed = container.state.terminated
    if failed and failed.exit_code and container.restart_count:
        # The kubelet shows the end of the last run for most of the delay before the next one.
        waiting, ended = ContainerWaiting(CRASH_LOOP), failed
    if waiting is None or not waiting.reason:
        return None
    return ContainerWait(
        container=container.name,
        reason=waiting.reason,
        message=quoted(waiting.message),
        restarts=container.restart_count,
        ended_by=(ended.reason or "Error") if ended else "",
        exit_code=ended.exit_code if ended else 0,
    )


def _index(text: str) -> int:
    index = whole(text)
    return -1 if index is None else index
