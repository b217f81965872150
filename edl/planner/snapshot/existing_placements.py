"""Placements of a started role's replicas, read from its pods."""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from edl.contract import HOSTS_GATE
from edl.job_state import last_changes
from edl.job_state.lost_pods import recreation_delay
from edl.model import Pod, PodPhase, Role, TrainingJob
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.placement import DONE, Placement, Unscheduled
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decision_clock import DecisionClock
from edl.spec.allowed_sizes import with_work

_UNBOUND: Final = Placement(NO_NODE, holds_idle=False, is_new=False)
_LONGEST_GATED: Final = timedelta(minutes=10)
"""How long a scheduling gate of another controller may hold a pod back before it counts as late."""


_Replicas: TypeAlias = tuple[Mapping[int, Pod], list[Pod], Container[int], Container[int]]
"""(pods by position, surplus pods, positions without work left, positions whose pod was lost)"""


class ExistingPlacements(NamedTuple):
    """One placement per replica of a role, and the replicas that have no node."""

    placements: list[Placement]
    unscheduled: list[Unscheduled]


@dataclass
class LeavingPods:
    """The active pods that will be deleted, which the snapshot counts as releasing."""

    snapshot: Snapshot
    placements: defaultdict[PodClass, list[Placement]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, job: TrainingJob, role: Role, pods: Iterable[Pod]) -> None:
        """Add these pods of a role; those without a node, and inactive ones, do not count."""
        snapshot, bound = self.snapshot, [pod for pod in pods if pod.node and pod.active]
        if bound:
            placements = self.placements[snapshot.pod_class(role.template.shape)]
            placements += [snapshot.placement_of(job, role, pod) for pod in bound]


def is_lost(replica: Unscheduled) -> bool:
    """Whether its pod is gone, and the Job controller has yet to recreate it."""
    return replica.pod is None and replica.since is None


def existing_placements(
    snapshot: Snapshot, job: TrainingJob, role: Role, leaving: LeavingPods
) -> ExistingPlacements:
    """One placement per replica of a started role, in the order in which replicas are kept.

    Adds surplus pods to `leaving`.
    """
    pod_class = snapshot.pod_class(role.template.shape)
    if not pod_class.claims_devices and (nodes := _nodes_of(job, role)):
        return ExistingPlacements(list(map(snapshot.on_node, nodes)), [])
    live = [pod for pod in role.status.pods if pod.active]
    ranked = role.spec.indexed and all(pod.index >= 0 for pod in live)
    staying, surplus, done, lost = (_by_index if ranked else _by_age)(role, live)
    leaving.add(job, role, surplus)
    existing, waits = ExistingPlacements([], []), _Waits(job, role, snapshot.clock)
    for position in range(role.status.size):
        pod = staying.get(position)
        if pod is not None and pod.node:
            existing.placements.append(snapshot.placement_of(job, role, pod))
        elif position in done or job.namespace_terminating:
            existing.placements.append(DONE)
        else:
            since = waits.of_pod(pod) if pod else waits.without_pod(lost=position in lost)
            existing.unscheduled.append(Unscheduled(position, since, pod))
            existing.placements.append(_UNBOUND)
    return existing


def _nodes_of(job: TrainingJob, role: Role) -> tuple[str, ...]:
    """The nodes of all replicas in order, if the state knows them (the usual case); else ()."""
    pairs = zip(job.roles, job.nodes_by_role, strict=True)
    return next((nodes for other, nodes in pairs if other is role), ())


def _by_index(role: Role, live: list[Pod]) -> _Replicas:
    """By completion index, since a scale-down removes the highest indexes."""
    size, pods = role.status.size, role.status.pods
    staying = {pod.index: pod for pod in live if pod.index < size}
    surplus = [pod for pod in live if pod.index >= size]
    ended = {pod.index: pod.phase for pod in pods if pod.ended}
    succeeded = {index for index, phase in ended.items() if phase is PodPhase.SUCCEEDED}
    leaving = {pod.index for pod in pods if pod.terminating}
    done = succeeded.union(role.status.finished_indexes) - staying.keys()
    return staying, surplus, done, leaving.union(ended)


def _by_age(role: Role, live: list[Pod]) -> _Replicas:
    ordered, size = retention_order(live), role.status.size
    # The Job controller replaces an ended pod within about a second.
    lost = any(pod.ended or pod.terminating for pod in role.status.pods)
    done = range(with_work(role, size), size)
    return dict(enumerate(ordered[:size])), ordered[size:], done, range(size if lost else 0)


def retention_order(pods: Iterable[Pod]) -> list[Pod]:
    """Active pods in the order in which they stay when their Job gets smaller.

    Untracked ones leave first: the reconciler is deleting them by name. The response to its own
    write of the smaller size may be here before the watch reports the deletions. The Job controller
    deletes unbound pods first, then unready ones, then those that became ready last, then the
    youngest (`ActivePods` of kube-controller-manager), and among equal ones any.
    """
    return sorted((pod for pod in pods if pod.active), key=_retention)


def _retention(pod: Pod) -> tuple[bool, bool, bool, datetime, datetime, int, str]:
    since, created = pod.ready_since or pod.created_at, pod.created_at
    return pod.untracked, not pod.node, not pod.ready, since, created, pod.index, pod.name


@dataclass
class _Waits:
    """Since when replicas of a started role wait for nodes; None if for something else."""

    job: TrainingJob
    role: Role
    clock: DecisionClock

    @cached_property
    def _recreated_at(self) -> datetime | None:
        """When the back-off after lost pods was over; None if it may last."""
        delay = recreation_delay(self.role)
        return delay[0] + delay[1] if delay and self.clock.elapsed_or_recheck(*delay) else None

    def without_pod(self, *, lost: bool) -> datetime | None:
        """Since the last change that may have requested the pod, as a quota may refuse it.

        The removal of pending extras does not request it. None while the Job controller backs off
        before it recreates a lost pod; for a limited time, as the pod may never come.
        """
        role = self.role
        asked_at = None if last_changes.removed_pending_extras(role) else role.record.resized_at
        times = [self.job.started_at, asked_at]
        if lost or role.status.failures or role.status.ignores:
            if self._recreated_at is None:
                return None
            times.append(self._recreated_at)
        return max(filter(None, times), default=None)

    def of_pod(self, pod: Pod) -> datetime | None:
        """None while another gate holds the pod back; a foreign one for a limited time only."""
        times = [self.job.started_at, pod.created_at, pod.planned.placed_at]
        if pod.foreign_gate:
            if not self.clock.elapsed_or_recheck(pod.created_at, _LONGEST_GATED):
                return None
            times.append(pod.created_at + _LONGEST_GATED)
        elif HOSTS_GATE in pod.scheduling.gates:
            return None
        return max(filter(None, times), default=None)
