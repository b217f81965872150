"""What-if: a world that begins as a cluster stands."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from edl.contract import Provision
from edl.model import (
    ClusterState,
    Demand,
    Device,
    GpuUsage,
    Node,
    Pod,
    Provisioning,
    Shape,
    Share,
    TrainingJob,
)
from edl.quantities import Resources
from edl.simulator.cluster.work import ENDLESS, Work
from edl.simulator.scenario import Scenario, Service, Training

_NOTHING: Final = GpuUsage()


def _unknown(_job: TrainingJob) -> Work | None:
    return None


def from_state(
    state: ClusterState, remaining: Callable[[TrainingJob], Work | None] = _unknown
) -> Scenario:
    """The cluster as observed, at second 0.

    `remaining`: what is still to do of a job (all of it for one that waits); None where it
    knows: it never ends. Other owners' pods stay where they are; those that wait go on waiting.
    """
    # Pods of a job that is over may still leave.
    jobs = [job for job in state.jobs if job.live or any(_bound([job]))]
    return Scenario(
        nodes=_without(state.nodes, jobs),
        trainings=tuple(
            Training(_unprovisioned(job), remaining(job) or ENDLESS, queued_at=job.queued_at)
            for job in jobs
        ),
        services=tuple(_service(demand) for demand in state.demands),
        around=state,
    )


def _unprovisioned(job: TrainingJob) -> TrainingJob:
    """It asks for none: nothing is known of nodes to come, and what it has asked for holds none."""
    return replace(job, provisioning=Provisioning(Provision.NEVER))


def _service(demand: Demand) -> Service:
    namespace, _, name = demand.example.partition("/")
    steps = ((0.0, demand.count),)
    return Service(name, demand.shape, steps, demand.priority, namespace)


def _without(nodes: Iterable[Node], jobs: Sequence[TrainingJob]) -> tuple[Node, ...]:
    """The nodes with what others hold there: our pods take their room themselves."""
    held: defaultdict[str, Resources] = defaultdict(Resources)
    leaving: defaultdict[str, Resources] = defaultdict(Resources)
    shares: defaultdict[str, list[tuple[Share, Pod]]] = defaultdict(list)
    tenants: Counter[str] = Counter()
    for shape, pod in _bound(jobs):
        held[pod.node] += shape.requests
        if pod.terminating:
            leaving[pod.node] += shape.requests
        else:
            tenants[pod.node] += 1
        if shape.share is not None:
            shares[pod.node].append((shape.share, pod))
    for asked in (pod for job in jobs for pod in job.provisioning.held):
        held[asked.node] += asked.requests
        tenants[asked.node] += 1
    return tuple(
        replace(
            node,
            used=_positive(node.used - held[node.name]),
            releasing=_positive(node.releasing - leaving[node.name]),
            devices=_vacated(node.devices, shares[node.name]),
            tenants=max(node.tenants - tenants[node.name], 0),
        )
        for node in nodes
    )


def _vacated(
    devices: tuple[Device, ...], shares: Iterable[tuple[Share, Pod]]
) -> tuple[Device, ...]:
    """Without these shares. A pod that names no GPU was counted where most was left."""
    found = list(devices)
    for share, pod in sorted(shares, key=lambda one: not one[1].devices):
        named = [at for at, device in enumerate(found) if device.uuid in pod.devices]
        unnamed = [
            at
            for at, device in enumerate(found)
            if not pod.devices and device.used.covers(share.part(device.memory))
        ]
        for at in named or unnamed[: share.gpus]:
            found[at] = _without_one(found[at], share, leaving=pod.terminating)
    return tuple(found)


def _without_one(device: Device, share: Share, *, leaving: bool) -> Device:
    """What a pod was told to hold may differ from what it asked for: never less than nothing."""
    part = share.part(device.memory)
    used = device.used.minus(part).at_least(_NOTHING)
    left = device.releasing.minus(part) if leaving else device.releasing
    return device._replace(used=used, releasing=left.at_least(_NOTHING))


def _bound(jobs: Iterable[TrainingJob]) -> Iterator[tuple[Shape, Pod]]:
    for job in jobs:
        for role in job.roles:
            yield from (
                (role.template.shape, pod) for pod in role.status.pods if pod.node and not pod.ended
            )


def _positive(amounts: Resources) -> Resources:
    """Pods of one role may ask for unequal amounts: never less than nothing is left."""
    return Resources.of({name: max(amount, 0) for name, amount in amounts})
