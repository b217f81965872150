"""Reads the cluster for a command, with the same facts as the reconciler.

A user who may read only the Jobs and pods of one namespace still gets a survey, whose hints name
what is missing.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Flag
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from edl import contract
from edl.annotations.last_change import with_name
from edl.job_state.lost_pods import why_any_missing
from edl.kube.cluster import Cluster, ListOptions, server_time
from edl.kube.decode import job_facts, object_facts
from edl.kube.decode.job_facts import JobFacts
from edl.kube.decode.namespace_quotas import limit_range, quota
from edl.kube.decode.object_facts import NamespaceFacts, PodFacts, PriorityClassFacts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.state.observe import ClusterFacts, observe
from edl.kube.state.quota_usage import lacking_pods, with_refused_pods
from edl.messages import message
from edl.model import ClusterState, JobKey, Quota, Role, TrainingJob
from edl.parsing.namespace_policy import NamespacePolicy, allow_kubexec
from edl.writes import Json
from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.client.optional_reads import (
    Hints,
    namespaces,
    read_if_allowed,
    readable_namespaces,
)
from kubectl_edl.client.prefetched_lists import PrefetchedLists, jobs_of
from kubectl_edl.client.reconciler_lease import unmanaged

if TYPE_CHECKING:
    from edl.errors import Forbidden
    from edl.planner.published_settings import Settings

_UNKNOWN: Final = {"ConfigMap": "teams and their guarantees are unknown"}


class Survey(msgspec.Struct, frozen=True):
    """Training jobs by namespace and name."""

    jobs: tuple[TrainingJob, ...]
    hints: Hints = ()
    bare: tuple[TrainingJob, ...] = ()
    """Training jobs that consist of bare pods."""
    unranked: frozenset[str] = frozenset()
    """Those of the hints that say that priorities of queued jobs are unknown."""
    quotas: tuple[Quota, ...] = ()
    """The ResourceQuotas of the namespaces, if they were read."""

    @property
    def hints_but_priorities(self) -> Hints:
        """The hints for a command that uses no priorities."""
        return tuple(hint for hint in self.hints if hint not in self.unranked)

    @property
    def is_complete(self) -> bool:
        """Whether all was read, PriorityClasses excepted."""
        return not self.hints_but_priorities


class _Read(NamedTuple):
    """What was read; `unranked` are the hints that priorities of queued jobs are unknown."""

    facts: ClusterFacts
    hints: Hints = ()
    unranked: Hints = ()


class Reads(Flag):
    """What a survey reads."""

    JOBS = 0
    """The Jobs alone: they suffice to change a training job."""
    PODS = 1
    """Their pods and PriorityClasses, too."""
    QUOTAS_IF_LACKING = PODS | 2
    """ResourceQuotas, LimitRanges and namespaces, too, if a job lacks pods or has a problem."""
    QUOTAS = PODS | 4
    """ResourceQuotas, LimitRanges and namespaces, too."""
    PROVISIONAL_PODS = QUOTAS | 8
    """Provisional pods, too, whose usage of quotas passes to pods of their job."""


def read_survey(
    connection: ClusterConnection,
    now: datetime,
    reads: Reads = Reads.PODS,
    selector: str = "",
    prefetched: PrefetchedLists | None = None,
) -> Survey:
    """The training jobs; `selector` matches their Jobs' labels.

    A hint names what could not be read. Raises Forbidden if the Jobs may not be listed.
    """
    if Reads.PODS in reads:
        read = _training(prefetched or PrefetchedLists(connection))
    else:
        read = _Read(ClusterFacts(jobs=_managed_jobs(connection)))
    if Reads.PROVISIONAL_PODS in reads:
        read = _with_provisional_pods(connection, read)
    if Reads.QUOTAS in reads:
        read = _with_quotas(connection, read)
    server_now, state = server_time(connection.cluster, now), _observed(read.facts, now)
    if Reads.QUOTAS_IF_LACKING in reads and _is_lacking(state.jobs, server_now):
        read = _with_quotas(connection, read)
        state = _observed(read.facts, now)
    jobs = tuple(_named(with_refused_pods(state.jobs, state.quotas, server_now)))
    return Survey(
        selected(jobs, connection, selector),
        (*read.hints, *read.unranked),
        state.bare_jobs,
        frozenset(read.unranked),
        state.quotas,
    )


def _managed_jobs(connection: ClusterConnection) -> list[JobFacts]:
    others = unmanaged(connection.cluster)
    return [job for job in _jobs(connection) if job.key.namespace not in others]


def _is_lacking(jobs: Sequence[TrainingJob], now: datetime) -> bool:
    """Whether a job lacks pods, or has a problem."""
    lacks = (why_any_missing(job) or lacking_pods(job, now) for job in jobs)
    return any(job.problem for job in jobs) or any(lacks)


def _with_provisional_pods(connection: ClusterConnection, read: _Read) -> _Read:
    provisional = ListOptions("Pod", connection.namespace, contract.PROVISIONAL)
    shapes = ShapeInterner()
    pods, hints = read_if_allowed(
        lambda: [
            object_facts.pod(raw, shapes) for raw in connection.cluster.list(provisional).items
        ],
        "what provisional pods use of a ResourceQuota is unknown",
    )
    facts = replace(read.facts, pods=[*read.facts.pods, *pods])
    return _Read(facts, (*read.hints, *hints), read.unranked)


def survey_created(connection: ClusterConnection, jobs: Sequence[Json], now: datetime) -> Survey:
    """Newly created Jobs as a reconciler will see them, with quotas and LimitRanges.

    `hints` name checks that need objects which the user may not read.
    """
    shapes = ShapeInterner()
    classes = ListOptions("PriorityClass")
    created = [job_facts.job(msgspec.json.encode(job), shapes) for job in jobs]
    priorities, _ = read_if_allowed(
        lambda: list(map(object_facts.priority, connection.cluster.list(classes).items)), ""
    )
    name = connection.namespace
    launches = any(job.execs for job in created)
    namespace_facts, hints = read_if_allowed(
        lambda: namespaces(connection) if launches else (),
        f"whether namespace {name} lets launchers exec into workers is unknown; in mode kubexec "
        f"the job waits until it does: {allow_kubexec(name)}{connection.scope.cluster_flags}",
    )
    facts = ClusterFacts(jobs=created, priorities=priorities, namespaces=namespace_facts)
    return Survey(_observed(_with_quotas(connection, _Read(facts)).facts, now).jobs, hints)


def _training(asked: PrefetchedLists) -> _Read:
    shapes = ShapeInterner()
    jobs_asked, pods_asked, classes_asked = asked.answers()
    others = unmanaged(asked.connection.cluster, asked.lease)
    all_jobs = (job_facts.job(raw, shapes) for raw in jobs_asked.result().items)
    jobs = [job for job in all_jobs if job.key.namespace not in others]
    pods, hints = read_if_allowed(
        lambda: [object_facts.pod(raw, shapes, others) for raw in pods_asked.result().items],
        "without its pods, a started job is shown as Starting",
    )
    priorities, unranked = read_if_allowed(
        lambda: list(map(object_facts.priority, classes_asked.result().items)),
        "priorities of queued jobs are assumed to be 0",
    )
    facts = ClusterFacts(pods=pods, jobs=jobs, priorities=priorities)
    return _Read(facts, hints, unranked if _unranked(jobs, pods) else ())


def _with_quotas(connection: ClusterConnection, read: _Read) -> _Read:
    listed = connection.cluster.list
    namespace = connection.namespace
    quotas, unknown_quotas = read_if_allowed(
        lambda: list(map(quota, listed(ListOptions("ResourceQuota", namespace)).items)),
        "what a ResourceQuota forbids is unknown",
    )
    ranges, unknown_ranges = read_if_allowed(
        lambda: list(map(limit_range, listed(ListOptions("LimitRange", namespace)).items)),
        "what a LimitRange adds or forbids is unknown",
    )
    facts = replace(
        read.facts,
        quotas=list(filter(None, quotas)),
        ranges=list(filter(None, ranges)),
        namespaces=read.facts.namespaces or readable_namespaces(connection),
    )
    return _Read(facts, (*read.hints, *unknown_quotas, *unknown_ranges), read.unranked)


def survey_cluster(
    cluster: Cluster, now: datetime, settings: "Settings"
) -> tuple[ClusterState, Hints]:
    """The whole cluster as the reconciler sees it, and a hint per kind that cannot be read.

    `settings` are the reconciler's: they name namespaces in which it manages nothing. Raises
    Forbidden.
    """
    from edl.kube.state.incremental_state import read_state

    missed: dict[str, Forbidden] = {}
    state = read_state(cluster, now, missed.__setitem__, settings.ignored_namespaces)
    usual = {kind: f"what a {kind} adds or forbids is unknown" for kind in missed}
    unknown = usual | _UNKNOWN
    return state, tuple(f"hint: {unknown[kind]}: {missed[kind]}" for kind in sorted(missed))


def _jobs(connection: ClusterConnection, selector: str = "") -> list[JobFacts]:
    shapes = ShapeInterner()
    listing = connection.cluster.list(jobs_of(connection, selector))
    return [job_facts.job(raw, shapes) for raw in listing.items]


def _observed(facts: ClusterFacts, now: datetime) -> ClusterState:
    """Assume valid values for objects that the user may not read, so that jobs show no problem."""
    whole = replace(
        facts,
        priorities=facts.priorities or _assumed(facts),
        namespaces=facts.namespaces or _permissive(facts),
    )
    return observe(whole, now)


def _permissive(facts: ClusterFacts) -> list[NamespaceFacts]:
    """The jobs' namespaces, as if each let launchers exec into workers."""
    names = sorted({job.key.namespace for job in facts.jobs})
    return [NamespaceFacts(name, NamespacePolicy(name, kubexec=True)) for name in names]


