"""Replicas that leave by name: work items are alike, so those leave whose nodes a claim can use.

A Job that shrinks ends its youngest pods, wherever they run: for one larger pod most of a role
would have to go. So the plan chooses the node, its replicas there are deleted, and the smaller
size keeps the Job from making them again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from edl.feasibility.horizon import Horizon
from edl.model import Pod, ResizePolicy
from edl.planner.packing.node_capacity import Ints, NodeCapacity
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.plan import Drain
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.existing_placements import keeping_order
from edl.planner.snapshot.reclaimable import Reclaimable
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation
from edl.planner.teams.reclaim_priority import ReclaimScope


def leaves_by_name(allocation: RoleAllocation) -> bool:
    """Whether any of its replicas may leave, not only the last: all are bound, and alike."""
    return allocation.role.spec.resizing is ResizePolicy.ITEMS and not allocation.unscheduled


def move_last(allocation: RoleAllocation, position: int) -> None:
    """This replica leaves first from now on."""
    placements = allocation.placements
    placements[position], placements[-1] = placements[-1], placements[position]


def lack(capacity: NodeCapacity, pod_class: PodClass, nodes: Ints) -> NDArray[np.float64]:
    """What each of these nodes lacks for one more pod, in parts of it, once leaving pods are gone.

    nodes: int64[nodes]; float64[nodes].
    """
    soon, found = capacity.future_idle, np.zeros(len(nodes))
    for row, amount in pod_class.amounts:
        found += np.maximum(amount - soon[row, nodes], 0) / amount
    return found


class _Extras(dict[int, dict[int, None]]):
    """By node, the positions of a role's extras there, while some of them leave."""

    def __init__(self, placements: Sequence[Placement], least: int) -> None:
        for position in range(least, len(placements)):
            self.setdefault(placements[position].node, {})[position] = None

    def leave(self, position: int, node: int) -> None:
        """This one does, from its node."""
        del self[node][position]
        if not self[node]:
            del self[node]

    def move(self, position: int, node: int, to: int) -> None:
        """The one at `position`, on this node, has another position now."""
        self[node][to] = None
        del self[node][position]


@dataclass(slots=True)
class RemovalChoice:
    """Which replica of a role leaves next for the pods of one claim."""

    capacity: NodeCapacity
    reclaimable: Reclaimable
    scope: ReclaimScope
    _extras: dict[RoleAllocation, _Extras] = field(default_factory=dict)
    """By role, worked out once: thousands of its replicas may leave."""
    _node: int = NO_NODE
    """The node that is being cleared."""
    _request: PodSetRequest | None = None
    """The pods for which it is."""

    def bring_last(self, allocation: RoleAllocation, missing: PodSetRequest) -> None:
        """Make the replica the last one whose node then lacks least for one of the missing pods.

        The last one stays where it is if its leaving makes enough room, or if it has no work left:
        its Job makes a pod again that leaves before.
        """
        last = allocation.placements[-1]
        if not last.counts_in_quota:
            return
        extras = self._extras.get(allocation)
        if extras is None:
            least = self.reclaimable.min_replicas(allocation)
            extras = self._extras[allocation] = _Extras(allocation.placements, least)
        end, node = allocation.size - 1, self._leaves(allocation, last.node, extras, missing)
        position = end if node == last.node else next(reversed(extras[node]))
        extras.leave(position, node)
        if position != end:
            extras.move(end, last.node, position)
            move_last(allocation, position)

    def _leaves(
        self, allocation: RoleAllocation, last: int, extras: _Extras, missing: PodSetRequest
    ) -> int:
        """The node that one leaves; that of the last one if no other is better."""
        pod_class = missing.pod_class
        if last != NO_NODE and self._makes_room(allocation, pod_class, last):
            return last
        if self._node not in extras or self._request != missing:
            self._node, self._request = self._best(pod_class, extras), missing
        return last if self._node == NO_NODE else self._node

    def _makes_room(self, allocation: RoleAllocation, pod_class: PodClass, node: int) -> bool:
        left = dict(allocation.pod_class.amounts)
        soon = self.capacity.future_idle
        return bool(pod_class.eligible[node]) and all(
            soon[row, node] + left.get(row, 0) >= amount for row, amount in pod_class.amounts
        )

    def _best(self, pod_class: PodClass, extras: _Extras) -> int:
        """The node that lacks least, if extras can make room on any."""
        room = self.reclaimable.capacity.with_idle(self.scope)
        helps = pod_class.pods_per_node(room, Horizon.EMPTY) > 0
        nodes = np.array(sorted(extras.keys() - {NO_NODE}), dtype=np.int64)
        found = nodes[helps[nodes]]
        if not found.size:
            return NO_NODE
        return int(found[np.argmin(lack(self.capacity, pod_class, found))])


def drains_of_removals(snapshot: Snapshot) -> Iterator[Drain]:
    """The pods of roles that shrink, where they are not those that the Job controller would end."""
    names = snapshot.capacity.index
    for allocation in snapshot.allocations:
        if not (leaves_by_name(allocation) and allocation.reason and allocation.size > 0):
            continue
        pods = keeping_order(allocation.role.status.pods)
        stays = Counter(one.node for one in allocation.placements if not one.is_new)
        last = Counter(names.get(pod.node, NO_NODE) for pod in pods[: stays.total()])
        if len(pods) > stays.total() and last != stays:
            leaving = tuple(pod.name for pod in _beyond(pods, stays, names))
            yield Drain(allocation.job.key, allocation.role.name, leaving, allocation.reason)


def _beyond(pods: Iterable[Pod], stays: Counter[int], names: dict[str, int]) -> Iterator[Pod]:
    """Pods on each node above the number that stays there, the youngest of them."""
    for pod in pods:
        node = names.get(pod.node, NO_NODE)
        if stays[node] > 0:
            stays[node] -= 1
        else:
            yield pod
