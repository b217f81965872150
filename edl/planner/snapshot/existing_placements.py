"""Placements of a started role's replicas, read from its pods."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from edl.contract import PLACEMENT_GATE
from edl.model import Pod, PodPhase, Role, TrainingJob
from edl.planner.snapshot import last_resizes
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, Unscheduled, with_work

if TYPE_CHECKING:
    from edl.model import Shape

_UNBOUND: Final = Placement(NO_NODE, holds_idle=False, is_new=False)
_DONE: Final = Placement(NO_NODE, holds_idle=False, is_new=False, counts_in_quota=False)


class ExistingPlacements(NamedTuple):
    """One placement per replica of a role, and the replicas that have no node."""

    placements: list[Placement]
    unscheduled: list[Unscheduled]


class PodsOnNodes:
    """Reads pods: placements of those that stay, and nodes of those that are to be deleted."""

    def __init__(self, nodes: Mapping[str, int]) -> None:
        self._nodes = nodes
        self.placement = cache(self._placement)
        """By node, the placement of a replica bound to it; all replicas there share it."""
        self.leaving: defaultdict[Shape, list[int]] = defaultdict(list)
        """By shape, the nodes of active pods that will be deleted."""

    def _placement(self, node: str) -> Placement:
        return Placement(self._nodes.get(node, NO_NODE), holds_idle=False, is_new=False)

    def release(self, role: Role, pods: Iterable[Pod]) -> None:
        """Record the nodes of these pods of a role as leaving; inactive pods do not count."""
        if nodes := [self._nodes.get(pod.node, NO_NODE) for pod in pods if pod.node and pod.active]:
            self.leaving[role.template.shape] += nodes


def is_lost(found: Unscheduled) -> bool:
    """Whether its pod is gone, and the Job controller has yet to make it again."""
    return found.pod is None and found.since is None


def existing_placements(job: TrainingJob, role: Role, pods: PodsOnNodes) -> ExistingPlacements:
    """One placement per replica of a started role, in the order in which replicas are kept."""
    if home := _nodes_of(job, role):
        return ExistingPlacements(list(map(pods.placement, home)), [])
    live = [pod for pod in role.status.pods if pod.active]
    ranked = role.spec.indexed and all(pod.index >= 0 for pod in live)
    return (_ranked if ranked else _unranked)(job, role, live, pods)


def _nodes_of(job: TrainingJob, role: Role) -> tuple[str, ...]:
    """The nodes of all replicas in order, if the state knows them (the usual case); else ()."""
    for one, home in zip(job.roles, job.nodes_by_role, strict=True):
        if one is role:
            return home
    return ()


def _ranked(job: TrainingJob, role: Role, live: list[Pod], pods: PodsOnNodes) -> ExistingPlacements:
    """Placements by completion index, since a scale-down removes the highest indexes."""
    found = ExistingPlacements([], [])
    by_index = {pod.index: pod for pod in live if pod.index < role.status.size}
    pods.release(role, (pod for pod in live if pod.index >= role.status.size))
    ended = {pod.index: pod.phase for pod in role.status.pods if pod.ended}
    leaving = {pod.index for pod in role.status.pods if pod.terminating}
    for index in range(role.status.size):
        at = by_index.get(index)
        if at is not None and at.node:
            found.placements.append(pods.placement(at.node))
        elif at is None and (
            index in role.status.finished_indexes or ended.get(index) is PodPhase.SUCCEEDED
        ):
            found.placements.append(_DONE)
        else:
            lost = index in ended or index in leaving
            found.unscheduled.append(Unscheduled(index, _since(job, role, at, lost=lost), at))
            found.placements.append(_UNBOUND)
    return found


def _unranked(
    job: TrainingJob, role: Role, live: list[Pod], pods: PodsOnNodes
) -> ExistingPlacements:
    found, size = ExistingPlacements([], []), role.status.size
    live = keeping_order(live)
    pods.release(role, live[size:])
    # The Job controller replaces an ended pod within about a second.
    lost = any(pod.ended or pod.terminating for pod in role.status.pods)
    expected = with_work(role, size)
    for place in range(size):
        at = live[place] if place < len(live) else None
        if at is not None and at.node:
            found.placements.append(pods.placement(at.node))
        elif place < expected:
            found.unscheduled.append(Unscheduled(place, _since(job, role, at, lost=lost), at))
            found.placements.append(_UNBOUND)
        else:
            found.placements.append(_DONE)
    return found


def keeping_order(pods: Iterable[Pod]) -> list[Pod]:
    """Active pods in the order in which the Job controller keeps them.

    It deletes unbound pods first, then unready ones, then those that became ready last, then the
    youngest (`ActivePods` of kube-controller-manager), and among equal ones any.
    """
    return sorted((pod for pod in pods if pod.active), key=_retention)


def _retention(pod: Pod) -> tuple[bool, bool, datetime, datetime, int, str]:
    ready_since = pod.ready_since or pod.created_at
    return not pod.node, not pod.ready, ready_since, pod.created_at, pod.index, pod.name


def _since(job: TrainingJob, role: Role, pod: Pod | None, *, lost: bool) -> datetime | None:
    """Since when a replica waits for a node, or None if it does not wait for scheduling.

    None: a pod that another gate holds back, and a lost pod, which the Job controller recreates
    after its back-off. A pod that is not created (a quota) waits since the last change that may
    have asked for it; the removal of pending extras sets no clock back.
    """
    if pod is None and (lost or role.status.failures or role.status.ignores):
        return None
    if pod is not None and any(gate != PLACEMENT_GATE for gate in pod.gates):
        return None
    asked_at = None if last_resizes.removed_pending_extras(role) else role.record.resized_at
    since = (pod.created_at, pod.planned.given_at) if pod else (asked_at,)
    return max(filter(None, (job.started_at, *since)), default=None)
