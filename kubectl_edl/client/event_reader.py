"""Events about existing training jobs, their Jobs and their pods, ordered by time."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final, NamedTuple, TypeAlias

from edl import contract
from edl.errors import Forbidden
from edl.kube.cluster import Cluster, ListOptions
from edl.kube.event_facts import EventFacts, event_facts
from edl.model import TrainingJob
from edl.parsing.yaml_values import timestamp

_POD: Final = re.compile(r"(?P<job>.+?)(-[0-9]+)?-[a-z0-9]{5}")
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class Incarnation(NamedTuple):
    """One Job: its uid, and the creation time of its training job."""

    uid: str
    since: datetime


Jobs: TypeAlias = Mapping[tuple[str, str], Incarnation]
"""Jobs by (namespace, name)."""


def jobs_of(found: Iterable[TrainingJob]) -> Jobs:
    return {
        (job.key.namespace, role.job): Incarnation(role.uid, job.queued_at)
        for job in found
        for role in job.roles
    }


def about(events: Collection[EventFacts], jobs: Jobs) -> list[EventFacts]:
    """The Events about these Jobs and their pods, including deleted pods.

    A pod belongs to an earlier Job of the same name if the first Event about it is older than the
    Job. Its last Events may be newer, because it terminates while the next Job starts.
    """
    known: dict[str, set[str]] = {}
    for namespace, name in jobs:
        known.setdefault(namespace, set()).add(name)
    first = _first_seen(events)
    return [event for event in events if _is_about(event, jobs, known, first)]


def _is_about(
    event: EventFacts, jobs: Jobs, known: Mapping[str, set[str]], first: Mapping[str, datetime]
) -> bool:
    namespace, name = event.body["metadata"].get("namespace") or "", event.name
    of_pod = event.kind == "Pod"
    if not of_pod and event.kind != "Job":
        return False
    job = jobs.get((namespace, owner(name, known.get(namespace, ())) if of_pod else name))
    if job is None:
        return False
    if not of_pod and event.uid:
        return event.uid == job.uid
    return first[_identity(event)] >= job.since


def owner(pod: str, jobs: Iterable[str]) -> str:
    """The Job among `jobs` that created a pod of this name; empty if none did. The pod may be gone.

    The Job controller names pods JOB-INDEX-xxxxx, and JOB-xxxxx without indexes.
    """
    match = _POD.fullmatch(pod)
    named = {match["job"], pod[:-6]} if match else set()
    return max(named & set(jobs), key=len, default="")


def _first_seen(events: Iterable[EventFacts]) -> Mapping[str, datetime]:
    """The creation time of the first Event about each object."""
    found: dict[str, datetime] = {}
    for event in events:
        stored = timestamp(event.body["metadata"].get("creationTimestamp") or "") or _NEVER
        identity = _identity(event)
        found[identity] = min(found.get(identity, stored), stored)
    return found


def _identity(event: EventFacts) -> str:
    """The involved object: its uid, or else its namespace, kind and name."""
    return event.uid or f"{event.body['metadata'].get('namespace')}/{event.kind}/{event.name}"


_ONE_A_POD: Final = frozenset({"SuccessfulCreate", "SuccessfulDelete"})
"""The Job controller's reasons per pod; the table of pods shows the same, in fewer lines."""


def events_of(
    cluster: Cluster, namespace: str, jobs: Jobs, *, ours: bool
) -> tuple[EventFacts, ...]:
    """Events about these Jobs and their pods, newest last.

    `ours` adds all Events that kubectl-edl reported, also about deleted Jobs. Raises Forbidden.
    """
    listed = event_facts(cluster.list(ListOptions("Event", namespace)).items)
    chosen = {one.body["metadata"]["uid"] for one in about(listed, jobs)}
    return tuple(
        one
        for one in listed
        if one.body["metadata"]["uid"] in chosen or (ours and one.source == contract.MANAGED_BY)
    )


def events_about(cluster: Cluster, job: TrainingJob, pods: Iterable[str]) -> tuple[EventFacts, ...]:
    """Events about its Jobs and these pods, newest last: one list per object. Raises Forbidden."""
    names = (*(role.job for role in job.roles), *pods)
    selections = (ListOptions("Event", job.key.namespace, about=name) for name in names)
    listed = [raw for selection in selections for raw in cluster.list(selection).items]
    return tuple(about(event_facts(listed), jobs_of([job])))


def last_changes(cluster: Cluster, namespace: str, jobs: Jobs, most: int) -> tuple[EventFacts, ...]:
    """The newest `most` Events of these Jobs, newest last. Raises Forbidden."""
    return tuple(filter(_is_change, events_of(cluster, namespace, jobs, ours=False)))[-most:]


def changes_by_job(
    cluster: Cluster, jobs: Jobs, refused: Callable[[Forbidden], None]
) -> Mapping[tuple[str, str], list[EventFacts]]:
    """The Events of each of these Jobs, newest last, by (namespace, name).

    One list of Events, if the user may list them in all namespaces or the Jobs are in one; else one
    per namespace, and `refused` gets the errors.
    """
    found: defaultdict[tuple[str, str], list[EventFacts]] = defaultdict(list)
    listed = event_facts(_listed(cluster, sorted({namespace for namespace, _ in jobs}), refused))
    for one in filter(_is_change, about(listed, jobs)):
        found[one.body["metadata"]["namespace"], one.name].append(one)
    return found


def _listed(
    cluster: Cluster, namespaces: Collection[str], refused: Callable[[Forbidden], None]
) -> list[bytes]:
    if len(namespaces) > 1:
        with suppress(Forbidden):
            return list(cluster.list(ListOptions("Event")).items)
    found: list[bytes] = []
    for namespace in namespaces:
        try:
            found += cluster.list(ListOptions("Event", namespace)).items
        except Forbidden as error:
            refused(error)
    return found


def _is_change(event: EventFacts) -> bool:
    return event.kind == "Job" and event.reason not in _ONE_A_POD
