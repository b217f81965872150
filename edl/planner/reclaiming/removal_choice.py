"""Which replica of a role whose replicas are interchangeable a claim takes next, and gives back.

A scaled-down Job loses its youngest pods, wherever they run, so making room for one large pod could
evict most of a role. Replicas that process work items are interchangeable: the plan chooses the
node, the pods there are deleted, and the smaller size keeps the Job from recreating them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from edl.feasibility.constraints import ConstraintState
from edl.model import Pod
from edl.planner.packing.node_capacity import NO_NODE, NodeCapacity, ResourceAmounts
from edl.planner.packing.placement import Placement, taken_by
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.plan import Drain
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.existing_placements import retention_order
from edl.planner.snapshot.extras.minimum_nodes import leaves_by_name
from edl.planner.snapshot.extras.node_search import lacking_least
from edl.planner.snapshot.extras.reclaimable import Reclaimable
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.teams.reclaim_priority import ReclaimScope

if TYPE_CHECKING:
    from edl.feasibility.constraints import ConstraintCount, SpreadConstraint


def move_last(allocation: RoleAllocation, position: int) -> None:
    """Make the replica at this position the last one, which is evicted next."""
    placements = allocation.placements
    placements[position], placements[-1] = placements[-1], placements[position]


_Place: TypeAlias = tuple[int, ResourceAmounts | None]
"""A node, and what a pod takes of it if that is known better than by its requests."""


class _Extras(dict[int, dict[int, None]]):
    """By node, the positions of a role's extras; updated while extras are removed."""

    def __init__(self, placements: Sequence[Placement], least: int) -> None:
        for position in range(least, len(placements)):
            self.setdefault(placements[position].node, {})[position] = None

    def leave(self, position: int, node: int) -> None:
        """Remove the extra at `position`, which is on `node`."""
        del self[node][position]
        if not self[node]:
            del self[node]

    def move(self, position: int, node: int, to: int) -> None:
        """Renumber the extra at `position`, which is on `node`."""
        self[node][to] = None
        del self[node][position]


@dataclass(slots=True)
class RemovalChoice:
    """Chooses which replica of a role is removed next for the pods of one claim."""

    capacity: NodeCapacity
    reclaimable: Reclaimable
    scope: ReclaimScope
    _extras: dict[RoleAllocation, _Extras] = field(default_factory=dict)
    """Cached by role, since a claim may remove thousands of its replicas."""
    _node: int = NO_NODE
    """The node that is being cleared."""
    _request: PodSetRequest | None = None
    """The pods for which `_node` is being cleared."""

    def bring_last(self, allocation: RoleAllocation, missing: PodSetRequest) -> None:
        """Reorder so that the last replica is on the node that lacks least for a missing pod.

        Nothing changes if removing the current last replica suffices. Nor if it has no work left:
        the Job would recreate another pod that is deleted before it. Nor if this plan creates it:
        its pod would be free to take the capacity that the claim needs.
        """
        last = allocation.placements[-1]
        if last.is_new or not last.counts_in_quota:
            return
        if _needs_more_than_one(missing.pod_class, taken_by(allocation.pod_class, last)):
            self.reclaimable.deleted_by_name.add(allocation)
        extras = self._extras.get(allocation)
        if extras is None:
            least = self.reclaimable.min_replicas(allocation)
            extras = self._extras[allocation] = _Extras(allocation.placements, least)
        end, node = allocation.size - 1, self._leaves(allocation, last.node, extras, missing)
        position = end if node == last.node else next(reversed(extras[node]))
        if allocation.pod_class.claims_devices and node != NO_NODE:
            on_node = reversed(extras[node])
            helps = (at for at in on_node if self._helps(allocation, at, missing.pod_class))
            position = next(helps, position)
        extras.leave(position, node)
        if position != end:
            extras.move(end, last.node, position)
            move_last(allocation, position)

    def _leaves(
        self, allocation: RoleAllocation, last: int, extras: _Extras, missing: PodSetRequest
    ) -> int:
        """The node from which to remove a replica; `last` if no other is better."""
        pod_class = missing.pod_class
        if last != NO_NODE and self._helps(allocation, -1, pod_class):
            return last
        if self._node not in extras or self._request != missing:
            self._node, self._request = self._best(pod_class, extras), missing
        return last if self._node == NO_NODE else self._node

    def _helps(self, allocation: RoleAllocation, position: int, pod_class: PodClass) -> bool:
        """Whether removing this replica suffices for one more pod of a class on its node."""
        placement = allocation.placements[position]
        node, left = placement.node, taken_by(allocation.pod_class, placement)
        soon = self.capacity.future_idle
        return bool(pod_class.eligible[node]) and all(
            soon[row, node] + left.get(row, 0) >= amount for row, amount in pod_class.amounts
        )

    def _best(self, pod_class: PodClass, extras: _Extras) -> int:
        """The node that lacks least for one more pod, if evicting extras suffices, or NO_NODE."""
        room = self.reclaimable.capacity.with_idle(self.scope)
        nodes = np.array(sorted(extras.keys() - {NO_NODE}), dtype=np.int64)
        return lacking_least(self.capacity, room, pod_class, nodes)


