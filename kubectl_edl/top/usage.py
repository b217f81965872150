"""Requested and used resources of a training job, a node, and the whole cluster."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from edl.errors import Forbidden, NotFound, Unreachable
from edl.job_state.phases import below_minimum, phase, waits_to_start
from edl.kube.cluster import Cluster, ListOptions
from edl.model import ClusterState, Node, Pod, PodPhase, Role
from edl.quantities import CPU, MEMORY, PODS, Resources
from edl.spec.allowed_sizes import start_pods
from edl.writes import Json
from kubectl_edl.client.optional_reads import Hints
from kubectl_edl.job_views.training_job_view import JobView
from kubectl_edl.output.cell_quantities import gpus, offered_gpus
from kubectl_edl.top.cluster_costs import ClusterCosts
from kubectl_edl.top.resource_hours import Hours

_UNKNOWN: Final = "hint: usage is unknown"
_AmountOf = Callable[[Resources], int]
Used = Mapping[tuple[str, str], Resources]
"""Usage by (namespace, name); nodes have no namespace."""


def read_usage(cluster: Cluster, kind: str, namespace: str = "") -> tuple[Used | None, Hints]:
    """Usage from metrics-server, of `PodMetrics` or `NodeMetrics`; None and a hint without it."""
    try:
        listed = cluster.list(ListOptions(kind, namespace)).manifests()
    except NotFound:
        return None, (f"{_UNKNOWN}: the cluster has no metrics-server (metrics.k8s.io)",)
    except (Forbidden, Unreachable) as error:
        return None, (f"{_UNKNOWN}: {error}",)
    return {
        (item["metadata"].get("namespace") or "", item["metadata"]["name"]): _usage(item)
        for item in listed
    }, ()


def _usage(metrics: Json) -> Resources:
    """A node's usage, or the sum of a pod's containers."""
    parts = [container.get("usage") for container in metrics.get("containers") or ()]
    return _sum(map(Resources.parse, parts or [metrics.get("usage")]))


@dataclass(frozen=True, slots=True)
class JobUsage:
    """A job's usage. `measured` counts measured running pods; if none, `used` is None."""

    view: JobView
    pods: int
    running: int
    measured: int
    requested: Resources
    used: Resources | None
    hours: Hours


@dataclass(frozen=True, slots=True)
class NodeUsage:
    """A node's usage; `idle` is 0 on a node that takes no pods."""

    node: Node
    training: int
    """Pods of training jobs on the node."""
    used: Resources | None

    @property
    def idle(self) -> Resources:
        if not self.node.schedulable:
            return Resources()
        left = self.node.allocatable - self.node.used
        return Resources.of({name: max(amount, 0) for name, amount in left})

    @property
    def pods(self) -> int:
        return self.node.used.get(PODS)


@dataclass(frozen=True, slots=True)
class UsageLine:
    """One resource of the cluster; `queued`: of pods that queued jobs or raised minimums lack."""

    name: str
    offered: int
    requested: int
    training: int
    queued: int
    idle: int
    used: int | None


LINES: Final[tuple[tuple[str, _AmountOf, _AmountOf], ...]] = (
    (CPU, lambda amounts: amounts.get(CPU), lambda amounts: amounts.get(CPU)),
    (MEMORY, lambda amounts: amounts.get(MEMORY), lambda amounts: amounts.get(MEMORY)),
    ("gpu", offered_gpus, gpus),
    (PODS, lambda amounts: amounts.get(PODS), lambda amounts: amounts.get(PODS)),
)
"""(resource, its amount on nodes, its amount in requests)."""


def job_usage(view: JobView, used: Used | None, hours: Hours) -> JobUsage:
    """Usage of a job's existing pods that have not ended."""
    alive = [
        (role.role, pod) for role in view.roles for pod in role.role.status.pods if not pod.ended
    ]
    running = [pod for _, pod in alive if pod.phase is PodPhase.RUNNING]
    names = [(view.job.key.namespace, pod.name) for pod in running]
    return JobUsage(
        view=view,
        pods=len(alive),
        running=len(running),
        measured=sum(name in (used or {}) for name in names),
        requested=_requests(alive),
        used=_measured(names, used) if names or used is None else Resources(),
        hours=hours,
    )


def node_usage(state: ClusterState, used: Used | None) -> tuple[NodeUsage, ...]:
    """Usage of all nodes, sorted by name."""
    training = Counter(pod.node for _, pod in _placed(state))
    return tuple(
        NodeUsage(node, training[node.name], _measured([("", node.name)], used))
        for node in sorted(state.nodes, key=lambda node: node.name)
    )


def cluster_usage(state: ClusterState, nodes: Sequence[NodeUsage]) -> tuple[UsageLine, ...]:
    """One line per resource, of ready nodes; `used` is None unless each of them is measured.

    What provisional pods hold for queued jobs counts as training, and no longer as queued.
    """
    nodes = [usage for usage in nodes if usage.node.ready]
    names = {usage.node.name for usage in nodes}
    held = _sum(
        pod.requests for job in state.jobs for pod in job.provisioning.bound if pod.node in names
    )
    training = held + _requests((role, pod) for role, pod in _placed(state) if pod.node in names)
    queued = _sum(
        (start_pods(role) if waits_to_start(job) else below_minimum(role))
        * role.template.shape.requests
        for job in state.jobs
        for role in job.live
    )
    measured = [usage.used for usage in nodes if usage.used is not None]
    used = _sum(measured) if measured and len(measured) == len(nodes) else None
    return tuple(
        UsageLine(
            name=name,
            offered=sum(offers(usage.node.allocatable) for usage in nodes),
            requested=sum(requests(usage.node.used) for usage in nodes),
            training=requests(training),
            queued=max(requests(queued) - requests(held), 0),
            idle=sum(
                max(offers(usage.node.allocatable) - requests(usage.node.used), 0)
                for usage in nodes
                if usage.node.schedulable
            ),
            used=used.get(name) if used and name in (CPU, MEMORY) else None,
        )
        for name, offers, requests in LINES
    )


def phases(state: ClusterState) -> dict[str, int]:
    """The number of training jobs in each phase."""
    return dict(Counter(phase(job).value for job in state.jobs))


def _placed(state: ClusterState) -> list[tuple[Role, Pod]]:
    """Scheduled pods of training jobs that have not ended."""
    return [
        (role, pod)
        for job in state.jobs
        for role in job.roles
        for pod in role.status.pods
        if pod.node and not pod.ended
    ]


def _requests(pods: Iterable[tuple[Role, Pod]]) -> Resources:
    counted = Counter(role.template.shape.requests for role, _ in pods)
    return _sum(requests * count for requests, count in counted.items())


def _measured(names: Iterable[tuple[str, str]], used: Used | None) -> Resources | None:
    parts = [used[name] for name in names if name in used] if used else []
    return _sum(parts) if parts else None


def _sum(amounts: Iterable[Resources]) -> Resources:
    return sum(amounts, Resources())


@dataclass(frozen=True, slots=True)
class ClusterUsage:
    """Usage of the whole cluster; `phases` counts its training jobs."""

    lines: tuple[UsageLine, ...]
    nodes: tuple[NodeUsage, ...]
    phases: Mapping[str, int]
    costs: ClusterCosts