def _unranked(jobs: Sequence[JobFacts], pods: Sequence[PodFacts]) -> bool:
    """Whether a Job names a PriorityClass that no pod of these Jobs has."""
    having = {pod.job for pod in pods if pod.pod}
    classes = {job.priority_class for job in jobs if job.uid in having}
    return any(job.priority_class not in {"", *classes} for job in jobs)


def _assumed(facts: ClusterFacts) -> tuple[PriorityClassFacts, ...]:
    """The PriorityClasses that Jobs name, with the priority of their pods; 0 without pods."""
    values = dict.fromkeys((job.priority_class for job in facts.jobs if job.priority_class), 0)
    classes = {job.uid: job.priority_class for job in facts.jobs if job.priority_class}
    values |= {
        classes[pod.job]: pod.priority for pod in facts.pods if pod.pod and pod.job in classes
    }
    return tuple(PriorityClassFacts(name, value, default=False) for name, value in values.items())


def _named(jobs: Sequence[TrainingJob]) -> Iterator[TrainingJob]:
    """The jobs; a message about a job of another namespace names it if it is one of them."""
    keys = {role.uid: job.key for job in jobs for role in job.roles}
    for job in jobs:
        roles = tuple(_with_name(role, keys) for role in job.roles)
        yield replace(job, roles=roles) if roles != job.roles else job


def _with_name(role: Role, keys: Mapping[str, JobKey]) -> Role:
    last = role.record.last
    if last is None or (named := with_name(last, keys)) is last:
        return role
    is_last = role.record.message == message(last)  # else it is why the job waits now
    return role.changed(message=message(named)) if is_last else role


def selected(
    jobs: Sequence[TrainingJob], connection: ClusterConnection, selector: str
) -> tuple[TrainingJob, ...]:
    """The training jobs of which any Job matches."""
    keys = {key for key, _ in matching_jobs(jobs, connection, selector)} if selector else None
    return tuple(job for job in jobs if keys is None or job.key in keys)


def matching_jobs(
    jobs: Sequence[TrainingJob], connection: ClusterConnection, selector: str
) -> set[tuple[JobKey, str]]:
    """The names of Jobs that match; not of those that are left out, or being deleted."""
    chosen = {(job.key, job.name) for job in _jobs(connection, selector) if not job.leaving}
    left_out = ((job.key, other.name) for job in jobs for other in job.conflicting)
    return chosen.difference(left_out)
