"""Pending pods of a training job, and the reasons from the scheduler or the kubelet."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from edl import contract
from edl.errors import Forbidden
from edl.kube.cluster import Cluster, ListOptions
from edl.kube.decode import training_pods
from edl.kube.decode.schemas import SCHEDULING_GATED
from edl.kube.event_facts import EventFacts, event_facts
from edl.messages import container_messages
from edl.model import TrainingJob
from edl.model.object_refs import JOB_TYPE
from edl.model.pods import ContainerWait
from edl.parsing.yaml_values import timestamp
from edl.writes import Json

_AFTER_THE_POD: Final = frozenset({"WaitForFirstConsumer", "WaitForPodScheduled"})
"""Event reasons of claims that are bound after the pod is scheduled: they block no node."""
_MAX_PODS_WITH_EVENTS: Final = 10
"""Pods, and claims, whose Events are read."""


class PodCauses:
    """PersistentVolumeClaims of one namespace, and Events about some objects, on demand.

    Events are listed per object: a namespace may have 100,000 of them.
    """

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._last: dict[str, dict[str, EventFacts | None]] = {}

    def claims(self, pod: Json) -> str:
        """The PersistentVolumeClaims that block scheduling, with reasons; empty if none."""
        names = tuple(_claimed(pod))
        if not names or self._by_name is None:
            return ""
        reasons = {name: self._in_the_way(self._by_name.get(name)) for name in names}
        return "; ".join(
            f"PersistentVolumeClaim {name} {why}" for name, why in reasons.items() if why
        )

    def warning(self, pod: Json) -> str:
        """The last Warning Event about the pod, such as a failed mount; empty if there is none."""
        event = self._event("Pod", pod["metadata"]["name"])
        if event is None or event.uid not in ("", pod["metadata"]["uid"]):
            return ""
        return _event_text(event) if event.warning else ""

    def _in_the_way(self, claim: Json | None) -> str:
        if claim is None:
            return "does not exist"
        metadata, phase = claim["metadata"], claim.get("status", {}).get("phase")
        if "deletionTimestamp" in metadata:
            return "is being deleted"
        if phase == "Lost":
            return "has lost its volume"
        event = None if phase == "Bound" else self._event("PersistentVolumeClaim", metadata["name"])
        if event is None or event.reason in _AFTER_THE_POD:
            return ""
        return f"is not bound: {_event_text(event)}"

    @cached_property
    def _by_name(self) -> dict[str, Json] | None:
        """The claims by name; None if the user may not list them."""
        try:
            listed = self._cluster.list(ListOptions("PersistentVolumeClaim", self._namespace))
        except Forbidden:
            return None
        return {claim["metadata"]["name"]: claim for claim in listed.manifests()}

    def _event(self, kind: str, name: str) -> EventFacts | None:
        """The last Event about one of the kind's first objects; None without one, or a right."""
        read = self._last.setdefault(kind, {})
        if name not in read and len(read) < _MAX_PODS_WITH_EVENTS:
            read[name] = self._last_event(kind, name)
        return read.get(name)

    def _last_event(self, kind: str, name: str) -> EventFacts | None:
        fields = f"involvedObject.name={name},involvedObject.kind={kind}"
        try:
            listed = self._cluster.list(ListOptions("Event", self._namespace, fields=fields)).items
        except Forbidden:
            return None
        return next(reversed(event_facts(listed)), None)


def _claimed(pod: Json) -> Iterator[str]:
    for volume in pod["spec"].get("volumes") or ():
        if source := volume.get("persistentVolumeClaim"):
            yield source["claimName"]
        elif "ephemeral" in volume:
            yield f"{pod['metadata']['name']}-{volume['name']}"


def _event_text(event: EventFacts) -> str:
    return f"{event.reason}: {event.message}"


