"""Placements of a started role's replicas, read from its pods."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import repeat
from typing import Final, NamedTuple

from edl.contract import PLACEMENT_GATE
from edl.model import Pod, PodPhase, Role, TrainingJob
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, Unscheduled

_DONE: Final = Placement(NO_NODE, holds_idle=False, is_new=False, counts_in_quota=False)


class ExistingPlacements(NamedTuple):
    """A placement for each replica of a role, and the replicas without a node."""

    placements: list[Placement]
    unscheduled: list[Unscheduled]


@dataclass(slots=True)
class PodClassState:
    """Pods of one shape, and the nodes of the terminating ones."""

    pod_class: PodClass
    placements: "PlacementByNode"
    leaving: list[int] = field(default_factory=list)


class PlacementByNode(dict[str, Placement]):
    """The placement of a bound replica by node name; replicas on one node share the value."""

    def __init__(self, nodes: dict[str, int]) -> None:
        self._nodes = nodes

    def __missing__(self, name: str) -> Placement:
        found = self[name] = Placement(
            self._nodes.get(name, NO_NODE), holds_idle=False, is_new=False
        )
        return found


def release_role(role: Role, nodes: dict[str, int], indexes: PodClassState) -> None:
    """A suspended or ended role: whatever still runs is on its way out."""
    bound = (pod for pod in role.status.pods if pod.node and not pod.ended and not pod.terminating)
    indexes.leaving.extend(nodes.get(pod.node, NO_NODE) for pod in bound)


def existing_placements(
    job: TrainingJob, role: Role, nodes: dict[str, int], indexes: PodClassState
) -> ExistingPlacements:
    """The seats of a started role: `role.size` of them, the last one is given up first."""
    if home := _home(job, role):
        return ExistingPlacements(list(map(indexes.placements.__getitem__, home)), [])
    live = [pod for pod in role.status.pods if not pod.ended and not pod.terminating]
    ranked = role.spec.indexed and all(pod.index >= 0 for pod in live)
    keep = _ranked if ranked else _unranked
    return keep(job, role, live, _Keeper(nodes, indexes))


def _home(job: TrainingJob, role: Role) -> tuple[str, ...]:
    """The usual case, quickly: the nodes of all replicas in their order, or nothing."""
    anchors = (home for one, home in zip(job.roles, job.homes, strict=True) if one is role)
    return next(anchors, ())


@dataclass(slots=True)
class _Keeper:
    nodes: dict[str, int]
    state: PodClassState
    existing: ExistingPlacements = field(default_factory=lambda: ExistingPlacements([], []))

    def keep(self, node: int) -> None:
        self.existing.placements.append(Placement(node, holds_idle=False, is_new=False))

    def pass_over(self) -> None:
        self.existing.placements.append(_DONE)

    def await_(self, since: datetime | None, pod: Pod | None) -> None:
        self.existing.unscheduled.append(Unscheduled(len(self.existing.placements), since, pod))
        self.keep(NO_NODE)

    def drop(self, pod: Pod) -> None:
        if pod.node:
            self.state.leaving.append(self.nodes.get(pod.node, NO_NODE))


def _ranked(job: TrainingJob, role: Role, live: list[Pod], keeper: _Keeper) -> ExistingPlacements:
    """Seat i is index i: a shrink in tandem removes the highest indexes."""
    by_index: dict[int, Pod] = {}
    for pod in live:
        if pod.index < role.status.size:
            by_index[pod.index] = pod
        else:
            keeper.drop(pod)
    ended = {pod.index: pod.phase for pod in role.status.pods if pod.ended}
    leaving = {pod.index for pod in role.status.pods if pod.terminating}
    for index in range(role.status.size):
        found = by_index.get(index)
        if found is not None and found.node:
            keeper.keep(keeper.nodes.get(found.node, NO_NODE))
        elif found is None and (
            index in role.status.completed_indexes or ended.get(index) is PodPhase.SUCCEEDED
        ):
            keeper.pass_over()
        else:
            lost = index in ended or index in leaving
            keeper.await_(_since(job, role, found, lost=lost), found)
    return keeper.existing


def _unranked(job: TrainingJob, role: Role, live: list[Pod], keeper: _Keeper) -> ExistingPlacements:
    """The Job controller gives up unbound pods first, then unready ones, then the youngest."""
    live.sort(key=lambda pod: (not pod.node, not pod.ready, pod.created_at, pod.index, pod.name))
    for pod in live[role.status.size :]:
        keeper.drop(pod)
    # A pod that has ended is replaced once the Job controller has looked: a second later.
    lost = any(pod.ended or pod.terminating for pod in role.status.pods)
    expected = (
        role.status.size
        if role.status.remaining is None
        else min(role.status.size, role.status.remaining)
    )
    kept: list[Pod | None] = [
        *live[: role.status.size],
        *repeat(None, role.status.size - len(live)),
    ]
    for found in kept:
        if found is not None and found.node:
            keeper.keep(keeper.nodes.get(found.node, NO_NODE))
        elif len(keeper.existing.placements) < expected:
            keeper.await_(_since(job, role, found, lost=lost), found)
        else:
            keeper.pass_over()
    return keeper.existing


def _since(job: TrainingJob, role: Role, pod: Pod | None, *, lost: bool) -> datetime | None:
    """Since when a replica waits for a node of the plan, or for the scheduler.

    A pod behind another gate waits for that, and one that was lost for its end and for the Job
    controller's back-off (which counts also what nothing else does): None. A pod that was never
    made (a quota) waits since the size was set.
    """
    if pod is None and (lost or role.status.failures or role.status.ignores):
        return None
    if pod is not None and any(gate != PLACEMENT_GATE for gate in pod.gates):
        return None
    return max(_moments(job, role, pod), default=None)


def _moments(job: TrainingJob, role: Role, pod: Pod | None) -> Iterator[datetime]:
    of_pod = (pod.created_at, pod.planned.given_at) if pod else ()
    found = (job.started_at, role.record.resized_at, *of_pod)
    return (moment for moment in found if moment is not None)
