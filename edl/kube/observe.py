"""From facts to one `ClusterState`: pure, and quick where little changed since the last time."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from edl.kube.facts import NamespaceFacts, PodFacts, PriorityFacts, Tag
from edl.kube.gather import Around, gather
from edl.kube.gather_bare import trainings
from edl.kube.jobfacts import JobFacts
from edl.model import ClusterState, Demand, JobKey, Node, Shape, TrainingJob
from edl.resources import Resources


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The facts of every object, at one moment, in any order. Nodes are without their pods."""

    nodes: Sequence[Node] = ()
    pods: Sequence[PodFacts] = ()
    jobs: Sequence[JobFacts] = ()
    priorities: Sequence[PriorityFacts] = ()
    namespaces: Sequence[NamespaceFacts] = ()
    tags: Sequence[Tag] = ()
    """Every Service, and our other objects around training jobs."""


@dataclass(slots=True)
class Memo:
    """What the last observation was made from: equal facts give the same value again."""

    nodes: dict[str, tuple[Node, list[PodFacts], Node]] = field(default_factory=dict)
    jobs: dict[JobKey, tuple[Around, TrainingJob]] = field(default_factory=dict)


def observe(objects: Snapshot, now: datetime, memo: Memo | None = None) -> ClusterState:
    """What the planner is to see. The same with or without `memo`, which is renewed."""
    memo = memo or Memo()
    by_node: defaultdict[str, list[PodFacts]] = defaultdict(list)
    by_job: defaultdict[str, list[PodFacts]] = defaultdict(list)
    ours = {job.uid for job in objects.jobs}
    asking: list[PodFacts] = []
    alone: list[PodFacts] = []
    for pod in objects.pods:
        if pod.node and not pod.ended:
            by_node[pod.node].append(pod)
        if pod.bare:
            alone.append(pod)
        if pod.job in ours:
            by_job[pod.job].append(pod)
        elif pod.asking:
            asking.append(pod)
    return ClusterState(
        observed_at=now,
        nodes=_nodes(objects.nodes, by_node, memo),
        jobs=_jobs(objects, by_job, memo),
        demands=_demands(asking),
        bare=_bare(objects, alone),
    )


def _bare(objects: Snapshot, pods: Sequence[PodFacts]) -> tuple[TrainingJob, ...]:
    if not pods:
        return ()
    taken = {job.key for job in objects.jobs}
    mine = [pod for pod in pods if pod.bare and (pod.namespace, pod.bare.spec.job) not in taken]
    return trainings(mine, objects.tags, _with_kubexec(objects))


def _with_kubexec(objects: Snapshot) -> frozenset[str]:
    """Namespaces in which launchers may exec into their workers."""
    return frozenset(namespace.name for namespace in objects.namespaces if namespace.kubexec)


def _nodes(
    nodes: Sequence[Node], pods: Mapping[str, list[PodFacts]], memo: Memo
) -> tuple[Node, ...]:
    known, memo.nodes = memo.nodes, {}
    for node in sorted(nodes, key=lambda node: node.name):
        here = pods.get(node.name, [])
        last = known.get(node.name)
        if last is None or last[0] != node or last[1] != here:
            last = (node, here, _with_pods(node, here))
        memo.nodes[node.name] = last
    return tuple(node for _, _, node in memo.nodes.values())


def _with_pods(node: Node, pods: Sequence[PodFacts]) -> Node:
    return replace(
        node,
        used=_sum(pod.shape for pod in pods),
        leaving=_sum(pod.shape for pod in pods if pod.leaving),
    )


def _sum(shapes: Iterable[Shape]) -> Resources:
    total: defaultdict[str, int] = defaultdict(int)
    for shape in shapes:
        for name, amount in shape.requests.items:
            total[name] += amount
    return Resources.of(total)


def _jobs(
    objects: Snapshot, pods: Mapping[str, list[PodFacts]], memo: Memo
) -> tuple[TrainingJob, ...]:
    known, memo.jobs = memo.jobs, {}
    for key, around in sorted(_around(objects, pods).items()):
        last = known.get(key)
        if last is None or last[0] != around:
            last = (around, _gathered(key, around))
        memo.jobs[key] = last
    return tuple(job for _, job in memo.jobs.values())


def _gathered(key: JobKey, around: Around) -> TrainingJob:
    try:
        return gather(key, around)
    except Exception as error:  # noqa: BLE001 — one job must not hide all others
        first = min(around.jobs, key=lambda job: job.created_at)
        what = f"it cannot be read: {type(error).__name__}: {error}"
        return TrainingJob(key, first.framework, (), first.created_at, problem=what)


def _around(objects: Snapshot, pods: Mapping[str, list[PodFacts]]) -> dict[JobKey, Around]:
    members: defaultdict[JobKey, list[JobFacts]] = defaultdict(list)
    for job in sorted(objects.jobs, key=lambda job: job.name):
        members[job.key].append(job)
    tags: defaultdict[JobKey, list[Tag]] = defaultdict(list)
    for tag in objects.tags:
        for name in {tag.job, tag.name}:
            tags[JobKey(tag.namespace, name)].append(tag)
    kubexec = _with_kubexec(objects)
    priorities = {entry.name: entry.value for entry in objects.priorities}
    default = next((entry.value for entry in objects.priorities if entry.default), 0)
    return {
        key: Around(
            jobs=jobs,
            pods=[pods.get(job.uid, []) for job in jobs],
            tags=tags.get(key, []),
            kubexec=key.namespace in kubexec,
            priorities=[
                priorities.get(job.priority_class) if job.priority_class else default
                for job in jobs
            ],
        )
        for key, all_jobs in members.items()
        if (jobs := _staying(all_jobs))
    }


def _staying(jobs: Sequence[JobFacts]) -> list[JobFacts]:
    """Without those that are being deleted.

    But one that has ended still tells those that run how: a short TTL takes it away at once. Not
    those that wait: they were made anew.
    """
    staying = [job for job in jobs if not job.leaving]
    if any(job.role is None or job.role.suspended for job in staying):
        return staying
    return [job for job in jobs if not job.leaving or (staying and job.role and job.role.ending)]


def _demands(pods: Sequence[PodFacts]) -> tuple[Demand, ...]:
    """Pods of one shape and priority ask together."""
    groups: dict[tuple[int, int], list[PodFacts]] = {}
    for pod in pods:  # equal shapes are one object, and hashing one costs more than its identity
        groups.setdefault((id(pod.shape), pod.priority), []).append(pod)
    demands = (
        Demand(
            shape=group[0].shape,
            priority=group[0].priority,
            count=len(group),
            example=min(f"{pod.namespace}/{pod.name}" for pod in group),
        )
        for group in groups.values()
    )
    return tuple(sorted(demands, key=lambda demand: (-demand.priority, demand.example)))
