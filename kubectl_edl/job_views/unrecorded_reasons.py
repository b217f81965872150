"""Reasons that only the published queue knows, as the reconciler cannot write them to the Jobs.

A right that it lacks, or a policy, refuses such a write, and with it the job's start.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime

from msgspec.structs import replace

from edl import reasons
from edl.errors import Forbidden
from edl.job_state.phases import blocked, waits_to_start
from edl.kube.cluster import ListOptions, server_time
from edl.kube.decode.config_maps import config_map
from edl.model import ClusterState, Code, TrainingJob
from edl.visibility.namespace_queue import CONFIG_MAP, KEY, parse
from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.client.reconciler_lease import LeaseView, leadership
from kubectl_edl.job_views.job_reasons import Why, why
from kubectl_edl.job_views.published_queue import (
    PublishedView,
    read_published,
    viewed,
    why_of_published,
)


def published_queues(
    connection: ClusterConnection,
    now: datetime,
    jobs: Iterable[TrainingJob],
    lead: LeaseView | None = None,
) -> Mapping[str, PublishedView]:
    """By namespace, what is published of queued jobs, as far as the Jobs may lack it.

    It is read only where such a job waits, and is empty without the right to read it.
    """
    namespaces = {job.key.namespace for job in jobs if _may_lack(job)}
    if len(namespaces) > 1:
        return {view.namespace: view for view in _every(connection, now, namespaces, lead)}
    read = (read_published(connection, now, name, lead)[0] for name in namespaces)
    return {view.namespace: view for view in read if view}


def with_refused_starts(
    state: ClusterState, connection: ClusterConnection, now: datetime
) -> ClusterState:
    """The state as the reconciler plans it: without starts that the API server refuses."""
    views = published_queues(connection, now, state.jobs)
    if not views:
        return state
    return replace(
        state, jobs=tuple(_as_refused(job, _published(job, views)) for job in state.jobs)
    )


def with_published_reason(job: TrainingJob, views: Mapping[str, PublishedView]) -> TrainingJob:
    """The job for display: with the published reason, if its Jobs record none."""
    published = _published(job, views)
    if published and why(job).reason is Code.UNOBSERVED:
        first, *others = job.roles
        recorded = first.changed(reason=published.reason, message=published.message)
        job = replace(job, roles=(recorded, *others))
    return _as_refused(job, published)


def _may_lack(job: TrainingJob) -> bool:
    return bool(job.roles) and waits_to_start(job) and not blocked(job)


def _every(
    connection: ClusterConnection,
    now: datetime,
    namespaces: Collection[str],
    lead: LeaseView | None,
) -> Iterator[PublishedView]:
    server_now = server_time(connection.cluster, now)
    with suppress(Forbidden):
        lead = lead or leadership(connection, now)
        for raw in connection.cluster.list(ListOptions("ConfigMap", name=CONFIG_MAP)).items:
            facts = config_map(raw)
            if facts.name.namespace in namespaces:
                with suppress(ValueError):
                    queue = parse(facts.data.get(KEY, ""))
                    yield viewed(facts.name.namespace, queue, lead, server_now)


def _as_refused(job: TrainingJob, reported: Why | None) -> TrainingJob:
    if reported is None or reported.reason is not Code.START_REFUSED:
        return job
    return replace(job, problem=reasons.quoted(Code.START_REFUSED, reported.message))


def _published(job: TrainingJob, views: Mapping[str, PublishedView]) -> Why | None:
    """What is published of this job, not of an earlier one of its name; None if nothing is."""
    view = views.get(job.key.namespace)
    if view is None or view.as_of < job.queued_at or not _may_lack(job):
        return None
    entry = view.job(job.key)
    reported = why_of_published(entry) if entry else None
    return reported if reported and reported.reason else None