REMOVE_GATES: Final = (
    """kubectl patch pod POD -p '{"spec":{"schedulingGates":["""
    f"""{{"$patch":"delete","name":"{contract.HOSTS_GATE}"}},"""
    f"""{{"$patch":"delete","name":"{contract.PLACEMENT_GATE}"}}]}}}}'"""
)
"""The command for a pod whose gates no reconciler removes; gates of other controllers stay.

The API server ignores one that a pod lacks: only launchers wait for their hosts.
"""


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """One pending pod; `why` comes from its status, and `node` is empty if it is not bound."""

    name: str
    job: str
    node: str
    since: datetime | None
    why: str
    stalled: bool = False
    """A container cannot start: `Pod.containers` says why."""
    gated: bool = False
    """It has the scheduling gate that its whole gang loses at once."""
    claims: bool = False
    """It waits for a PersistentVolumeClaim, not for capacity."""
    scheduler: str = ""
    """The scheduler that it names, other than kube-scheduler, if that has not processed it yet."""


def pods_of(cluster: Cluster, job: TrainingJob) -> list[Json]:
    """The pods of its Jobs, sorted by name. Raises Forbidden."""
    jobs = {role.job for role in job.roles}
    if not jobs:
        return []
    labels = f"{contract.JOB_NAME_LABEL} in ({','.join(sorted(jobs))})"
    manifests = cluster.list(ListOptions("Pod", job.key.namespace, labels)).manifests()
    owned = (pod for pod in manifests if jobs.intersection(owning_jobs(pod)))
    return sorted(owned, key=lambda pod: str(pod["metadata"]["name"]))


def waiting_pods(cluster: Cluster, namespace: str, pods: Iterable[Json]) -> tuple[WaitingPod, ...]:
    """The pending ones of these pods of Jobs."""
    causes = PodCauses(cluster, namespace)
    waiting = (_unplaced(pod, owner, causes) for pod in pods for owner in owning_jobs(pod))
    return tuple(pod for pod in waiting if pod)


def owning_jobs(pod: Json) -> Iterator[str]:
    """The names of the Jobs that own a pod: one at most."""
    references = pod["metadata"].get("ownerReferences") or ()
    return (ref["name"] for ref in references if (ref["apiVersion"], ref["kind"]) == JOB_TYPE)


def _unplaced(pod: Json, job: str, causes: PodCauses) -> WaitingPod | None:
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    if status.get("phase", "Pending") != "Pending" or "deletionTimestamp" in pod["metadata"]:
        return None
    scheduler = _other_scheduler(spec)
    reason = next(_reasons(spec, status), None)
    wait, why = reason or (None, f"{scheduler or 'kube-scheduler'} has not processed it yet")
    node = spec.get("nodeName") or ""
    claims = "" if node or spec.get("schedulingGates") else causes.claims(pod)
    warning = causes.warning(pod) if node and (wait is None or wait.usual) else ""
    return WaitingPod(
        name=pod["metadata"]["name"],
        job=job,
        node=node,
        since=timestamp(pod["metadata"].get("creationTimestamp") or ""),
        why=claims or warning or why,
        stalled=wait is not None and not wait.usual,
        gated=_is_gated(spec),
        claims=bool(claims),
        scheduler=scheduler if reason is None else "",
    )


def _other_scheduler(spec: Json) -> str:
    """`scheduler "volcano"` if the pod names another one than kube-scheduler; else empty."""
    name = spec.get("schedulerName") or contract.DEFAULT_SCHEDULER
    return "" if name == contract.DEFAULT_SCHEDULER else f'scheduler "{name}"'


def _gates(spec: Json) -> list[str]:
    return [gate["name"] for gate in spec.get("schedulingGates") or ()]


def _is_gated(spec: Json) -> bool:
    return contract.PLACEMENT_GATE in _gates(spec)


def _reasons(spec: Json, status: Json) -> Iterator[tuple[ContainerWait | None, str]]:
    """Each cause: gates, the scheduler's message, then the container that waits."""
    gates = _gates(spec)
    if _is_gated(spec):
        yield None, "scheduling-gated until every pod of its gang has a node"
    elif gates:
        yield None, f"scheduling-gated by {', '.join(gates)}"
    for condition in status.get("conditions") or ():
        refused = condition.get("type") == "PodScheduled" and condition.get("status") == "False"
        if refused and condition.get("reason") != SCHEDULING_GATED:
            yield (
                None,
                " ".join((condition.get("message") or condition.get("reason") or "").split()),
            )
    if wait := training_pods.container_wait(status):
        yield wait, container_messages.container_wait(wait)
    if spec.get("nodeName"):
        yield None, "its node has not started it yet"
