"""What-if: a scenario that begins with an observed cluster."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from edl.contract import Provision
from edl.model import (
    ClusterState,
    Code,
    Demand,
    Device,
    Node,
    Pod,
    Provisioning,
    Shape,
    Share,
    TrainingJob,
)
from edl.planner.counted_demands import with_counted_demands
from edl.planner.decision_limits import Limits
from edl.quantities import Resources
from edl.simulator.cluster.pod_usage import PodUsage
from edl.simulator.cluster.work_and_speedup import ENDLESS, Work
from edl.simulator.scenario import Scenario, Service, Training


def from_state(
    state: ClusterState,
    limits: Limits,
    remaining: Callable[[TrainingJob], Work | None] = lambda _job: None,
) -> Scenario:
    """The cluster as observed, at second 0.

    `remaining`: the remaining work of a job (all of it for a waiting one); None if unknown: the job
    never ends. Other owners' pods stay on their nodes; pending ones keep waiting, if jobs scale
    down for them under these limits, and are left out otherwise.
    """
    state = with_counted_demands(state, limits)
    # Pods of a finished job may still be terminating.
    observed = map(_with_previous_pods, map(_without_waits, state.jobs))
    resumed = (_with_resumption(job, state.observed_at) for job in observed)
    jobs = [job for job in resumed if job.live or any(_bound([job]))]
    return Scenario(
        nodes=_without(state.nodes, jobs),
        trainings=tuple(
            Training(_unprovisioned(job), remaining(job) or ENDLESS, queued_at=job.queued_at)
            for job in jobs
        ),
        services=tuple(_service(demand) for demand in state.demands),
        around=state,
    )


def _without_waits(job: TrainingJob) -> TrainingJob:
    """The job without the leader's memory of its waits: the simulation has its own."""
    if all(role.growth_awaited_since is None for role in job.roles):
        return job
    return replace(job, roles=tuple(role.changed(growth_awaited_since=None) for role in job.roles))


def _with_resumption(job: TrainingJob, now: datetime) -> TrainingJob:
    """The job with the record that its pause has ended, which the reconciler is yet to write.

    The simulation writes no reasons of jobs that wait, with which the time would be recorded.
    """
    if not job.just_resumed:
        return job
    first, *others = job.roles
    return replace(job, roles=(first.changed(reason=Code.UNOBSERVED, resumed_at=now), *others))


def _with_previous_pods(job: TrainingJob) -> TrainingJob:
    """The job with terminating pods of deleted Jobs among its own, as those of an earlier start."""
    if not any(role.previous_pods for role in job.roles):
        return job
    roles = (
        role.changed(
            pods=(*role.status.pods, *(pod for pod in role.previous_pods if pod.terminating)),
            previous_pods=(),
        )
        for role in job.roles
    )
    return replace(job, roles=tuple(roles))


def _unprovisioned(job: TrainingJob) -> TrainingJob:
    """The job without provisioning: nothing is known about nodes that might be added."""
    return replace(job, provisioning=Provisioning(Provision.NEVER))


def _service(demand: Demand) -> Service:
    namespace, _, name = demand.example.partition("/")
    steps = ((0.0, demand.count),)
    return Service(name, demand.shape, steps, demand.priority, namespace, preempts=demand.preempts)


def _without(nodes: Sequence[Node], jobs: Sequence[TrainingJob]) -> tuple[Node, ...]:
    """The nodes with other owners' usage only; simulated pods are added one by one."""
    held: defaultdict[str, Resources] = defaultdict(Resources)
    leaving: defaultdict[str, Resources] = defaultdict(Resources)
    shares: defaultdict[str, list[tuple[Share, Pod]]] = defaultdict(list)
    evictable_pods: Counter[str] = Counter()
    usage = PodUsage(nodes)
    for namespace, shape, pod in _bound(jobs):
        taken = usage.of(namespace, shape, pod)
        held[pod.node] += taken
        if pod.terminating:
            leaving[pod.node] += taken
        else:
            evictable_pods[pod.node] += 1
        if shape.share is not None:
            shares[pod.node].append((shape.share, pod))
    for asked in (pod for job in jobs for pod in job.provisioning.bound):
        held[asked.node] += asked.requests
        evictable_pods[asked.node] += 1
    return tuple(
        replace(
            node,
            used=_positive(node.used - held[node.name]),
            releasing=_positive(node.releasing - leaving[node.name]),
            devices=_vacated(node.devices, shares[node.name]),
            claimed=replace(node.claimed, held={}),
            evictable_pods=max(node.evictable_pods - evictable_pods[node.name], 0),
        )
        for node in nodes
    )


def _vacated(
    devices: tuple[Device, ...], shares: Iterable[tuple[Share, Pod]]
) -> tuple[Device, ...]:
    """The devices without these shares.

    The share of a pod that names no GPU is taken from devices whose usage contains it.
    """
    vacated = list(devices)
    for share, pod in sorted(shares, key=lambda pair: not pair[1].devices):
        named = [index for index, device in enumerate(vacated) if device.uuid in pod.devices]
        unnamed = [
            index
            for index, device in enumerate(vacated)
            if not pod.devices and device.used.covers(share.part(device.memory))
        ]
        for index in named or unnamed[: share.gpus]:
            vacated[index] = _without_one(vacated[index], share, leaving=pod.terminating)
    return tuple(vacated)


def _without_one(device: Device, share: Share, *, leaving: bool) -> Device:
    """The device without one share; clamped at 0, as the recorded usage may differ."""
    part = share.part(device.memory)
    used = device.used.minus(part).clamped()
    left = device.releasing.minus(part) if leaving else device.releasing
    return device._replace(used=used, releasing=left.clamped())


def _bound(jobs: Iterable[TrainingJob]) -> Iterator[tuple[str, Shape, Pod]]:
    for job in jobs:
        for role in job.roles:
            yield from (
                (job.key.namespace, role.template.shape, pod)
                for pod in role.status.pods
                if pod.node and not pod.ended
            )


def _positive(amounts: Resources) -> Resources:
    """Amounts clamped at 0, as pods of one role may request different amounts."""
    return Resources.of({name: max(amount, 0) for name, amount in amounts})
