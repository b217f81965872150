"""From facts to one `ClusterState`: pure.

`edl.kube.state.incremental_state` keeps the same while facts change.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from edl.kube.cache.cluster_facts import ClusterFacts
from edl.kube.decode import gpu_sharing, runtime_classes
from edl.kube.decode.job_facts import JobFacts
from edl.kube.decode.namespace_quotas import (
    NO_RULES,
    LimitRangeFacts,
    NamespaceConstraints,
    QuotaFacts,
)
from edl.kube.decode.object_facts import (
    NamespaceFacts,
    OwnedObjectRef,
    PodFacts,
    PriorityClassFacts,
)
from edl.kube.decode.runtime_classes import Known, RuntimeClassFacts
from edl.kube.dra.claim_resolution import DeviceView
from edl.kube.dra.device_index import DeviceIndex
from edl.kube.dra.node_offers import with_devices
from edl.kube.provisioning.request_facts import CapacityRequestFacts
from edl.kube.state.affinity_index import AntiAffinityIndex, met
from edl.kube.state.bare_training_jobs import trainings
from edl.kube.state.clock_skew import set_right
from edl.kube.state.pending_demands import demands_of
from edl.kube.state.quota_usage import budgets
from edl.kube.state.team_usage import NamespaceTeams, TeamUsageIndex
from edl.kube.state.training_job_inputs import TrainingJobInputs, with_requests
from edl.kube.state.training_jobs import gather
from edl.model import (
    ClusterState,
    JobKey,
    Node,
    ObjectRef,
    Shape,
    TrainingJob,
)
from edl.quantities import Resources


class ClusterScope(msgspec.Struct, frozen=True):
    """What counts for more than one job: it is little, and read anew whenever it changes."""

    kubexec: frozenset[str]
    """Namespaces in which launchers may exec into their workers."""
    priorities: Mapping[str, int]
    """By PriorityClass."""
    default: int
    """The priority of pods without a class."""
    rules: Mapping[str, NamespaceConstraints] = msgspec.field(default_factory=dict)
    """By namespace, of those that have any."""
    runtimes: Known = None
    """RuntimeClasses."""

    @classmethod
    def of(
        cls,
        namespaces: Sequence[NamespaceFacts],
        priorities: Sequence[PriorityClassFacts],
        quotas: Iterable[QuotaFacts] = (),
        ranges: Iterable[LimitRangeFacts] = (),
        runtimes: Iterable[RuntimeClassFacts] | None = None,
    ) -> "ClusterScope":
        return cls(
            kubexec=frozenset(found.name for found in namespaces if found.policy.kubexec),
            priorities={entry.name: entry.value for entry in priorities},
            default=next((entry.value for entry in priorities if entry.default), 0),
            rules=_rules_of(namespaces, priorities, quotas, ranges),
            runtimes=None if runtimes is None else {found.name: found for found in runtimes},
        )

    def priority(self, job: JobFacts) -> int | None:
        """None where its PriorityClass does not exist."""
        return self.priorities.get(job.priority_class) if job.priority_class else self.default


def _rules_of(
    namespaces: Sequence[NamespaceFacts],
    priorities: Sequence[PriorityClassFacts],
    quotas: Iterable[QuotaFacts],
    ranges: Iterable[LimitRangeFacts],
) -> Mapping[str, NamespaceConstraints]:
    by_quota: defaultdict[str, list[QuotaFacts]] = defaultdict(list)
    for quota in quotas:
        by_quota[quota.namespace].append(quota)
    by_range: defaultdict[str, list[LimitRangeFacts]] = defaultdict(list)
    for found in ranges:
        by_range[found.namespace].append(found)
    budgeted = {one.name for one in namespaces if one.policy.gpu_budget is not None}
    named = next((entry.name for entry in priorities if entry.default), "")
    return {
        name: NamespaceConstraints(
            quotas=tuple(sorted(one.rule for one in by_quota.get(name, ()))),
            ranges=tuple(sorted(by_range.get(name, ()))),
            gpu_budget=name in budgeted,
            default_class=named,
        )
        for name in {*by_quota, *by_range, *budgeted}
    }


def observe(objects: ClusterFacts, now: datetime) -> ClusterState:
    """What the planner is to see."""
    by_node: defaultdict[str, list[PodFacts]] = defaultdict(list)
    by_job: defaultdict[str, list[PodFacts]] = defaultdict(list)
    ours, held = {job.uid for job in objects.jobs}, TeamUsageIndex()
    for pod in objects.pods:
        by_job[pod.job].append(pod)
        if pod.holds_room:
            by_node[pod.node].append(pod)
            held.pod(None, pod)
    alone = [pod for pod in objects.pods if pod.bare]
    others = [pod for pod in objects.pods if pod.job not in ours]
    wide = ClusterScope.of(
        objects.namespaces, objects.priorities, objects.quotas, objects.ranges, objects.runtimes
    )
    devices = (
        DeviceIndex.of(objects.devices, objects.pods, objects.nodes) if objects.devices else None
    )
    view = devices.view if devices else None
    jobs = set_right(_jobs(objects, by_job, wide, view), now)
    teams = NamespaceTeams().of(objects.teams, objects.namespaces)
    state = ClusterState(
        observed_at=now,
        nodes=_nodes(objects.nodes, by_node, devices),
        jobs=jobs,
        demands=demands_of([pod for pod in others if pod.asking], teams, objects.claims, view),
        bare_jobs=_bare(objects, alone, wide),
        quotas=budgets(objects.quotas, objects.namespaces, jobs, alone),
        teams=objects.teams,
        namespace_teams=teams or {},
        team_usage=held.by_team(teams, ours, view),
        autoscaled=objects.autoscaled,
        takes_requests=objects.requests is not None,
        pooled=objects.pooled,
        orphans=orphans(
            (pod for pod in others if not pod.asking),
            (one for one in objects.requests or () if one.job not in ours),
        ),
    )
    return met(state, AntiAffinityIndex.of(objects.pods), lambda: objects.pods)


def orphans(
    pods: Iterable[PodFacts], requests: Iterable[CapacityRequestFacts]
) -> tuple[tuple[ObjectRef, str], ...]:
    """Provisional pods and requests of ours without a training job that stay."""
    found = [
        (ObjectRef("Pod", pod.namespace, pod.name), pod.provisional.uid)
        for pod in pods
        if pod.provisional and not pod.leaving
    ]
    found += [
        (ObjectRef("ProvisioningRequest", one.namespace, one.name), one.request.uid)
        for one in requests
        if one.request
    ]
    return tuple(sorted(found))


def _bare(
    objects: ClusterFacts, pods: Sequence[PodFacts], wide: ClusterScope
) -> tuple[TrainingJob, ...]:
    if not pods:
        return ()
    taken = {job.key for job in objects.jobs}
    mine = [pod for pod in pods if pod.bare and (pod.namespace, pod.bare.spec.job) not in taken]
    return trainings(mine, objects.tags, wide.kubexec)


def _nodes(
    nodes: Sequence[Node], pods: Mapping[str, list[PodFacts]], devices: DeviceIndex | None
) -> tuple[Node, ...]:
    ordered = sorted(nodes, key=lambda node: node.name)
    loaded = (_with_pods(node, pods.get(node.name, ())) for node in ordered)
    if devices is None:
        return tuple(loaded)
    return tuple(with_devices(node, devices.inventory.on(node)) for node in loaded)


def _with_pods(node: Node, pods: Sequence[PodFacts]) -> Node:
    return replace(
        node,
        used=_sum(pod.shape for pod in pods),
        releasing=_sum(pod.shape for pod in pods if pod.leaving),
        tenants=sum(pod.keeps_node for pod in pods),
        devices=node.devices
        and gpu_sharing.occupied(
            node.devices, [(pod.hold, pod.leaving) for pod in pods if pod.hold]
        ),
    )


def _sum(shapes: Iterable[Shape]) -> Resources:
    total: defaultdict[str, int] = defaultdict(int)
    for shape in shapes:
        for name, amount in shape.requests.items:
            total[name] += amount
    return Resources.of(total)


def _jobs(
    objects: ClusterFacts,
    pods: Mapping[str, list[PodFacts]],
    wide: ClusterScope,
    devices: DeviceView | None,
) -> tuple[TrainingJob, ...]:
    members: defaultdict[JobKey, list[JobFacts]] = defaultdict(list)
    for job in objects.jobs:
        members[job.key].append(job)
    tags: defaultdict[JobKey, list[OwnedObjectRef]] = defaultdict(list)
    for tag in objects.tags:
        for key in tagged(tag):
            tags[key].append(tag)
    requests: defaultdict[str, list[CapacityRequestFacts]] = defaultdict(list)
    for one in objects.requests or ():
        requests[one.job].append(one)
    found = {
        key: around(jobs, pods, tags.get(key, ()), wide, devices)
        for key, jobs in sorted(members.items())
    }
    return tuple(
        gathered(
            key, with_requests(parts, (one for job in members[key] for one in requests[job.uid]))
        )
        for key, parts in found.items()
        if parts
    )


def gathered(key: JobKey, around: TrainingJobInputs) -> TrainingJob:
    """The training job, or its problem where it cannot be read."""
    try:
        return gather(key, around)
    except Exception as error:  # noqa: BLE001 — one job must not hide all others
        first = min(around.jobs, key=lambda job: job.created_at)
        what = f"it cannot be read: {type(error).__name__}: {error}"
        return TrainingJob(key, first.framework, (), first.created_at, problem=what)


def tagged(tag: OwnedObjectRef) -> Iterator[JobKey]:
    """The training jobs that an object belongs to, or that its name may be in the way of."""
    for name in {tag.job, tag.name} - {""}:
        yield JobKey(tag.namespace, name)


def around(
    members: Iterable[JobFacts],
    pods: Mapping[str, Sequence[PodFacts]],
    tags: Sequence[OwnedObjectRef],
    wide: ClusterScope,
    devices: DeviceView | None,
) -> TrainingJobInputs | None:
    """What one training job is made from, `pods` by the uid of their Job; None where none stays."""
    jobs = _staying(sorted(members, key=lambda job: job.name))
    if not jobs:
        return None
    return TrainingJobInputs(
        jobs=jobs,
        pods=[_owned_by(job, pods) for job in jobs],
        tags=tags,
        kubexec=jobs[0].key.namespace in wide.kubexec,
        priorities=[wide.priority(job) for job in jobs],
        classes=[runtime_classes.named(job.runtime, wide.runtimes) for job in jobs],
        rules=wide.rules.get(jobs[0].key.namespace, NO_RULES),
        devices=devices,
    )


def _owned_by(job: JobFacts, pods: Mapping[str, Sequence[PodFacts]]) -> Sequence[PodFacts]:
    """Owners in the pod's own namespace only: a pod elsewhere can carry any owner's uid."""
    found = pods.get(job.uid, ())
    return [pod for pod in found if pod.namespace == job.key.namespace]


def _staying(jobs: Sequence[JobFacts]) -> list[JobFacts]:
    """Without those that are being deleted.

    But one that has ended still tells those that run how: a short TTL takes it away at once. Not
    those that wait: they were made anew.
    """
    staying = [job for job in jobs if not job.leaving]
    if any(job.role is None or job.role.status.suspended for job in staying):
        return staying
    return [
        job for job in jobs if not job.leaving or (staying and job.role and job.role.status.ending)
    ]
