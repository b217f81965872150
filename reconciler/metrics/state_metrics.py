"""Gauges of the cluster's state, computed from the last decision at each scrape.

Nothing is counted per round, so decisions bear no cost for it. Label values are reason codes and a
few resources: they do not grow with the number of jobs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final, TypeVar

import msgspec
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from edl.job_state.phases import phase
from edl.model import ClusterState, Code, Phase, Role, TrainingJob
from edl.planner.plan import Plan, WaitingJob
from edl.quantities import CPU, MEMORY, PODS, Resources
from edl.visibility.queue_order import waiting
from reconciler.metrics.team_metrics import RESOURCES, team_gauges

W = TypeVar("W", bound=str)
_ALWAYS: Final = (CPU, MEMORY, PODS)


class LastDecision(msgspec.Struct, frozen=True):
    """One decision, and the state that it was made from."""

    state: ClusterState
    plan: Plan


class LastDecisionCollector(Collector):
    """The gauges of the last decision; absent while another process leads."""

    def __init__(self) -> None:
        self.decided: LastDecision | None = None

    def collect(self) -> Iterator[GaugeMetricFamily]:
        if (decided := self.decided) is not None:
            queue = waiting(decided.state, decided.plan)
            yield from _jobs(decided, queue)
            yield from _cluster(decided.state)
            yield from team_gauges(decided.state, (entry.job for entry in queue))


def _jobs(decided: LastDecision, queue: Sequence[WaitingJob]) -> Iterator[GaugeMetricFamily]:
    state, plan = decided.state, decided.plan
    may_start = {entry.job for entry in queue if not entry.never}
    since = (job.waiting_since for job in state.jobs if job.key in may_start)
    longest = max([timedelta(), *(state.observed_at - moment for moment in since)])
    yield _gauge("edl_jobs", "Training jobs.", len(state.jobs))
    yield _gauge("edl_queued_jobs", "Training jobs in the queue.", len(queue))
    text = (
        "The longest wait since creation, last suspension (also after `--gang-limit`) or"
        " resumption, without jobs that existing nodes or quotas never admit."
    )
    yield _gauge("edl_queue_oldest_seconds", text, longest.total_seconds())
    phases = Counter(phase(job) for job in state.jobs)
    yield _by("edl_jobs_by_phase", "Training jobs by phase.", "phase", _counted(phases, Phase))
    by_reason = Counter(entry.reason.code for entry in plan.waiting)
    text = "Training jobs that are queued or cannot scale up, by reason."
    yield _by("edl_waiting_jobs", text, "reason", _counted(by_reason, Code))
    asking = [job.provisioning for job in state.jobs if job.provisioning.has_requests]
    bound = sum(len(asked.bound) for asked in asking)
    pods = {"bound": float(bound), "pending": float(sum(len(one.pods) for one in asking) - bound)}
    text = "Queued training jobs that request nodes from an autoscaler."
    yield _gauge("edl_provisioning_jobs", text, len(asking))
    yield _by("edl_provisioning_pods", "Provisional pods: bound, pending.", "state", pods)
    text = "Replicas of started jobs: min, now, ready, max."
    yield _by("edl_replicas", text, "bound", _replicas(state.jobs))


def _counted(counts: Mapping[W, int], words: Iterable[W]) -> dict[str, float]:
    """Zero values are exported too: alerts need a continuous series."""
    return {str(word): float(counts.get(word, 0)) for word in words}


def _replicas(jobs: Iterable[TrainingJob]) -> dict[str, float]:
    roles = [role for job in jobs for role in job.live if not role.status.suspended]
    ready = sum(
        sum(pod.ready and not pod.terminating for pod in role.status.pods) for role in roles
    )
    return {
        "min": float(sum(role.spec.min for role in roles)),
        "now": float(sum(role.status.size for role in roles)),
        "ready": float(ready),
        "max": float(sum(role.spec.max for role in roles)),
    }


def _cluster(state: ClusterState) -> Iterator[GaugeMetricFamily]:
    schedulable = sum(node.schedulable for node in state.nodes)
    nodes = {"true": float(schedulable), "false": float(len(state.nodes) - schedulable)}
    yield _by("edl_nodes", "Nodes, by whether pods may be placed there.", "schedulable", nodes)
    allocatable = _sum((node.allocatable, 1) for node in state.nodes if node.schedulable)
    taken = _sum((node.used, 1) for node in state.nodes if node.schedulable)
    ours = _sum(
        (role.template.shape.requests, _bound(role))
        for job in state.jobs
        for role in job.roles
        if role.status.pods
    )
    text = "of schedulable nodes, in cores, bytes and units."
    shown = [
        name for name in RESOURCES if name in _ALWAYS or allocatable.get(name) or taken.get(name)
    ]
    for name, help_text, amounts in (
        ("edl_cluster_allocatable", f"Allocatable resources {text}", allocatable),
        ("edl_cluster_requested", f"Requested resources {text}", taken),
        ("edl_training_requested", "Resources requested by pods of training jobs.", ours),
    ):
        values = {RESOURCES[key][0]: amounts.get(key, 0) * RESOURCES[key][1] for key in shown}
        yield _by(name, help_text, "resource", values)


def _bound(role: Role) -> int:
    """The number of the role's pods that use resources of nodes."""
    return sum(bool(pod.node) and not pod.ended for pod in role.status.pods)


def _sum(parts: Iterable[tuple[Resources, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for resources, times in parts:
        for name, amount in resources.items:
            total[name] = total.get(name, 0) + amount * times
    return total


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=value)


def _by(name: str, text: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=[label])
    for word, value in values.items():
        family.add_metric([word], value)
    return family