def _needs_more_than_one(pod_class: PodClass, freed: Mapping[int, int]) -> bool:
    """Whether a pod needs more than what one evicted replica frees, wherever that was."""
    return any(amount > freed.get(row, 0) for row, amount in pod_class.amounts)


class TakenNodes:
    """The nodes and domains that the claim's pods use."""

    def __init__(self, requests: Sequence[PodSetRequest], placed: Sequence[Sequence[int]]) -> None:
        self._nodes = {node for nodes in placed for node in nodes}
        self._domains: defaultdict[ConstraintCount, set[int]] = defaultdict(set)
        self._spread: list[tuple[SpreadConstraint, set[int]]] = []
        """Spread constraints of the pods, for one more pod that counts; and the pods' domains."""
        for request, nodes in zip(requests, placed, strict=True):
            constraints = request.pod_class.constraints or ConstraintState()
            for count in constraints.carried:
                self._domains[count].update(
                    domain for node in nodes if (domain := count.of[node]) >= 0
                )
            for spread in constraints.spread:
                domains = {spread.pod_count.of[node] for node in nodes}
                self._spread.append((spread._replace(own=1), domains))

    def keeps_off(self, pod_class: PodClass, placement: Placement) -> bool:
        """Whether the claim's pods prevent restoring an evicted replica on its node."""
        if placement.node == NO_NODE:
            return False
        constraints = pod_class.constraints
        if constraints is not None and (
            constraints.is_repelled_by(placement.node, self._domains)
            or self._unbalances(constraints.carried, placement.node)
        ):
            return True
        bound = not (placement.is_new or placement.holds_idle)
        view = pod_class.with_amounts(placement.taken).at(placement.horizon)
        return placement.node in self._nodes and not view.readmits(placement.node, bound=bound)

    def _unbalances(self, carried: Sequence["ConstraintCount"], node: int) -> bool:
        """Whether one more pod with these counts would exceed the skew of the claim's pods."""
        return any(
            spread.pod_count in carried
            and spread.pod_count.of[node] in domains
            and not spread.allows(node)
            for spread, domains in self._spread
        )


def drains_of_removals(snapshot: Snapshot) -> Iterator[Drain]:
    """Pods to delete for scale-downs where the Job controller would delete others, or might.

    It deletes the youngest, in no order where several became ready within the same second.
    """
    named = snapshot.moves.deleted_by_name
    for allocation in snapshot.allocations:
        role = allocation.role
        by_name = leaves_by_name(allocation) and not role.request.removing
        if not (by_name and allocation.reason and allocation.size > 0):
            continue
        ordered = retention_order(role.status.pods)
        placed = (snapshot.placement_of(allocation.job, role, pod) for pod in ordered)
        pods = [(pod, (one.node, one.taken)) for pod, one in zip(ordered, placed, strict=True)]
        stays = Counter(
            (placement.node, placement.taken)
            for placement in allocation.placements
            if not placement.is_new
        )
        last = Counter(place for _, place in pods[: stays.total()])
        if len(pods) > stays.total() and (allocation in named or last != stays):
            leaving = tuple(pod.name for pod in _beyond(pods, stays))
            yield Drain(allocation.job.key, role.name, leaving, allocation.reason)


def _beyond(pods: Iterable[tuple[Pod, _Place]], stays: Counter[_Place]) -> Iterator[Pod]:
    """The pods at each place beyond the number that stays there; `pods` in keeping order."""
    for pod, place in pods:
        if stays[place] > 0:
            stays[place] -= 1
        else:
            yield pod
