"""Events about existing training jobs, their Jobs and their pods, ordered by time."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from edl import contract
from edl.errors import EdlError, Forbidden, Gone
from edl.kube.cluster import Cluster, ListOptions, RawList
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


def jobs_of(jobs: Iterable[TrainingJob]) -> Jobs:
    return {
        (job.key.namespace, role.job): Incarnation(role.uid, job.queued_at)
        for job in jobs
        for role in job.roles
    }


def about(events: Collection[EventFacts], jobs: Jobs) -> list[EventFacts]:
    """The Events about these Jobs and their pods, including deleted pods.

    A pod belongs to an earlier Job of the same name if the first Event about it is older than the
    Job. Its last Events may be newer, because it terminates while the next Job starts.
    """
    names, first = _names(jobs), _first_seen(events)
    return [event for event in events if _is_about(event, jobs, names, first)]


def _names(jobs: Jobs) -> Mapping[str, set[str]]:
    """The names of these Jobs by namespace."""
    names: dict[str, set[str]] = {}
    for namespace, name in jobs:
        names.setdefault(namespace, set()).add(name)
    return names


def _is_about(
    event: EventFacts, jobs: Jobs, names: Mapping[str, set[str]], first: Mapping[str, datetime]
) -> bool:
    namespace, name = event.body["metadata"].get("namespace") or "", event.name
    of_pod = event.kind == "Pod"
    if not of_pod and event.kind != "Job":
        return False
    job = jobs.get((namespace, owner(name, names.get(namespace, ())) if of_pod else name))
    if job is None:
        return False
    if not of_pod and event.uid:
        return event.uid == job.uid
    return first[_identity(event)] >= job.since


def owner(pod: str, jobs: Collection[str]) -> str:
    """The Job among `jobs` that created a pod of this name; empty if none did. The pod may be gone.

    The Job controller names pods JOB-INDEX-xxxxx, and JOB-xxxxx without indexes.
    """
    match = _POD.fullmatch(pod)
    named = {match["job"], pod[:-6]} if match else set()
    return max(named.intersection(jobs), key=len, default="")


def _first_seen(events: Iterable[EventFacts]) -> Mapping[str, datetime]:
    """The creation time of the first Event about each object."""
    times: dict[str, datetime] = {}
    for event in events:
        stored = timestamp(event.body["metadata"].get("creationTimestamp") or "") or _NEVER
        identity = _identity(event)
        times[identity] = min(times.get(identity, stored), stored)
    return times


def _identity(event: EventFacts) -> str:
    """The involved object: its uid, or else its namespace, kind and name."""
    return event.uid or f"{event.body['metadata'].get('namespace')}/{event.kind}/{event.name}"


_JOBS: Final = "involvedObject.kind=Job"
"""The field selector for Events about Jobs."""
_ONE_A_POD: Final = frozenset({"SuccessfulCreate", "SuccessfulDelete"})
"""The Job controller's reasons per pod; the table of pods shows the same, in fewer lines."""


def events_of(
    cluster: Cluster, namespace: str, jobs: Jobs, *, ours: bool
) -> tuple[EventFacts, ...]:
    """Events about these Jobs and their pods, newest last.

    `ours` adds all Events that kubectl-edl reported, also about deleted Jobs. The names of deleted
    pods are not known, so no field selector matches their Events: all are read, in pages of which
    only these are kept. Raises Forbidden.
    """
    selection, names = ListOptions("Event", namespace), _names(jobs)

    def select(pages: Iterable[RawList]) -> list[EventFacts]:
        events = (event for page in pages for event in event_facts(page.items))
        chosen = (
            event
            for event in events
            if _is_named(event, names) or (ours and _is_recorded_by_us(event))
        )
        return sorted(chosen, key=attrgetter("order"))

    try:
        listed = select(cluster.pages(selection))
    except Gone:  # the pages took longer than the server keeps a version
        listed = select((cluster.list(selection),))
    chosen = {event.body["metadata"]["uid"] for event in about(listed, jobs)}
    return tuple(
        event
        for event in listed
        if event.body["metadata"]["uid"] in chosen or (ours and _is_recorded_by_us(event))
    )


def _is_recorded_by_us(event: EventFacts) -> bool:
    return event.source == contract.MANAGED_BY


def _is_named(event: EventFacts, all_names: Mapping[str, set[str]]) -> bool:
    """Whether it is about a Job or a pod with such a name, of whatever uid."""
    names = all_names.get(event.body["metadata"].get("namespace") or "", set())
    if event.kind == "Pod":
        return bool(owner(event.name, names))
    return event.kind == "Job" and event.name in names


def events_about(cluster: Cluster, job: TrainingJob, pods: Iterable[str]) -> tuple[EventFacts, ...]:
    """Events about its Jobs and these pods, newest last: one list per object. Raises Forbidden."""
    names = (*(role.job for role in job.roles), *pods)
    fields = (f"involvedObject.name={name}" for name in names)
    selections = (ListOptions("Event", job.key.namespace, fields=field) for field in fields)
    listed = [raw for selection in selections for raw in cluster.list(selection).items]
    return tuple(about(event_facts(listed), jobs_of([job])))


def last_changes(cluster: Cluster, namespace: str, jobs: Jobs, most: int) -> tuple[EventFacts, ...]:
    """The newest `most` Events of these Jobs, newest last. Raises Forbidden, Gone."""
    events = _of_jobs(cluster, ListOptions("Event", namespace, fields=_JOBS), jobs)
    return tuple(event for event in events if event.reason not in _ONE_A_POD)[-most:]


def warnings_by_job(
    cluster: Cluster, jobs: Jobs
) -> tuple[Mapping[tuple[str, str], list[EventFacts]], list[EdlError]]:
    """The Warning Events of each of these Jobs, newest last, by (namespace, name).

    One list of Events, if the user may list them in all namespaces or the Jobs are in one; else one
    per namespace, and the errors of those that the user may not read.
    """
    by_job: defaultdict[tuple[str, str], list[EventFacts]] = defaultdict(list)
    warnings, errors = _warnings(cluster, jobs)
    for warning in warnings:
        by_job[_job_of(warning)].append(warning)
    return by_job, errors


def _warnings(cluster: Cluster, jobs: Jobs) -> tuple[list[EventFacts], list[EdlError]]:
    everywhere = ListOptions("Event", fields=f"{_JOBS},type=Warning")
    namespaces = sorted({namespace for namespace, _ in jobs})
    if len(namespaces) > 1:
        with suppress(Forbidden, Gone):
            return _of_jobs(cluster, everywhere, jobs), []
    events: list[EventFacts] = []
    errors: list[EdlError] = []
    for namespace in namespaces:
        try:
            events += _of_jobs(cluster, replace(everywhere, namespace=namespace), jobs)
        except (Forbidden, Gone) as error:
            errors.append(error)
    return events, errors


def _of_jobs(cluster: Cluster, selection: ListOptions, jobs: Jobs) -> list[EventFacts]:
    """The selected Events of these Jobs, newest last.

    The list is read in pages, of which only these are kept: it may have 100,000 of other Jobs.
    """
    pages = (event_facts(page.items) for page in cluster.pages(selection))
    named = [event for page in pages for event in page if _job_of(event) in jobs]
    return sorted(about(named, jobs), key=attrgetter("order"))


def _job_of(event: EventFacts) -> tuple[str, str]:
    """The (namespace, name) of the Job that an Event is about."""
    return event.body["metadata"].get("namespace") or "", event.name
